/// What a pattern says, as a tree.
indirect enum PatternTree: Hashable, Sendable {
    case take(PatternClass)
    case beginning
    case end
    case sequence([PatternTree])
    case alternatives([PatternTree])
    /// So often at least and, but for `nil`, at most.
    case repeated(PatternTree, Int, Int?)
}

/// Reads patterns by recursive descent. What it doesn't know it refuses: a pattern that means something else than its writer
/// thinks is worse than none.
struct PatternParser {
    /// RE2's limit.
    static let repeatLimit = 1_000
    private static let lengthLimit = 4_096
    private static let depthLimit = 50

    private let characters: [UInt32]
    private var index = 0
    private var depth = 0

    init(_ text: String) {
        characters = text.unicodeScalars.map(\.value)
    }

    /// Reads the whole pattern.
    mutating func parse() throws(LinkPattern.Refusal) -> PatternTree {
        guard characters.count <= Self.lengthLimit else {
            throw refusal("more than \(Self.lengthLimit) characters", Self.lengthLimit)
        }
        let tree = try alternatives()
        guard index == characters.count else { throw refusal("unmatched ')'") }
        return tree
    }

    private func refusal(_ message: String, _ offset: Int? = nil) -> LinkPattern.Refusal {
        LinkPattern.Refusal(offset: offset ?? index, message: message)
    }

    private var current: Unicode.Scalar? {
        index < characters.count ? Unicode.Scalar(characters[index]) : nil
    }

    private func follows(_ text: String) -> Bool {
        characters[index...].starts(with: text.unicodeScalars.lazy.map(\.value))
    }

    private mutating func alternatives() throws(LinkPattern.Refusal) -> PatternTree {
        var branches = [try sequence()]
        while current == "|" {
            index += 1
            branches.append(try sequence())
        }
        return branches.count == 1 ? branches[0] : .alternatives(branches)
    }

    private mutating func sequence() throws(LinkPattern.Refusal) -> PatternTree {
        var items: [PatternTree] = []
        while let scalar = current, scalar != "|", scalar != ")" {
            items.append(try repeated(try atom()))
        }
        return items.count == 1 ? items[0] : .sequence(items)
    }

    private mutating func repeated(_ tree: PatternTree) throws(LinkPattern.Refusal) -> PatternTree {
        guard let (least, most) = try quantifier() else { return tree }
        // Lazy or greedy: it doesn't matter when only the whole match counts.
        if current == "?" { index += 1 }
        if let scalar = current, "*+?".unicodeScalars.contains(scalar) { throw refusal("nothing to repeat") }
        return .repeated(tree, least, most)
    }

    /// What stands behind an atom: how often it comes, `nil` for no quantifier.
    private mutating func quantifier() throws(LinkPattern.Refusal) -> (Int, Int?)? {
        switch current {
        case "*": index += 1; return (0, nil)
        case "+": index += 1; return (1, nil)
        case "?": index += 1; return (0, 1)
        case "{": return try bounds()
        default: return nil
        }
    }

    /// `{m}`, `{m,}` or `{m,n}`.
    private mutating func bounds() throws(LinkPattern.Refusal) -> (Int, Int?) {
        let start = index
        index += 1
        guard let least = number() else { throw refusal("'{' without a number: write \\{ for the character", start) }
        var most: Int? = least
        if current == "," {
            index += 1
            most = number()
        }
        guard current == "}" else { throw refusal("'{' without '}'", start) }
        index += 1
        guard least <= Self.repeatLimit, most ?? 0 <= Self.repeatLimit, least <= most ?? least else {
            throw refusal("repetition out of 0 to \(Self.repeatLimit), or in the wrong order", start)
        }
        return (least, most)
    }

    private mutating func number() -> Int? {
        let start = index
        while let scalar = current, ("0"..."9").contains(scalar) { index += 1 }
        guard index > start else { return nil }
        return characters[start..<index].reduce(0) { min($0 * 10 + Int($1) - 0x30, Self.repeatLimit + 1) }
    }

