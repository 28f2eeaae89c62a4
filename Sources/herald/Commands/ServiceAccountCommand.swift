import ArgumentParser
import Foundation
import GatewayAPI
import JSON
import PushModel
import Store

/// `herald service-account`: accounts for Admin SDKs, made and revoked in the store itself, also while the gateway runs.
struct ServiceAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service-account", abstract: "Make, list, rotate and revoke service accounts for Admin SDKs.",
        discussion: "Works on the store directly; a running gateway honours the change within a second.",
        subcommands: [
            Create.self, List.self, Rotate.self, Revoke.self, Disable.self, Enable.self, Delete.self,
        ])

    /// `herald service-account create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an account and write its credential, the JSON file that Admin SDKs take.",
            discussion: "The private key is only in that file; the store has the public one.")

        @OptionGroup var file: ConfigurationOption
        @Option(help: "The project the account works on.") var project: ProjectID
        @Option(help: "Its name: \(ServiceAccountEmail.nameExpectation).") var name = DevelopmentAccount.name
        @Option(help: "admin (everything, as an Admin SDK expects) or sender (send, read reports).")
        var role: Role = .admin
        @OptionGroup var output: CredentialOutput

        func validate() throws {
            guard role != .client else {
                throw ValidationError("A service account has the role admin or sender; a client has an API key.")
            }
            guard ServiceAccountEmail(name: name, project: project) != nil else {
                throw ValidationError("\(name) is no name of an account; use \(ServiceAccountEmail.nameExpectation).")
            }
        }

        func run() async throws {
            let configuration = try file.read()
            try await configuration.check(project)
            guard let email = ServiceAccountEmail(name: name, project: project) else {
                preconditionFailure("validated")
            }
            let credential = try output.credential(of: email, configuration)
            let now = Timestamp.systemTime()
            let account = ServiceAccount(email: email, role: role, createdAt: now)
            try await output.write(credential) { () throws(Failure) in
                let isNew = try await configuration.withStore(isMade: true) { store throws(StoreError) in
                    try await store.insert(account, with: credential.record(at: now), by: .command)
                }
                guard isNew else {
                    throw Failure(
                        .refused,
                        "there is an account \(email); herald service-account rotate \(email) makes another key of it")
                }
            }
            Terminal.standard.print("Account \(email) (\(role.rawValue)).")
            output.tell(credential)
        }
    }

    /// `herald service-account rotate`.
    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make another key of an account and write it as a new credential.",
            discussion: "The account's older keys go on until they are revoked.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The account, as list shows it.") var account: ServiceAccountEmail
        @OptionGroup var output: CredentialOutput

        func run() async throws {
            let configuration = try file.read()
            let credential = try output.credential(of: account, configuration)
            var others: [ServiceAccountKey] = []
            try await output.write(credential) { () throws(Failure) in
                let found = try await configuration.withStore { store throws(StoreError) in
                    others = try await store.serviceAccountKeys(of: account.project).map(\.key)
                        .filter { $0.account == account && $0.revokedAt == nil }
                    return try await store.insert(credential.record(at: Timestamp.systemTime()), by: .command)
                }
                guard found else { throw ServiceAccountCommand.unknown(account) }
            }
            output.tell(credential)
            for key in others {
                Terminal.standard.print("Still works: herald service-account revoke \(key.id)")
            }
        }
    }

    /// `herald service-account list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List accounts with their keys.")

        @OptionGroup var file: ConfigurationOption
        @Option(help: "Only accounts of this project.") var project: ProjectID?
        @Flag(help: "Print JSON, an object a line.") var json = false

        func run() async throws {
            let configuration = try file.read()
            let keys = try await configuration.withStore { store throws(StoreError) in
                try await store.serviceAccountKeys(of: project)
            }
            guard !json else { return Terminal.standard.print(keys.map(ServiceAccountCommand.value)) }
            var table = Table(titles: ["KEY", "ACCOUNT", "ROLE", "CREATED", "STATE"])
            table.rows = keys.map { identity in
                [
                    identity.key.id, identity.account.email.rawValue, identity.account.role.rawValue,
                    identity.key.createdAt.rfc3339, ServiceAccountCommand.state(of: identity),
                ]
            }
            Terminal.standard.print(keys.isEmpty ? "No service accounts." : table.lines.joined(separator: "\n"))
        }
    }

    /// `herald service-account revoke`.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a key, and with it the access tokens that it got.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The key's id, as list shows it.") var key: String

        func run() async throws {
            let found = try await file.read().withStore { store throws(StoreError) in
                try await store.revokeServiceAccountKey(key, at: Timestamp.systemTime(), by: .command)
            }
            guard found else {
                throw Failure(.refused, "there is no key \(key); see herald service-account list")
            }
            Terminal.standard.print("Key \(key) is revoked.")
        }
    }

    /// `herald service-account disable`.
    struct Disable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Disable an account: no key of it works.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The account, as list shows it.") var account: ServiceAccountEmail

        func run() async throws {
            try await ServiceAccountCommand.change(account, file, "is disabled") { store throws(StoreError) in
                try await store.disable(account, at: Timestamp.systemTime(), by: .command)
            }
        }
    }

    /// `herald service-account enable`.
    struct Enable: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Enable an account that was disabled.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The account, as list shows it.") var account: ServiceAccountEmail

        func run() async throws {
            try await ServiceAccountCommand.change(account, file, "is enabled") { store throws(StoreError) in
                try await store.enable(account, at: Timestamp.systemTime(), by: .command)
            }
        }
    }

    /// `herald service-account delete`.
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete an account with all its keys.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The account, as list shows it.") var account: ServiceAccountEmail

        func run() async throws {
            try await ServiceAccountCommand.change(account, file, "is deleted") { store throws(StoreError) in
                try await store.delete(account, at: Timestamp.systemTime(), by: .command)
            }
        }
    }

    private static func change(
        _ account: ServiceAccountEmail, _ file: ConfigurationOption, _ outcome: String,
        _ body: (any AdministeredStore) async throws(StoreError) -> Bool
    ) async throws {
        guard try await file.read().withStore(body) else { throw unknown(account) }
        Terminal.standard.print("Account \(account) \(outcome).")
    }

    private static func unknown(_ account: ServiceAccountEmail) -> Failure {
        Failure(.refused, "there is no account \(account); see herald service-account list")
    }

    private static func state(of identity: ServiceAccountIdentity) -> String {
        if let time = identity.key.revokedAt { return "revoked \(time.rfc3339)" }
        if let time = identity.account.disabledAt { return "disabled \(time.rfc3339)" }
        return "active"
    }

    private static func value(of identity: ServiceAccountIdentity) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("id", .string(identity.key.id)), .init("account", .string(identity.account.email.rawValue)),
            .init("project", .string(identity.account.email.project.rawValue)),
            .init("role", .string(identity.account.role.rawValue)),
            .init("createTime", .string(identity.key.createdAt.rfc3339)),
        ]
        if let time = identity.key.revokedAt { members.append(.init("revokeTime", .string(time.rfc3339))) }
        if let time = identity.account.disabledAt { members.append(.init("disableTime", .string(time.rfc3339))) }
        return .object(members)
    }
}

