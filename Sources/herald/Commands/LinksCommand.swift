import ArgumentParser

/// `herald links`: links of a project.
struct LinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links",
        abstract: "Make, list, archive, delete, import and export links, and see how often they were opened.",
        discussion: """
            import and export work on the store directly, also while the gateway runs; the others ask the gateway.
            """,
        subcommands: [
            CreateLink.self, ListLinks.self, ShowLink.self, LinkStatistics.self, ArchiveLink.self,
            UnarchiveLink.self, DeleteLink.self, LinkQR.self, ImportLinks.self, ExportLinks.self,
        ])
}
