import ArgumentParser
import Foundation
import JSON
import PushModel
import Store

/// `herald registration`: many registrations at once, and what became of one.
struct RegistrationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registration", abstract: "Import, export, prune and look into registrations.",
        discussion: "import and export work on the store directly, also while the gateway runs; the others ask it.",
        subcommands: [Import.self, Export.self, List.self, Audit.self, Prune.self])

    /// `herald registration import`.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read registrations from a file into the store.",
            discussion: """
                Columns: device_token and app; optional fid, token (kept if given, else made), environment, user, \
                app_version, topics, created_at, refreshed_at, proven_at, quarantined_at with quarantine_reason. What is \
                there already, by app and device token, is refreshed, so a file can be imported twice.
                """)

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The file; - for standard input.") var path: String
        @Option(help: "The project of the registrations.") var project: ProjectID
        @Option(help: "ndjson or csv; by the file's name when not given.") var format: RegistrationFormat?
        @Flag(help: "Go on where an import of this file was broken off.") var resume = false
        @Flag(
            help: ArgumentHelp(
                "Leave out lines that can't be read, too.",
                discussion: "Registrations that can't be taken never end an import: they go to the file of rejects."))
        var continueOnError = false
        @Option(help: "The file of rejects; default: FILE.rejects.") var rejects: String?

        func run() async throws {
            let configuration = try file.read()
            guard let format = format ?? RegistrationFormat(path: path) else {
                throw Failure(.usage, "\(path): give --format ndjson or --format csv")
            }
            let apps = try await RegistrationCommand.apps(of: project, in: configuration)
            let store = try await RegistrationCommand.store(configuration)
            do {
                let summary = try await run(format, apps, store)
                try store.close()
                Terminal.standard.progress("")
                Terminal.standard.error("\(summary.imported) registrations imported, \(summary.rejected) rejected")
                guard summary.rejected == 0 else {
                    throw Failure(.refused, "\(summary.rejected) lines were rejected; see \(rejectsPath)")
                }
            } catch let error as StoreError {
                throw Failure(store: error, in: configuration)
            }
        }

        private var rejectsPath: String { rejects ?? (path == "-" ? "stdin.rejects" : "\(path).rejects") }

        private func run(
            _ format: RegistrationFormat, _ apps: ImportableApps, _ store: any StoreAdministration
        ) async throws -> RegistrationImport.Summary {
            let handle =
                try path == "-"
                ? FileHandle.standardInput
                : ExportFile.inputOutput(path) { try FileHandle(forReadingFrom: URL(filePath: path)) }
            var lines = try ExportFile.inputOutput(path) { try RegistrationLines(handle) }
            let decoder = try Self.decoder(format, apps, &lines)
            let source = "\(project):\(path == "-" ? "-" : URL(filePath: path).standardizedFileURL.path)"
            let start = try await start(&lines, source, store)
            let rejected = RejectFile(path: rejectsPath, isNew: !resume)
            let clock = ContinuousClock()
            let began = clock.now
            let job = RegistrationImport(
                store: store, project: project, decoder: decoder, source: source, skipsUnreadable: continueOnError,
                reject: { try rejected.append($0) },
                progress: { summary, position in
                    let seconds = max((clock.now - began) / .seconds(1), 0.001)
                    let rate = Int(Double(summary.imported - start.imported) / seconds)
                    Terminal.standard.progress(
                        "line \(position.line): \(summary.imported) imported, \(summary.rejected) rejected, \(rate)/s")
                }, now: Timestamp.systemTime())
            let summary = try await job.run(&lines, from: start)
            try await store.forgetImportPosition(of: source)
            return summary
        }

        private static func decoder(
            _ format: RegistrationFormat, _ apps: ImportableApps, _ lines: inout RegistrationLines
        ) throws -> RegistrationDecoder {
            var header: RegistrationRecord?
            do {
                if format == .csv {
                    header = try lines.next(1).first
                    guard header != nil else { throw LineProblem(reason: "the header is missing") }
                }
                return try RegistrationDecoder(
                    format, apps: apps.apple, webApps: apps.web, androidApps: apps.android, header: header)
            } catch let problem as LineProblem {
                throw Failure(.refused, problem.text(line: header?.line ?? 1))
            }
        }

        /// Goes to where the import was broken off, or forgets that there was one.
        private func start(
            _ lines: inout RegistrationLines, _ source: String, _ store: any StoreAdministration
        ) async throws -> RegistrationImport.Summary {
            guard resume else {
                try await store.forgetImportPosition(of: source)
                return RegistrationImport.Summary()
            }
            guard let position = try await store.importPosition(of: source) else {
                throw Failure(.usage, "\(path): no import of this file was broken off; leave --resume out")
            }
            let changed = Failure(
                .refused, "\(path) is not the file whose import was broken off; leave --resume out to begin anew")
            guard position.fingerprint == lines.fingerprint else { throw changed }
            let isLongEnough = try lines.skip(to: position.offset, line: position.line)
            guard isLongEnough else { throw changed }
            return RegistrationImport.Summary(imported: position.imported, rejected: position.rejected)
        }
    }

    /// `herald registration export`.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the active registrations of a project, with their topics, as import reads them.",
            discussion: "The file holds secrets: a registration token is enough to send to its device.")

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The file; - for standard output.") var path: String
        @Option(help: "The project.") var project: ProjectID
        @Option(help: "ndjson or csv; by the file's name when not given.") var format: RegistrationFormat?
        @Option(help: "Go on behind this cursor, which an export prints when it ends; appends to the file.")
        var after: Int64 = 0

        func run() async throws {
            let configuration = try file.read()
            guard let format = format ?? RegistrationFormat(path: path) else {
                throw Failure(.usage, "\(path): give --format ndjson or --format csv")
            }
            try await configuration.check(project)
            try configuration.checkForStore()
            let store = try await RegistrationCommand.store(configuration)
            do {
                let (count, last) = try await write(RegistrationEncoder(format: format), from: store)
                try store.close()
                Terminal.standard.progress("")
                Terminal.standard.error("\(count) registrations exported; the cursor is \(last)")
            } catch let error as StoreError {
                throw Failure(store: error, in: configuration)
            }
        }

        private func write(
            _ encoder: RegistrationEncoder, from store: any StoreAdministration
        ) async throws -> (count: Int, last: Int64) {
            let handle = try handle()
            var key = RegistrationKey(rawValue: after)
            let total = try await store.activeRegistrations(of: project, after: key)
            var bytes = after == 0 ? Array(encoder.header.utf8) : []
            var count = 0
            while true {
                let page = try await store.exportRegistrations(of: project, after: key, limit: 2000)
                for row in page.rows { encoder.append(row, to: &bytes) }
                let block = Data(bytes)
                try ExportFile.inputOutput(path) { try handle.write(contentsOf: block) }
                bytes.removeAll(keepingCapacity: true)
                count += page.rows.count
                key = page.last
                Terminal.standard.progress("\(count) of \(total)")
                if page.isLast { break }
            }
            if path != "-" { try ExportFile.inputOutput(path) { try handle.close() } }
            return (count, key.rawValue)
        }

        /// The file, which only its owner may read.
        private func handle() throws(Failure) -> FileHandle {
            guard path != "-" else { return .standardOutput }
            return try ExportFile.inputOutput(path) {
                if after == 0 {
                    let isMade = FileManager.default.createFile(
                        atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
                    guard isMade else { throw CocoaError(.fileWriteNoPermission) }
                }
                let handle = try FileHandle(forWritingTo: URL(filePath: path))
                try handle.seekToEnd()
                return handle
            }
        }
    }

    /// Apple apps with their environments, web apps and Android apps.
    private typealias ImportableApps = (apple: [AppID: PushEnvironment], web: [AppID: App], android: Set<AppID>)

    /// The Apple apps of a project with their environments, its web apps and its Android apps, from the project files.
    private static func apps(
        of project: ProjectID, in configuration: GatewayConfiguration
    ) async throws(Failure) -> ImportableApps {
        try await configuration.check(project)
        let apps = try await configuration.readProjects().projects.first { $0.id == project }?.apps ?? [:]
        var apple: [AppID: PushEnvironment] = [:]
        for app in apps.values where app.platform == .apple { apple[app.id] = app.deviceService?.environment }
        let web = apps.values.filter { $0.platform == .web }.map { ($0.id, $0) }
        let android = apps.values.filter { $0.platform == .android }.map(\.id)
        return (apple, Dictionary(uniqueKeysWithValues: web), Set(android))
    }

    private static func store(
        _ configuration: GatewayConfiguration
    ) async throws(Failure) -> any StoreAdministration {
        do {
            return try await configuration.openStore(as: .command)
        } catch {
            throw Failure(store: error, in: configuration)
        }
    }
}

