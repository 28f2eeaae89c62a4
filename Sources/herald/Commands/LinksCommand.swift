import ArgumentParser

/// `herald links`: links of a project.
struct LinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links",
        abstract: "Make, list, archive, import and export links, and see how often they were opened.",
        discussion: """
            import and export work on the store directly, also while the gateway runs; the others ask the gateway.
            """,
        subcommands: [Create.self, List.self, Show.self, Stats.self, Archive.self, QR.self, Import.self, Export.self])
}
