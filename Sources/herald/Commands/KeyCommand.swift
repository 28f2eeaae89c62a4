import ArgumentParser
import Foundation
import GatewayAPI
import JSON
import PushModel
import Store

/// `herald key`: API keys, made and revoked in the store itself, also while the gateway runs.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Make, list and revoke API keys, and make VAPID keys for Web Push.",
        discussion: "Works on the store directly; a running gateway honours the change within a second.",
        subcommands: [Create.self, List.self, Revoke.self, VAPID.self])

    /// `herald key create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key. It is shown once, alone on the last line.")

        @OptionGroup var file: ConfigurationOption
        @Option(help: "The project the key works on.") var project: ProjectID
        @Option(help: "admin (everything), sender (send, read reports) or client (register, subscribe).")
        var role: Role
        @Option(help: "What lists, reports and the audit log call it: 1 to 100 characters.") var name: String?
        @Option(help: "When it ends: an RFC 3339 time, or a number of days, hours or minutes as in 90d, 12h, 30m.")
        var expires: Expiry?
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            if let name, !APIKeyRecord.isName(name) {
                throw ValidationError("--name takes 1 to 100 characters, none of them a control character.")
            }
        }

        func run() async throws {
            let configuration = try file.read()
            try await configuration.check(project)
            let now = Timestamp.systemTime()
            let expiresAt = expires?.time(from: now)
            if let expiresAt, expiresAt <= now {
                throw Failure(.usage, "--expires \(expiresAt.rfc3339) is not in the future")
            }
            let key = APIKey(project: project, role: role, at: now, name: name, expiresAt: expiresAt)
            try await configuration.withStore(isMade: true) { store throws(StoreError) in
                try await store.insert(key.record, by: .command)
            }
            if json {
                let members: [JSONValue.Member] = KeyCommand.members(key.record) + [.init("key", .string(key.text))]
                Terminal.standard.print(String(decoding: JSONValue.object(members).bytes, as: UTF8.self))
            } else {
                Terminal.standard.print("Key \(key.record.id) for \(project) (\(role.rawValue)). It is shown only now:")
                Terminal.standard.print(key.text)
            }
        }
    }

    /// `herald key list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List keys, never their secrets.")

        @OptionGroup var file: ConfigurationOption
        @Option(help: "Only keys of this project.") var project: ProjectID?
        @Flag(help: "Print JSON, an object a line.") var json = false

        func run() async throws {
            let configuration = try file.read()
            let keys = try await configuration.withStore { store throws(StoreError) in
                try await store.apiKeys(of: project)
            }
            if json {
                return Terminal.standard.print(keys.map { .object(KeyCommand.members($0)) })
            }
            var table = Table(
                titles: ["ID", "NAME", "PROJECT", "ROLE", "CREATED", "LAST USED", "EXPIRES", "REVOKED"])
            table.rows = keys.map { key in
                [
                    key.id, key.name ?? "-", key.project.rawValue, key.role.rawValue, key.createdAt.rfc3339,
                    key.lastUsedAt?.rfc3339 ?? "-", key.expiresAt?.rfc3339 ?? "-", key.revokedAt?.rfc3339 ?? "-",
                ]
            }
            if keys.isEmpty { Terminal.standard.print("No keys.") } else { Terminal.standard.print(table) }
        }
    }

    /// `herald key revoke`.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Revoke a key by its id.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The id, as list shows it; the whole key works too.") var id: String
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let configuration = try file.read()
            let id = APIKey.id(in: id) ?? id
            let found = try await configuration.withStore { store throws(StoreError) in
                try await store.revoke(id, at: Timestamp.systemTime(), by: .command)
            }
            guard found else { throw Failure(.refused, "there is no key \(id); see herald key list") }
            if json {
                let answer = JSONValue.object([.init("id", .string(id)), .init("revoked", .bool(true))])
                Terminal.standard.print(String(decoding: answer.bytes, as: UTF8.self))
            } else {
                Terminal.standard.print("Key \(id) is revoked.")
            }
        }
    }

    private static func members(_ key: APIKeyRecord) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("id", .string(key.id)), .init("project", .string(key.project.rawValue)),
            .init("role", .string(key.role.rawValue)), .init("createTime", .string(key.createdAt.rfc3339)),
        ]
        if let name = key.name { members.append(.init("name", .string(name))) }
        if let time = key.lastUsedAt { members.append(.init("lastUseTime", .string(time.rfc3339))) }
        if let time = key.expiresAt { members.append(.init("expireTime", .string(time.rfc3339))) }
        if let revokedAt = key.revokedAt { members.append(.init("revokeTime", .string(revokedAt.rfc3339))) }
        return members
    }
}
