import ArgumentParser
import Foundation
import JSON
import Links
import PushModel
import Store

extension LinksCommand {
    /// `herald links import`.
    struct ImportLinks: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Read links from a CSV file into the store, as Google exported Dynamic Links.",
            discussion: """
                Suffixes stay as they are, upper and lower case. A row is refused when its prefix is none of the project, \
                its suffix belongs to another link, or it leads to where the project's links may not; the others are taken. \
                What is there already, the same, stays, so a file can be imported twice.
                """)

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The file; - for standard input.") var path: String
        @Option(help: "The project of the links.") var project: ProjectID
        @Option(
            help: ArgumentHelp(
                "Links that begin with OLD begin with NEW from now on, a prefix of the project; may be repeated.",
                valueName: "OLD=NEW"))
        var map: [String] = []
        @Flag(help: "Print JSON: an object for each row that is refused, and one with the sums.") var json = false

        func run() async throws {
            let configuration = try file.read()
            let (project, settings, others) = try await configuration.links(of: project)
            let mapping = try mapping(settings)
            try configuration.checkForStore()
            let handle = try LinksCommand.source(path)
            do {
                let store = try await configuration.openStore(as: .command)
                let rows = { (reader: inout CSVReader) in
                    try LinkRowReader(
                        project: project, settings: settings, others: others, reading: &reader, mapping: mapping,
                        now: .systemTime())
                }
                let summary = try await run(project, rows, handle, store)
                try store.close()
                try tell(summary)
            } catch let error as StoreError {
                throw Failure(store: error, in: configuration)
            }
        }

        private func run(
            _ project: Project, _ rows: (inout CSVReader) throws -> LinkRowReader, _ handle: FileHandle,
            _ store: any AdministeredStore
        ) async throws -> LinkFileImport.Summary {
            do {
                var reader = try CSVReader { count in
                    try ExportFile.inputOutput(path) { Array(try handle.read(upToCount: count) ?? Data()) }
                }
                let rows = try rows(&reader)
                try await store.record(
                    AuditEntry(
                        time: .systemTime(), project: project.id, action: .linksImported, subject: project.id.rawValue,
                        details: ["file": path], credential: .command))
                let (clock, refusals) = (ContinuousClock(), Refusals(isJSON: json))
                let began = clock.now
                let job = LinkFileImport(store: store, rows: rows, pace: { store.importPace })
                return try await job.run(&reader, refuse: refusals.add) { summary in
                    let rate = Int(Double(summary.rows) / max((clock.now - began) / .seconds(1), 0.001))
                    Terminal.standard.progress("\(LinksCommand.text(summary)), \(rate)/s")
                }
            } catch let refusal as LinkRefusal {
                throw Failure(.refused, "\(path): line \(refusal.line): \(Table.safe(refusal.text))")
            } catch let problem as LinkProblem {
                throw Failure(.configuration, "project \(project.id): \(problem)")
            }
        }

        /// What the file's prefixes became.
        private func mapping(_ settings: LinkSettings) throws(Failure) -> LinkRowReader.Mapping {
            var mapping: LinkRowReader.Mapping = [:]
            for text in map {
                let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2, let old = LinksCommand.prefix(parts[0]), let new = LinksCommand.prefix(parts[1])
                else {
                    throw Failure(
                        .usage,
                        "--map \"\(Table.safe(text))\": write OLD=NEW, both a host or a host and a path, as "
                            + "demo.page.link=go.example.com")
                }
                guard let known = settings.prefixes.first(where: { $0.name == new.name }) else {
                    let names = settings.prefixes.map(\.name).joined(separator: ", ")
                    throw Failure(
                        .usage, "--map \(Table.safe(text)): \(new.name) is no prefix of the project; it has \(names)")
                }
                guard mapping.updateValue(known, forKey: old.name) == nil else {
                    throw Failure(.usage, "--map \(Table.safe(text)): \(old.name) is mapped twice; leave one out")
                }
            }
            return mapping
        }

        private func tell(_ summary: LinkFileImport.Summary) throws(Failure) {
            Terminal.standard.progress("")
            if json {
                Terminal.standard.print([
                    .object([
                        .init("created", .number("\(summary.created)")),
                        .init("unchanged", .number("\(summary.unchanged)")),
                        .init("refused", .number("\(summary.refused)")),
                    ])
                ])
            } else {
                Terminal.standard.error(LinksCommand.text(summary))
            }
            guard summary.refused == 0 else {
                throw Failure(
                    .refused,
                    "\(path): \(summary.refused) of \(summary.rows) rows were refused; mend what is listed and import the "
                        + "file again")
            }
        }
    }

    fileprivate static func text(_ summary: LinkFileImport.Summary) -> String {
        "\(summary.created) links imported, \(summary.unchanged) unchanged, \(summary.refused) refused"
    }

    /// Prints the rows that are refused.
    private struct Refusals {
        let isJSON: Bool

        func add(_ refusal: LinkRefusal) {
            guard isJSON else {
                Terminal.standard.progress("")
                let link = refusal.shortLink.map { "\(Table.safe($0)): " } ?? ""
                Terminal.standard.print("line \(refusal.line): \(link)\(Table.safe(refusal.text))")
                return
            }
            var members: [JSONValue.Member] = [.init("line", .number("\(refusal.line)"))]
            if let column = refusal.column { members.append(.init("column", .string(column))) }
            if let link = refusal.shortLink { members.append(.init("shortLink", .string(link))) }
            members.append(.init("reason", .string(refusal.reason)))
            Terminal.standard.print([.object(members)])
        }
    }
}

extension LinksCommand {
    /// A prefix as people write it, with or without its scheme.
    fileprivate static func prefix(_ text: String) -> LinkPrefix? {
        LinkPrefix(rawValue: text.contains("://") ? text : "https://" + text)
    }

    /// The file to read.
    fileprivate static func source(_ path: String) throws(Failure) -> FileHandle {
        guard path != "-" else { return .standardInput }
        guard PathKind(of: path) != .directory else {
            throw Failure(.inputOutput, "\(path): is a directory; name a file in it")
        }
        return try ExportFile.inputOutput(path) { try FileHandle(forReadingFrom: URL(filePath: path)) }
    }
}
