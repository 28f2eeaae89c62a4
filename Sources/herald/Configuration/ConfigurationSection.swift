import PushModel
import Yams

/// A mapping of a configuration file: typed access to its keys, each problem with line and field.
struct ConfigurationSection {
    /// The file.
    let file: String
    /// The path of the section, such as `apps[0].apns`; empty at the top.
    let path: String
    /// The line where it begins.
    let line: Int
    /// Where the files are that its values name.
    let files: FileSource

    private let entries: [(key: String, line: Int, value: Node)]

    /// Takes a mapping; keys that are not text are kept by what is written.
    init(file: String, path: String, line: Int, mapping: Node.Mapping, files: FileSource) {
        self.file = file
        self.files = files
        self.path = path
        self.line = line
        entries = mapping.map { key, value in (key.string ?? "", key.mark?.line ?? line, value) }
    }

    /// Whether `key` stands in the section.
    func has(_ key: String) -> Bool {
        entries.contains { $0.key == key }
    }

    /// The path of a key.
    func field(_ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    /// Where a key stands; the section itself when it does not.
    func place(_ key: String? = nil) -> ConfigurationPlace {
        ConfigurationPlace(source: file, line: entries.first { $0.key == key }?.line ?? line)
    }

    /// A problem with a key.
    func problem(_ key: String, _ text: String) -> ConfigurationProblem {
        ConfigurationProblem(place(key), field: field(key), text)
    }

    /// Adds a problem for each key that is none of `known`, with the one that was probably meant.
    func refuseUnknownKeys(known: [String], problems: inout [ConfigurationProblem]) {
        for entry in entries where !known.contains(entry.key) {
            let place = ConfigurationPlace(source: file, line: entry.line)
            let hint =
                Spelling.closest(to: entry.key, among: known).map { "did you mean \"\($0)\"?" }
                ?? "known here: \(known.sorted().joined(separator: ", "))"
            problems.append(ConfigurationProblem(place, field: field(entry.key), "unknown key; \(hint)"))
        }
    }

    /// The text of a key; `nil` when it is absent or after adding a problem.
    func text(_ key: String, problems: inout [ConfigurationProblem]) -> String? {
        guard let value = value(key) else { return nil }
        guard case .scalar(let scalar) = value, !value.isNull, !scalar.string.isEmpty else {
            problems.append(problem(key, "expected text, found \(Self.kind(of: value))"))
            return nil
        }
        return scalar.string
    }

    /// The text of a key that must be there.
    func requiredText(_ key: String, example: String, problems: inout [ConfigurationProblem]) -> String? {
        guard has(key) else {
            problems.append(problem(key, "missing; add \"\(key): \(example)\""))
            return nil
        }
        return text(key, problems: &problems)
    }

    /// A whole number within a range; `nil` when it is absent or after adding a problem.
    func integer(_ key: String, in range: ClosedRange<Int>, problems: inout [ConfigurationProblem]) -> Int? {
        guard let value = value(key) else { return nil }
        guard case .scalar(let scalar) = value, scalar.style == .plain, let number = Int(scalar.string) else {
            let hint = value.scalar.flatMap { Int($0.string) } == nil ? "" : "; drop the quotes"
            problems.append(problem(key, "expected a whole number, found \(Self.kind(of: value))\(hint)"))
            return nil
        }
        guard range.contains(number) else {
            problems.append(problem(key, Self.outOfRange(number, range)))
            return nil
        }
        return number
    }

    /// A number above 0 (or `fromZero`) up to 1; `nil` when it is absent or after adding a problem.
    func share(_ key: String, fromZero: Bool = false, problems: inout [ConfigurationProblem]) -> Double? {
        guard let value = value(key) else { return nil }
        guard case .scalar(let scalar) = value, scalar.style == .plain, let number = Double(scalar.string) else {
            problems.append(problem(key, "expected a number, found \(Self.kind(of: value))"))
            return nil
        }
        guard Self.isShare(number, fromZero: fromZero) else {
            problems.append(problem(key, Self.notAShare(scalar.string, fromZero: fromZero)))
            return nil
        }
        return number
    }

    /// Whether a number is above 0, or `fromZero`, and not above 1.
    static func isShare(_ number: Double, fromZero: Bool = false) -> Bool {
        (number > 0 || (fromZero && number == 0)) && number <= 1
    }

    /// The message for a number that is no share.
    static func notAShare(_ text: String, fromZero: Bool = false) -> String {
        "\(text) is out of range; use a number \(fromZero ? "from 0 to 1, such as 0.01" : "above 0 up to 1, such as 0.5")"
    }

    /// One of a few words; `nil` when it is absent or after adding a problem.
    func choice<Value: RawRepresentable & CaseIterable>(
        _ key: String, of type: Value.Type, problems: inout [ConfigurationProblem]
    ) -> Value? where Value.RawValue == String {
        guard let text = text(key, problems: &problems) else { return nil }
        guard let value = Value(rawValue: text) else {
            problems.append(problem(key, Self.notAChoice(text, type.allCases.map(\.rawValue))))
            return nil
        }
        return value
    }

    /// The mapping under a key; `nil` when it is absent, when everything below it is commented out, or after adding a
    /// problem.
    func section(_ key: String, problems: inout [ConfigurationProblem]) -> ConfigurationSection? {
        guard let value = value(key), !value.isNull else { return nil }
        guard case .mapping(let mapping) = value else {
            problems.append(problem(key, "expected keys and values below it, found \(Self.kind(of: value))"))
            return nil
        }
        return ConfigurationSection(
            file: file, path: field(key), line: place(key).line ?? line, mapping: mapping, files: files)
    }

    /// The mappings of the list under a key; `nil` when it is absent or after adding a problem.
    func sections(_ key: String, problems: inout [ConfigurationProblem]) -> [ConfigurationSection]? {
        guard let value = value(key) else { return nil }
        guard case .sequence(let sequence) = value else {
            problems.append(
                problem(key, "expected a list (lines that begin with \"-\"), found \(Self.kind(of: value))"))
            return nil
        }
        return sequence.enumerated().compactMap { index, node in
            let path = "\(field(key))[\(index)]"
            let nodeLine = node.mark?.line ?? line
            guard case .mapping(let mapping) = node else {
                let place = ConfigurationPlace(source: file, line: nodeLine)
                problems.append(
                    ConfigurationProblem(
                        place, field: path, "expected keys and values, found \(Self.kind(of: node))"))
                return nil
            }
            return ConfigurationSection(file: file, path: path, line: nodeLine, mapping: mapping, files: files)
        }
    }

    /// A text of a list, with where it stands.
    struct Item {
        /// The text.
        let text: String
        /// Where it stands.
        let place: ConfigurationPlace
        /// Its path, such as `links.prefixes[0]`.
        let field: String

        /// A problem with it.
        func problem(_ text: String) -> ConfigurationProblem { ConfigurationProblem(place, field: field, text) }
    }

    /// The texts of the list under a key; none when it is absent or empty, those that can be read after adding a problem.
    func items(_ key: String, problems: inout [ConfigurationProblem]) -> [Item] {
        guard let value = value(key), !value.isNull else { return [] }
        guard case .sequence(let sequence) = value else {
            problems.append(
                problem(key, "expected a list, as [a, b] or lines that begin with \"-\", found \(Self.kind(of: value))")
            )
            return []
        }
        return sequence.enumerated().compactMap { index, node in
            let place = ConfigurationPlace(source: file, line: node.mark?.line ?? line)
            let path = "\(field(key))[\(index)]"
            guard case .scalar(let scalar) = node, !node.isNull, !scalar.string.isEmpty else {
                problems.append(
                    ConfigurationProblem(place, field: path, "expected text, found \(Self.kind(of: node))"))
                return nil
            }
            return Item(text: scalar.string, place: place, field: path)
        }
    }

    /// Whether nothing stands behind a key.
    func isEmpty(_ key: String) -> Bool {
        value(key)?.isNull == true
    }

    /// Whether the value of a key is a mapping.
    func isSection(_ key: String) -> Bool {
        guard case .mapping? = value(key) else { return false }
        return true
    }

    /// The message for a number outside its range.
    static func outOfRange(_ number: Int, _ range: ClosedRange<Int>) -> String {
        range.upperBound == .max
            ? "\(number) is out of range; use \(range.lowerBound) or more"
            : "\(number) is out of range; use \(range.lowerBound) to \(range.upperBound)"
    }

    /// The message for a word that is none of the choices.
    static func notAChoice(_ text: String, _ choices: [String]) -> String {
        let hint =
            Spelling.closest(to: text, among: choices).map { "did you mean \"\($0)\"?" }
            ?? "use one of \(choices.joined(separator: ", "))"
        return "\"\(text)\" is not known; \(hint)"
    }

    private func value(_ key: String) -> Node? {
        entries.first { $0.key == key }?.value
    }

    private static func kind(of node: Node) -> String {
        switch node {
        case .mapping: "keys and values"
        case .sequence: "a list"
        case .alias: "an alias"
        case .scalar(let scalar):
            if node.isNull || scalar.string.isEmpty {
                "nothing"
            } else if scalar.style == .plain {
                "\"\(scalar.string)\""
            } else {
                "quoted text"
            }
        }
    }
}
