import ArgumentParser
import Foundation
import Store

/// `herald migrate`: brings the store to this version's tables.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Bring the store to the tables of this version.",
        discussion: """
            serve and every command that opens the store do the same by themselves. Gateways of the version before go on \
            beside the new tables, as long as the release notes do not say otherwise; two that migrate at once take turns.
            Exit codes: 69 the database can't be reached or a gateway has the store, 74 disk, 78 configuration, or the \
            store is of a newer version.
            """)

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let configuration = try file.read()
        try await configuration.withStore(isMade: true) { _ throws(StoreError) in }
        Terminal.standard.print("\(configuration.storeName) has the tables of version \(HeraldVersion.current)")
    }
}