    private mutating func atom() throws(LinkPattern.Refusal) -> PatternTree {
        guard let scalar = current else { throw refusal("nothing here") }
        switch scalar {
        case "(": return try group()
        case "[": return .take(try characterClass())
        case "\\": return try escape()
        case "*", "+", "?": throw refusal("nothing to repeat")
        case "{": throw refusal("nothing to repeat: write \\{ for the character")
        default:
            guard scalar.isASCII else { throw refusal("a character beyond ASCII: URLs have them percent-encoded") }
            index += 1
            switch scalar {
            case ".": return .take(.any)
            case "^": return .beginning
            case "$": return .end
            default: return .take(Self.only(scalar))
            }
        }
    }

    private mutating func group() throws(LinkPattern.Refusal) -> PatternTree {
        let start = index
        index += 1
        if follows("?:") {
            index += 2
        } else if current == "?" {
            throw refusal("unknown group: only ( and (?: are known", start)
        }
        depth += 1
        guard depth <= Self.depthLimit else { throw refusal("groups deeper than \(Self.depthLimit)", start) }
        let tree = try alternatives()
        depth -= 1
        guard current == ")" else { throw refusal("unmatched '('", start) }
        index += 1
        return tree
    }

    /// An escape outside of a class.
    private mutating func escape() throws(LinkPattern.Refusal) -> PatternTree {
        if follows("\\A") || follows("\\z") {
            defer { index += 2 }
            return follows("\\A") ? .beginning : .end
        }
        return .take(try escapedClass())
    }
}

// Classes.
extension PatternParser {
    private static func only(_ scalar: Unicode.Scalar) -> PatternClass {
        let byte = UInt8(truncatingIfNeeded: scalar.value)
        return PatternClass(byte...byte)
    }

    /// What a backslash and a character stand for: a class or a character.
    private mutating func escapedClass() throws(LinkPattern.Refusal) -> PatternClass {
        let start = index
        index += 1
        guard let scalar = current else { throw refusal("a backslash at the end", start) }
        index += 1
        switch scalar {
        case "d": return .digits
        case "D": return PatternClass.digits.inverted
        case "w": return .wordCharacters
        case "W": return PatternClass.wordCharacters.inverted
        case "s": return .spaces
        case "S": return PatternClass.spaces.inverted
        case "t": return Self.only("\t")
        case "n": return Self.only("\n")
        case "r": return Self.only("\r")
        case "f": return Self.only("\u{c}")
        default:
            guard scalar.isASCII, !scalar.properties.isAlphabetic, !("0"..."9").contains(scalar) else {
                throw refusal("unknown escape '\\\(scalar)'", start)
            }
            return Self.only(scalar)
        }
    }

    private mutating func characterClass() throws(LinkPattern.Refusal) -> PatternClass {
        let start = index
        index += 1
        let isInverted = current == "^"
        if isInverted { index += 1 }
        var set = PatternClass()
        var isFirst = true
        while let scalar = current, scalar != "]" || isFirst {
            isFirst = false
            if follows("[:") { throw refusal("unknown class '[:'") }
            set.formUnion(try classItem())
        }
        guard current == "]" else { throw refusal("'[' without ']'", start) }
        index += 1
        return isInverted ? set.inverted : set
    }

    /// A character, an escape or a range.
    private mutating func classItem() throws(LinkPattern.Refusal) -> PatternClass {
        let start = index
        let item = try classCharacter()
        guard current == "-", index + 1 < characters.count, characters[index + 1] != UInt32(UInt8(ascii: "]")) else {
            return item
        }
        index += 1
        let last = try classCharacter()
        guard let low = item.only, let high = last.only, low <= high else { throw refusal("a bad range", start) }
        return PatternClass(low...high)
    }

    private mutating func classCharacter() throws(LinkPattern.Refusal) -> PatternClass {
        guard let scalar = current else { throw refusal("'[' without ']'") }
        if scalar == "\\" { return try escapedClass() }
        guard scalar.isASCII else { throw refusal("a character beyond ASCII: URLs have them percent-encoded") }
        index += 1
        return Self.only(scalar)
    }
}

extension PatternClass {
    /// The character of a set that has just one.
    fileprivate var only: UInt8? {
        let all = (0..<UInt8(128)).filter(contains)
        return all.count == 1 ? all[0] : nil
    }
}
