import ArgumentParser
import Console
import Foundation
import JSON
import PushModel
import Store

/// `herald operator`: who may sign in to the console. Works on the store directly, also while the gateway runs.
struct OperatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator", abstract: "Manage who signs in to the console.",
        subcommands: [Create.self, Link.self, List.self, Revoke.self])

    /// `herald operator create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an operator, or give one another role. The last line is a link that signs in once.",
            discussion: "The link works for 15 minutes; herald operator link makes another.")

        @Argument(help: "The operator's name: letters, digits and ._@- (64 at most).") var name: OperatorName
        @OptionGroup var file: ConfigurationOption
        @Option(help: "The project that the role is for.") var project: ProjectID
        @Option(
            help: "viewer (read), sender (also send), operator (also control messages, devices and links) or admin.")
        var role: OperatorRole

        func run() async throws {
            let configuration = try file.read()
            try await configuration.check(project)
            let now = Timestamp.systemTime()
            let link = ConsoleSignInLink(for: name, at: now)
            try await configuration.withStore(isMade: true) { store throws(StoreError) in
                _ = try await store.grant(role, in: project, to: name, at: now, by: .command)
                _ = try await store.insert(link.record)
            }
            Terminal.standard.print("Operator \(name) has the role \(role.rawValue) in \(project).")
            try OperatorCommand.show(link, configuration)
        }
    }

    /// `herald operator link`.
    struct Link: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make another link that signs an operator in once, within 15 minutes.")

        @Argument(help: "The operator's name.") var name: OperatorName
        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let configuration = try file.read()
            let link = ConsoleSignInLink(for: name, at: Timestamp.systemTime())
            let isKept = try await configuration.withStore { store throws(StoreError) in
                try await store.insert(link.record)
            }
            guard isKept else { throw OperatorCommand.unknown(name) }
            try OperatorCommand.show(link, configuration)
        }
    }

    /// `herald operator list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List operators and their roles.")

        @OptionGroup var file: ConfigurationOption
        @Option(help: "Only operators of this project.") var project: ProjectID?
        @Flag(help: "Print JSON, an object a line.") var json = false

        func run() async throws {
            let configuration = try file.read()
            let operators = try await configuration.withStore { store throws(StoreError) in
                try await store.operators(of: project)
            }
            if json { return Terminal.standard.print(operators.map(OperatorCommand.view)) }
            var table = Table(titles: ["NAME", "ROLES", "PASSWORD", "ONE-TIME CODES", "CREATED", "REVOKED"])
            table.rows = operators.map { found in
                [
                    found.name.rawValue, OperatorCommand.roles(found), found.passwordHash == nil ? "-" : "yes",
                    found.oneTimeKey == nil ? "-" : "yes", found.createdAt.rfc3339, found.revokedAt?.rfc3339 ?? "-",
                ]
            }
            if operators.isEmpty { Terminal.standard.print("No operators.") } else { Terminal.standard.print(table) }
        }
    }

    /// `herald operator revoke`.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take an operator's roles away: all, or that in one project. Sessions end at once.")

        @Argument(help: "The operator's name.") var name: OperatorName
        @OptionGroup var file: ConfigurationOption
        @Option(help: "Only the role in this project.") var project: ProjectID?

        func run() async throws {
            let configuration = try file.read()
            let isDone = try await configuration.withStore { store throws(StoreError) in
                try await store.revoke(name, in: project, at: Timestamp.systemTime(), by: .command)
            }
            guard isDone else { throw OperatorCommand.unknown(name) }
            Terminal.standard.print("Operator \(name) is revoked\(project.map { " in \($0)" } ?? "").")
        }
    }

    private static func show(_ link: ConsoleSignInLink, _ configuration: GatewayConfiguration) throws {
        guard configuration.console.isEnabled else {
            throw Failure(.refused, "the console is off; set console.enabled to true")
        }
        let base = configuration.publicURL ?? configuration.listen.url(port: configuration.listen.port)
        Terminal.standard.print("Sign in with this link. It works once, until \(link.record.expiresAt.rfc3339):")
        Terminal.standard.print(link.url(below: base, path: configuration.console.path))
    }

    private static func unknown(_ name: OperatorName) -> Failure {
        Failure(.refused, "there is no such operator \(name); see herald operator list")
    }

    private static func roles(_ found: Operator) -> String {
        let roles = found.roles.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key)=\($0.value.rawValue)" }
        return roles.isEmpty ? "-" : roles.joined(separator: " ")
    }

    private static func view(_ found: Operator) -> JSONValue {
        let roles = found.roles.sorted { $0.key.rawValue < $1.key.rawValue }
        var members: [JSONValue.Member] = [
            .init("name", .string(found.name.rawValue)),
            .init("roles", .object(roles.map { .init($0.key.rawValue, .string($0.value.rawValue)) })),
            .init("hasPassword", .bool(found.passwordHash != nil)),
            .init("hasOneTimeCodes", .bool(found.oneTimeKey != nil)),
            .init("createTime", .string(found.createdAt.rfc3339)),
        ]
        if let revokedAt = found.revokedAt { members.append(.init("revokeTime", .string(revokedAt.rfc3339))) }
        return .object(members)
    }
}
