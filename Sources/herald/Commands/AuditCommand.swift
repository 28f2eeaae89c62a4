import ArgumentParser
import Foundation
import GatewayAPI
import PushModel
import Store

/// `herald audit`: who changed keys, accounts, users, quarantines and messages, read from the store itself.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Show who changed keys, accounts, users, quarantines and messages.",
        discussion: """
            The newest entries first. Works on the store directly, also while the gateway runs; \
            GET /v1/projects/PROJECT/audit answers the same to admin keys.
            """)

    @OptionGroup var file: ConfigurationOption
    @Option(help: "Only entries of this project.") var project: ProjectID?
    @Option(help: "Only entries of this action, as in key.create.") var action: AuditAction?
    @Option(help: "Only entries about this: a key's id, an account, an installation id, a message's id.")
    var subject: String?
    @Option(help: "Only entries of this RFC 3339 time or later.") var since: String?
    @Option(help: "As many entries at most.") var limit = 100
    @Flag(help: "Print JSON, an object a line.") var json = false

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit takes a number of 1 or more.") }
        if let since, Timestamp(rfc3339: since) == nil {
            throw ValidationError("\"\(since)\" is not a time; write it like 2026-01-02T03:04:05Z.")
        }
    }

    func run() async throws {
        let filter = AuditFilter(
            project: project, action: action, subject: subject, since: since.flatMap { Timestamp(rfc3339: $0) })
        let entries = try await file.read().withStore { store throws(StoreError) in
            try await Self.entries(filter, limit: limit, store)
        }
        if json {
            return Terminal.standard.print(entries.map(AuditView.json))
        }
        var table = Table(titles: ["TIME", "PROJECT", "ACTION", "SUBJECT", "BY", "ADDRESS", "DETAILS"])
        table.rows = entries.map(Self.row)
        if entries.isEmpty { Terminal.standard.print("No entries.") } else { Terminal.standard.print(table) }
    }

    private static func entries(
        _ filter: AuditFilter, limit: Int, _ store: some AuditStore
    ) async throws(StoreError) -> [AuditEntry] {
        var entries: [AuditEntry] = []
        var cursor: String?
        repeat {
            let page = try await store.auditEntries(filter, after: cursor, limit: min(1000, limit - entries.count))
            entries += page.elements
            cursor = page.nextCursor
        } while cursor != nil && entries.count < limit
        return entries
    }

    private static func row(_ entry: AuditEntry) -> [String] {
        let use = entry.credential
        return [
            entry.time.rfc3339, entry.project.rawValue, entry.action.rawValue, entry.subject,
            use.name.map { "\(use.id) (\($0))" } ?? use.id, use.address ?? "-",
            entry.details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " "),
        ]
    }
}

extension CredentialUse {
    /// A command on the machine of the store: who ran it, behind `sudo` too.
    static var command: CredentialUse {
        let user = ProcessInfo.processInfo.environment["SUDO_USER"] ?? ProcessInfo.processInfo.userName
        return CredentialUse(id: commandID, name: user)
    }
}