/// Where a credential goes, and what it says of the gateway.
struct CredentialOutput: ParsableArguments {
    @Option(name: .customLong("out"), help: "The file to write; only its owner can read it.") var path: String
    @Flag(help: "Replace a file that is there.") var force = false
    @Option(
        name: .customLong("token-uri"),
        help:
            "The URL of the gateway's /token as backends reach it; otherwise publicURL of the configuration, or its listen address."
    )
    var tokenURI: String?
    @Option(
        name: .customLong("universe-domain"),
        help: """
            Any domain but googleapis.com: Google's libraries then send JWTs of their own instead of asking for tokens, \
            and never talk to Google.
            """)
    var universeDomain = ServiceAccountFile.googleUniverse

    func validate() throws {
        guard let tokenURI else { return }
        guard let url = URL(string: tokenURI), ["http", "https"].contains(url.scheme), url.host() != nil,
            tokenURI.hasSuffix("/token")
        else {
            throw ValidationError(
                "\(tokenURI) is no URL of a token endpoint; use one such as https://push.example.com/token.")
        }
    }

    /// A new credential of an account.
    func credential(
        of account: ServiceAccountEmail, _ configuration: GatewayConfiguration
    ) throws(Failure) -> ServiceAccountFile {
        let listen = configuration.listen
        guard
            tokenURI != nil || configuration.publicURL != nil
                || (listen.port != 0 && !["0.0.0.0", "::"].contains(listen.host))
        else {
            throw Failure(
                .usage,
                "the configuration does not say by which address backends reach the gateway; add publicURL "
                    + "to it, or --token-uri https://push.example.com/token")
        }
        let base = configuration.publicURL ?? listen.url(port: listen.port)
        do {
            return try ServiceAccountFile(
                newKeyOf: account, tokenURI: tokenURI ?? base + "/token",
                universeDomain: universeDomain)
        } catch {
            throw Failure(.software, "no key can be made: \(error)")
        }
    }

    /// Writes the file once `body` has kept the key.
    func write(
        _ credential: ServiceAccountFile, after body: () async throws(Failure) -> Void
    ) async throws(Failure) {
        guard force || !FileManager.default.fileExists(atPath: path) else {
            throw Failure(.inputOutput, "\(path) is there; remove it, or use --force to replace it")
        }
        try await PrivateFile(path: path).write(
            Data(credential.text.utf8), replaces: force,
            failure: { Failure(.inputOutput, "\(path): can't be written: \($0.localizedDescription)") }, after: body)
    }

    /// Says what was written.
    func tell(_ credential: ServiceAccountFile) {
        Terminal.standard.print(
            "Key \(credential.keyID) is in \(path), with the private key, which is nowhere else. token_uri: "
                + credential.tokenURI)
    }
}
