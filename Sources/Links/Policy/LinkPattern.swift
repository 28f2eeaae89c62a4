/// A regular expression for whole URLs, of RE2's syntax: literals, `.`, classes, groups, `|`, `*`, `+`, `?`, `{m,n}`, `^`, `$`.
///
/// Matching follows all possibilities at once (Thompson, CACM 11:6, 1968), so its time is at most the product of the sizes of
/// pattern and URL: no pattern makes it slow. It knows ASCII only, as normalised URLs do.
package struct LinkPattern: Hashable, Sendable {
    /// The pattern as written.
    package let text: String
    private let program: [PatternStep]

    /// Why a pattern can't be used.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// Characters before the place.
        package let offset: Int
        /// What is wrong there.
        package let message: String

        /// Place and reason.
        package var description: String { "\(message) at character \(offset + 1)" }
    }

    /// Compiles a pattern.
    package init(_ text: String) throws(Refusal) {
        self.text = text
        var parser = PatternParser(text)
        let tree = try parser.parse()
        var compiler = PatternCompiler()
        try compiler.compile(tree)
        program = compiler.program
    }

    /// Whether the pattern describes the whole text.
    package func matches(_ text: String) -> Bool {
        var matcher = PatternMatcher(program)
        return matcher.matches(Array(text.utf8))
    }
}

/// A step of a compiled pattern; numbers are places in the program.
enum PatternStep: Hashable, Sendable {
    /// Takes one byte of a set.
    case take(PatternClass)
    /// Goes on at both places.
    case split(Int, Int)
    /// Goes on elsewhere.
    case jump(Int)
    /// Goes on at the beginning of the text only.
    case beginning
    /// Goes on at the end of the text only.
    case end
    /// The pattern is through.
    case accept
}

/// A set of ASCII characters.
struct PatternClass: Hashable, Sendable {
    private var bits: UInt128 = 0

    /// No character.
    init() {}

    /// The characters of a range.
    init(_ range: ClosedRange<UInt8>) {
        for byte in range { insert(byte) }
    }

    /// Adds a character of ASCII.
    mutating func insert(_ byte: UInt8) { bits |= 1 << UInt128(byte) }

    /// Adds the characters of another set.
    mutating func formUnion(_ other: PatternClass) { bits |= other.bits }

    /// All other characters.
    var inverted: PatternClass {
        var copy = self
        copy.bits = ~bits
        return copy
    }

    /// Whether the set has a character; what is no ASCII is in none.
    func contains(_ byte: UInt8) -> Bool { byte < 128 && bits >> UInt128(byte) & 1 == 1 }

    /// `.`: all but a line's end.
    static let any = PatternClass(0x0a...0x0a).inverted
    /// `\d`.
    static let digits = PatternClass(0x30...0x39)
    /// `\w`.
    static let wordCharacters: PatternClass = {
        var set = PatternClass(0x61...0x7a)
        set.formUnion(PatternClass(0x41...0x5a))
        set.formUnion(digits)
        set.insert(UInt8(ascii: "_"))
        return set
    }()
    /// `\s`, without the vertical tab as in RE2.
    static let spaces: PatternClass = {
        var set = PatternClass(0x09...0x0a)
        set.formUnion(PatternClass(0x0c...0x0d))
        set.insert(0x20)
        return set
    }()
}
