import Foundation
import Yams

/// Reads one YAML file into a tree that remembers lines, or says in one line why it can't.
struct ConfigurationFile {
    /// The path as the operator named it.
    let path: String
    /// What the file holds; `nil`: it is read.
    var content: String?
    /// Where the files are that it names.
    var files = FileSource.disk

    /// The file's top mapping; `nil` after adding a problem.
    ///
    /// - Parameter purpose: what an empty file should hold, for the message.
    func section(purpose: String, problems: inout [ConfigurationProblem]) -> ConfigurationSection? {
        do {
            let text = try content ?? Self.text(of: path, in: nil)
            guard let root = try compose(yaml: text), root.isNull == false else {
                problems.append(ConfigurationProblem(place(1), "the file is empty; \(purpose)"))
                return nil
            }
            guard case .mapping(let mapping) = root else {
                problems.append(
                    ConfigurationProblem(place(root.mark?.line ?? 1), "expected keys and values; \(purpose)"))
                return nil
            }
            return ConfigurationSection(
                file: path, path: "", line: mapping.mark?.line ?? 1, mapping: mapping, files: files)
        } catch let error as YamlError {
            problems.append(problem(of: error))
        } catch let error as ConfigurationProblem.Unreadable {
            problems.append(ConfigurationProblem(place(nil), error.text))
        } catch {
            problems.append(ConfigurationProblem(place(nil), "can't be read: \(error.localizedDescription)"))
        }
        return nil
    }

    /// The text of a file that must be UTF-8.
    ///
    /// - Parameter name: how the message begins; `nil` when the place of the problem names the file already.
    static func text(of path: String, in name: String?) throws(ConfigurationProblem.Unreadable) -> String {
        guard let text = String(data: try data(of: path, in: name), encoding: .utf8) else {
            throw ConfigurationProblem.Unreadable(text: (name.map { $0 + ": " } ?? "") + "is not UTF-8 text")
        }
        return text
    }

    /// The bytes of a file.
    ///
    /// - Parameter name: as for ``text(of:in:)``.
    static func data(of path: String, in name: String?) throws(ConfigurationProblem.Unreadable) -> Data {
        let prefix = name.map { $0 + ": " } ?? ""
        switch PathKind(of: path) {
        case .missing: throw ConfigurationProblem.Unreadable(text: prefix + "no such file")
        case .directory: throw ConfigurationProblem.Unreadable(text: prefix + "is a directory, expected a file")
        case .file: break
        }
        guard FileManager.default.isReadableFile(atPath: path), let data = FileManager.default.contents(atPath: path)
        else {
            throw ConfigurationProblem.Unreadable(text: prefix + "can't be read by this user; check owner and mode")
        }
        return data
    }

    private func place(_ line: Int?) -> ConfigurationPlace {
        ConfigurationPlace(source: path, line: line)
    }

    private func problem(of error: YamlError) -> ConfigurationProblem {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return ConfigurationProblem(place(mark.line), "not valid YAML at column \(mark.column): \(problem)")
        case .reader(let problem, _, _, _):
            return ConfigurationProblem(place(nil), "not valid YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            let key = duplicates.first ?? ""
            let first = context.mark
            let lines = lines()
            let line = Self.repetition(of: key, after: first, in: lines)
            let field = Self.parents(of: first, in: lines).map { "\($0).\(key)" } ?? key
            return ConfigurationProblem(
                place(line ?? first.line), field: field, "given twice (first on line \(first.line)); remove one")
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
            return ConfigurationProblem(place(nil), "not valid YAML")
        }
    }

    /// The file's lines, whatever they end with; none when it can't be read any more.
    private func lines() -> [Substring] {
        let read = { FileManager.default.contents(atPath: path).flatMap { String(data: $0, encoding: .utf8) } }
        let text = content ?? read() ?? ""
        return text.split(omittingEmptySubsequences: false) { ["\n", "\r\n", "\r"].contains($0) }
    }

    /// The line of the second `key` at the same column as the first: the parser tells only where the first one stands.
    private static func repetition(of key: String, after first: Mark, in lines: [Substring]) -> Int? {
        for index in lines.indices.dropFirst(first.line) {
            let rest = lines[index].dropFirst(first.column - 1)
            let lead = lines[index].prefix(first.column - 1)
            if lead.allSatisfy({ $0 == " " || $0 == "-" }), rest.hasPrefix(key + ":") { return index + 1 }
        }
        return nil
    }

    /// The keys that a key stands below, as `listen`; `nil`: none, or an element of a list.
    private static func parents(of key: Mark, in lines: [Substring]) -> String? {
        var (names, column) = ([String](), key.column)
        for line in lines.prefix(key.line).reversed() where column > 1 {
            let lead = line.prefix { $0 == " " }
            guard let name = line.dropFirst(lead.count).firstMatch(of: /^([A-Za-z]\w*):/)?.output.1 else {
                if line.dropFirst(lead.count).hasPrefix("-"), lead.count < column { return nil }
                continue
            }
            guard lead.count + 1 < column else { continue }
            names.insert(String(name), at: 0)
            column = lead.count + 1
        }
        return names.isEmpty ? nil : names.joined(separator: ".")
    }
}

extension ConfigurationProblem {
    /// A file that could not be read.
    struct Unreadable: Error {
        /// Why.
        let text: String
    }
}

extension Node {
    /// Whether nothing was written.
    var isNull: Bool {
        guard case .scalar(let scalar) = self else { return false }
        return scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
    }
}