/// The lines that an import left out: one JSON object each with the line's number, the column, the reason and the line.
final class RejectFile {
    private let path: String
    private let isNew: Bool
    private var handle: FileHandle?

    /// Names the file; it is opened with the first line. An import that goes on appends to it. Only its owner may read
    /// it.
    init(path: String, isNew: Bool) {
        self.path = path
        self.isNew = isNew
    }

    private func open() throws(Failure) -> FileHandle {
        if let handle { return handle }
        let opened = try ExportFile.inputOutput(path) { [path, isNew] in
            if isNew || !FileManager.default.fileExists(atPath: path) {
                let isMade = FileManager.default.createFile(
                    atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
                guard isMade else { throw CocoaError(.fileWriteNoPermission) }
            }
            let handle = try FileHandle(forWritingTo: URL(filePath: path))
            try handle.seekToEnd()
            return handle
        }
        handle = opened
        return opened
    }

    /// Appends a line.
    func append(_ wrong: RegistrationImport.Reject) throws(Failure) {
        var members: [JSONValue.Member] = [.init("line", .number(String(wrong.record.line)))]
        if let column = wrong.problem.column { members.append(.init("column", .string(column))) }
        members += [
            .init("reason", .string(wrong.problem.reason)),
            .init("text", .string(String(decoding: wrong.record.bytes, as: UTF8.self))),
        ]
        let line = Data(JSONValue.object(members).bytes + [0x0a])
        let handle = try open()
        try ExportFile.inputOutput(path) { try handle.write(contentsOf: line) }
    }
}
