import Foundation
import JSON
import PushModel
import Signing
import Store

/// Seals the files that a stored project names, with AES-256-GCM: who has the database alone can neither read them nor put
/// those of another project, or of another text, in their place. The text of the project is not secret, but it is part of
/// what is sealed: with a changed one nothing opens.
struct ProjectSeal: Sendable {
    private let key: SealingKey
    /// Opens what was sealed before keys were changed.
    private let former: SealingKey?

    /// Bytes that a project may have: its text, and the files that it names.
    static let limitBytes = 1 << 20

    private static let purpose = "herald stored projects"

    /// - Parameters:
    ///   - key: seals and opens.
    ///   - former: opens what `key` does not.
    init(key: [UInt8], former: [UInt8]?) throws(SigningError) {
        self.key = try SealingKey(of: key, for: Self.purpose)
        self.former = if let former { try SealingKey(of: former, for: Self.purpose) } else { nil }
    }

    /// By which ``fits(_:)`` knows the key.
    func keyCheck() throws(SigningError) -> [UInt8] {
        try key.seal([], as: Self.context(of: "key check"))
    }

    /// Whether one of the keys sealed what came with this check.
    func fits(_ keyCheck: [UInt8]) -> Bool {
        do {
            _ = try open(keyCheck, as: Self.context(of: "key check"))
            return true
        } catch {
            return false
        }
    }

    /// The project with its files sealed anew.
    func sealing(_ files: [String: [UInt8]], of project: StoredProject) throws(SigningError) -> StoredProject {
        let members = files.sorted { $0.key < $1.key }.map { path, bytes in
            JSONValue.Member(path, .string(Data(bytes).base64EncodedString()))
        }
        var project = project
        project.sealed = try key.seal(JSONValue.object(members).bytes, as: Self.context(of: project))
        return project
    }

    /// The files of a project, by their paths.
    ///
    /// - Throws: ``SigningError`` `.notSealed`: another key sealed them, or the project was changed since.
    func files(of project: StoredProject) throws(SigningError) -> [String: [UInt8]] {
        let bytes = try open(project.sealed, as: Self.context(of: project))
        let unreadable = SigningError(.notSealed, "What was sealed can't be read.")
        do {
            guard case .object(let members) = try JSONValue(parsing: bytes) else { throw unreadable }
            var files: [String: [UInt8]] = [:]
            for member in members {
                guard let data = member.value.stringValue.flatMap({ Data(base64Encoded: $0) }) else { throw unreadable }
                files[member.name] = Array(data)
            }
            return files
        } catch {
            throw unreadable
        }
    }

    private func open(_ sealed: [UInt8], as context: [UInt8]) throws(SigningError) -> [UInt8] {
        guard let former else { return try key.open(sealed, as: context) }
        do {
            return try key.open(sealed, as: context)
        } catch {
            return try former.open(sealed, as: context)
        }
    }

    /// No part can hold the byte between them but the last one.
    private static func context(of project: StoredProject) -> [UInt8] {
        context(of: "project files", project.id.rawValue, project.file, project.text)
    }

    private static func context(of parts: String...) -> [UInt8] {
        Array(parts.joined(separator: "\0").utf8)
    }
}
