import Foundation
import PushModel
import Store

/// `herald registration export` and `import` of the program beside this one: the registrations of one store are exported
/// to a file, which is imported into an empty one.
final class RegistrationTransfer {
    /// What a command took.
    struct Run: Encodable {
        let rowsPerSecond: Double
        /// User and system time of the whole command.
        let microsecondsPerRow: Double
        /// The most memory resident.
        let peakMiB: Double
        /// Bytes of the file that was written or read.
        let fileBytes: Int
        /// Of the database server's processes, if there is one.
        var databaseMicrosecondsPerRow: Double?
    }

    private let options: GatewayOptions
    private let devices: Int
    private let scratch: Scratch
    private let source: GatewayFiles
    private let database: PostgreSQLServer?
    private var file: String { source.root + "/registrations.ndjson" }

    /// Makes a store with so many registrations, each with a topic.
    ///
    /// - Parameter store: where they are imported too, beside an embedded store.
    init(_ devices: Int, _ options: GatewayOptions, _ store: StoreKind) async throws {
        self.options = options
        self.devices = devices
        database =
            store == .postgresql ? try PostgreSQLServer(in: options.directory, cores: options.senderCores) : nil
        scratch = try Scratch()
        source = try Self.files(scratch, options)
        _ = try await Audience.make([devices], in: source.data)
    }

    /// Writes the file.
    func export() throws -> Run { try run("export", in: source) }

    /// Reads the file into a store of its own, which is removed afterwards.
    func `import`() async throws -> Run {
        let destination = try Self.files(scratch, options)
        let run = try run("import", in: destination)
        let found = try await Audience.count(in: destination.data)
        guard found == devices else { throw BenchFailure("of \(devices) registrations \(found) were imported") }
        return run
    }

    /// Reads the file into an empty database; `nil`: there is none.
    func importIntoDatabase() throws -> Run? {
        guard let database else { return nil }
        try database.empty()
        let destination = try Self.files(scratch, options, database: database.url)
        let before = try database.processorTime()
        var run = try run("import", in: destination)
        let took = try database.processorTime() - before
        run.databaseMicrosecondsPerRow = took.seconds * 1e6 / Double(devices)
        let found = try database.query("SELECT count(*) FROM registration")
        guard found == String(devices) else { throw BenchFailure("of \(devices) registrations \(found) were imported") }
        return run
    }

    /// Nothing is sent: the port only has to be one.
    private static func files(
        _ scratch: Scratch, _ options: GatewayOptions, database: String? = nil
    ) throws -> GatewayFiles {
        var setup = GatewayFiles.Setup(apps: [PlatformApp(.apple, sinkPort: 9)])
        setup.database = database
        return try GatewayFiles(setup, scratch: scratch, in: options.directory)
    }

    /// No import worth measuring is slower.
    private static let leastRowsPerSecond = 500

    private func run(_ command: String, in files: GatewayFiles) throws -> Run {
        let begin = ContinuousClock.now
        let cost = try Program.measured(
            [
                try GatewayProcess.herald, "registration", command, file, "--project", GatewayFiles.project, "--config",
                files.configuration,
            ], cores: options.senderCores, within: max(Program.timeLimit, devices / Self.leastRowsPerSecond))
        let seconds = (ContinuousClock.now - begin).seconds
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        return Run(
            rowsPerSecond: Double(devices) / seconds,
            microsecondsPerRow: Double(cost.microseconds) / Double(devices), peakMiB: Double(cost.peakKiB) / 1024,
            fileBytes: attributes[.size] as? Int ?? 0)
    }
}
