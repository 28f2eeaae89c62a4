import ArgumentParser
import Foundation
import Links
import PushModel
import Store

extension LinksCommand {
    /// `herald links export`.
    struct ExportLinks: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Write the links of a project as import reads them, in the columns of Google's export.",
            discussion: """
                Deleted and blocked links are left out, and without --tracked those that messages got for their links; ends \
                and counters have no column.
                """)

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The file; - for standard output.") var path: String
        @Option(help: "The project.") var project: ProjectID
        @Flag(help: "Add columns for the parameters that Google's export leaves out: al, gclid and ppid.")
        var allParameters = false
        @Flag(help: "Also the short links that were made for messages, which delivery.trackLinks does.")
        var tracked = false

        func run() async throws {
            let configuration = try file.read()
            let (project, settings, _) = try await configuration.links(of: project)
            let writer = LinkRowWriter(hasAllParameters: allParameters, settings: settings)
            let output = try handle()
            let (count, incomplete) = try await configuration.withStore { store throws(StoreError) in
                try await write(project.id, writer, from: store, to: output)
            }.get()
            if path != "-" { try ExportFile.inputOutput(path) { try output.close() } }
            Terminal.standard.progress("")
            Terminal.standard.error("\(count) links exported")
            guard incomplete == 0 else {
                throw Failure(
                    .refused, "\(incomplete) links have parameters without a column; use --all-parameters to keep them")
            }
        }

        /// The links written, and those with parameters that have no column.
        private func write(
            _ project: ProjectID, _ writer: LinkRowWriter, from store: any LinkStore, to output: FileHandle
        ) async throws(StoreError) -> Result<(Int, Int), Failure> {
            var (count, incomplete, last) = (0, 0, LinkID(rawValue: 0))
            var bytes: [UInt8] = []
            writer.appendHeader(to: &bytes)
            while true {
                let page = try await store.exportLinks(of: project, after: last, limit: 2000)
                for link in page where link.state == .active && (tracked || link.kind != .tracked) {
                    if !writer.append(link, to: &bytes) { incomplete += 1 }
                    count += 1
                }
                let block = Data(bytes)
                do throws(Failure) {
                    try ExportFile.inputOutput(path) { try output.write(contentsOf: block) }
                } catch {
                    return .failure(error)
                }
                bytes.removeAll(keepingCapacity: true)
                Terminal.standard.progress("\(count) links")
                guard let end = page.last else { return .success((count, incomplete)) }
                last = end.id
            }
        }

        private func handle() throws(Failure) -> FileHandle {
            guard path != "-" else { return .standardOutput }
            return try ExportFile.inputOutput(path) {
                try PrivateFile(path: path).makeEmpty()
                return try FileHandle(forWritingTo: URL(filePath: path))
            }
        }
    }
}
