import Foundation
import PushModel

/// The keys for what is secret of stored projects, as the environment gives them: `HERALD_SECRETS_KEY`, or a file with it in
/// `HERALD_SECRETS_KEY_FILE`; while keys are changed also the one before it, in `HERALD_SECRETS_KEY_FORMER` or
/// `HERALD_SECRETS_KEY_FORMER_FILE`, which opens and seals nothing.
///
/// Looked at only when projects are stored: other commands need no key.
struct SecretsKeys: Sendable {
    /// The variable of the key that seals.
    static let variable = "HERALD_SECRETS_KEY"
    /// The variable of the key before it.
    static let formerVariable = "HERALD_SECRETS_KEY_FORMER"
    /// Bytes of a key.
    static let keyLength = 32

    private static let remedy = "openssl rand -base64 32 makes one"

    private static let variables = [variable, formerVariable].flatMap { [$0, $0 + fileSuffix] }
    private static let fileSuffix = "_FILE"

    private let values: [String: String]

    /// Keeps the variables of `environment` that are keys.
    init(environment: [String: String]) {
        values = environment.filter { Self.variables.contains($0.key) && !$0.value.isEmpty }
    }

    /// The variable that has the key that seals, or names its file.
    var keyVariable: String {
        let fileVariable = Self.variable + Self.fileSuffix
        return values[Self.variable] == nil && values[fileVariable] != nil ? fileVariable : Self.variable
    }

    /// Adds problems with variables that are none of a key, but meant to be.
    static func refuseUnknown(in environment: [String: String], problems: inout [ConfigurationProblem]) {
        for name in environment.keys.sorted() where name.hasPrefix("HERALD_SECRET") && !variables.contains(name) {
            let hint = Spelling.closest(to: name, among: variables).map { "; did you mean \($0)?" } ?? ""
            problems.append(problem(name, "unknown environment variable\(hint)"))
        }
    }

    /// What seals and opens with these keys.
    ///
    /// - Throws: ``ConfigurationError`` that names the variable: the key is missing, or is none.
    func seal() throws(ConfigurationError) -> ProjectSeal {
        var problems: [ConfigurationProblem] = []
        let key = key(Self.variable, problems: &problems)
        if key == nil, problems.isEmpty {
            let text = "not set; the projects in the database need the key of their secrets, \(Self.remedy)"
            problems.append(Self.problem(Self.variable, text))
        }
        let former = self.key(Self.formerVariable, problems: &problems)
        guard let key, problems.isEmpty else { throw ConfigurationError(problems: problems) }
        do {
            return try ProjectSeal(key: key, former: former)
        } catch {
            throw ConfigurationError(problems: [Self.problem(keyVariable, "\(error)")])
        }
    }

    /// A problem with the key of a variable.
    static func problem(_ variable: String, _ text: String) -> ConfigurationProblem {
        ConfigurationProblem(ConfigurationPlace(source: variable, line: nil), text)
    }

    /// The key of a variable or of the file that another one names; `nil`: there is none, or after a problem.
    private func key(_ variable: String, problems: inout [ConfigurationProblem]) -> [UInt8]? {
        let fileVariable = variable + Self.fileSuffix
        switch (values[variable], values[fileVariable]) {
        case (nil, nil): return nil
        case (.some, .some):
            problems.append(Self.problem(fileVariable, "\(variable) is set too; set one of them"))
            return nil
        case (let text?, nil): return Self.bytes(text, of: variable, problems: &problems)
        case (nil, let path?):
            do throws(ConfigurationProblem.Unreadable) {
                let text = try ConfigurationFile.text(of: path, in: path)
                guard !PrivateFile(path: path).isReadableByOthers else {
                    throw ConfigurationProblem.Unreadable(
                        text: "\(path) is readable by every user, so what is in it is no secret; chmod 600 \(path)")
                }
                return Self.bytes(text, of: fileVariable, problems: &problems)
            } catch {
                problems.append(Self.problem(fileVariable, error.text))
                return nil
            }
        }
    }

    private static func bytes(
        _ text: String, of variable: String, problems: inout [ConfigurationProblem]
    ) -> [UInt8]? {
        let data = Data(base64Encoded: text.trimmingCharacters(in: .whitespacesAndNewlines))
        guard let data, data.count == keyLength else {
            problems.append(problem(variable, "is not \(keyLength) bytes in base64; \(remedy)"))
            return nil
        }
        return Array(data)
    }
}
