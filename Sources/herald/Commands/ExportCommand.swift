import ArgumentParser
import Foundation
import NIOHTTP1
import PushModel

/// `herald export`: the ledger as a file, page by page, to be resumed after an interruption.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the record of every delivery to a file.",
        discussion:
            "An interrupted export leaves FILE and FILE.cursor; the same command with --resume goes on from there.")

    @OptionGroup var gateway: GatewayOptions
    @Option(help: "The file to write.") var out: String?
    @Option(help: "ndjson or csv.") var format = ExportFormat.ndjson
    @Option(help: "Deliveries that ended from then on, RFC 3339; default: 24 hours ago.") var start: String?
    @Option(help: "Deliveries that ended before then, RFC 3339; default: now.") var end: String?
    @Option(help: "Rows to ask for at a time.") var pageSize = 10_000
    @Flag(help: "Go on where an interrupted export stopped.") var resume = false
    @Option(help: "Write the schema of the rows to this file.") var schema: String?

    func validate() throws {
        guard out != nil || schema != nil else { throw ValidationError("Give --out FILE, --schema FILE or both.") }
        guard (1...10_000).contains(pageSize) else { throw ValidationError("--page-size takes 1 to 10000.") }
        for time in [start, end].compactMap({ $0 }) where Timestamp(rfc3339: time) == nil {
            throw ValidationError("\"\(time)\" is not a time; write it like 2026-01-02T03:04:05Z.")
        }
    }

    func run() async throws {
        let client = try gateway.client()
        if let schema {
            let answer = try await client.project(.GET, "export", query: [("format", "schema")])
            try ExportFile.inputOutput(schema) { try Data(answer.body).write(to: URL(filePath: schema)) }
        }
        guard let out else { return }
        let now = Timestamp.systemTime()
        let fresh = ExportCursor(
            project: client.project.rawValue, start: start ?? (now + .seconds(-86_400)).rfc3339,
            end: end ?? now.rfc3339,
            format: format.rawValue, pageToken: nil, bytes: 0, rows: 0)
        let file = ExportFile(path: out)
        var cursor = try resume ? file.resumed(given: start, end, matching: fresh) : file.begun(with: fresh)
        try await write(to: file, from: &cursor, client)
        Console.standard.progress("")
        Console.standard.error("\(cursor.rows) rows in \(out)")
    }

    private func write(to file: ExportFile, from cursor: inout ExportCursor, _ client: GatewayClient) async throws {
        while true {
            var query = [
                ("startTime", cursor.start), ("endTime", cursor.end), ("format", cursor.format),
                ("pageSize", String(pageSize)),
            ]
            if let token = cursor.pageToken { query.append(("pageToken", token)) }
            let answer = try await client.project(.GET, "export", query: query)
            try file.append(answer.body, then: answer.nextPageToken, &cursor)
            Console.standard.progress("\(cursor.rows) rows, \(cursor.bytes) bytes")
            if answer.nextPageToken == nil { return }
        }
    }
}

/// The form of an export.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
    /// One JSON object a line.
    case ndjson
    /// RFC 4180 with a header line.
    case csv
}

/// Where an export stands: kept beside the file until it is complete.
struct ExportCursor: Codable, Hashable {
    var project: String
    var start: String
    var end: String
    var format: String
    /// The page that comes next; `nil`: the first one.
    var pageToken: String?
    /// How much of the file is complete: anything behind it was written by an interrupted page.
    var bytes: UInt64
    var rows: Int
}

/// The file of an export with its cursor.
struct ExportFile {
    /// The file.
    let path: String

    /// The cursor's file.
    var cursorPath: String { path + ".cursor" }

    /// Starts anew: an empty file, which only its owner can read, and its cursor.
    func begun(with cursor: ExportCursor) throws(Failure) -> ExportCursor {
        try Self.inputOutput(path) { try PrivateFile(path: path).makeEmpty() }
        try save(cursor)
        return cursor
    }

    /// Reads where an interrupted export stopped, and cuts off what its last page left behind.
    func resumed(
        given start: String?, _ end: String?, matching fresh: ExportCursor
    ) throws(Failure) -> ExportCursor {
        guard FileManager.default.fileExists(atPath: cursorPath) else {
            throw Failure(.usage, "\(cursorPath): no such file; there is nothing to resume, leave --resume out")
        }
        let cursor = try Self.inputOutput(cursorPath) {
            try JSONDecoder().decode(ExportCursor.self, from: Data(contentsOf: URL(filePath: cursorPath)))
        }
        guard cursor.project == fresh.project, cursor.format == fresh.format, start ?? cursor.start == cursor.start,
            end ?? cursor.end == cursor.end
        else {
            throw Failure(
                .usage,
                "\(cursorPath) is of another export (\(cursor.project), \(cursor.format), "
                    + "\(cursor.start) to \(cursor.end)); give the same options or leave --resume out")
        }
        try Self.inputOutput(path) {
            let handle = try FileHandle(forUpdating: URL(filePath: path))
            guard try handle.seekToEnd() >= cursor.bytes else { throw CocoaError(.fileReadCorruptFile) }
            try handle.truncate(atOffset: cursor.bytes)
            try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: path)
            try handle.close()
        }
        return cursor
    }

    /// Appends a page, makes it durable, then moves the cursor; removes the cursor after the last page.
    func append(_ page: [UInt8], then next: String?, _ cursor: inout ExportCursor) throws(Failure) {
        try Self.inputOutput(path) {
            let handle = try FileHandle(forUpdating: URL(filePath: path))
            try handle.seek(toOffset: cursor.bytes)
            try handle.write(contentsOf: Data(page))
            try handle.synchronize()
            try handle.close()
        }
        let lines = page.count { $0 == UInt8(ascii: "\n") }
        // The gateway writes the header line of a CSV on the first page only.
        let hasHeader = cursor.format == ExportFormat.csv.rawValue && cursor.bytes == 0 && lines > 0
        cursor.bytes += UInt64(page.count)
        cursor.rows += lines - (hasHeader ? 1 : 0)
        cursor.pageToken = next
        guard next == nil else { return try save(cursor) }
        try Self.inputOutput(cursorPath) { try FileManager.default.removeItem(atPath: cursorPath) }
    }

    /// Runs file work; what it throws ends the command with the file's name.
    @discardableResult
    static func inputOutput<Result>(_ path: String, _ body: () throws -> Result) throws(Failure) -> Result {
        do {
            return try body()
        } catch {
            throw Failure(.inputOutput, "\(path): \(error.localizedDescription)")
        }
    }

    private func save(_ cursor: ExportCursor) throws(Failure) {
        try Self.inputOutput(cursorPath) {
            try PrivateFile(path: cursorPath).write(JSONEncoder().encode(cursor))
        }
    }
}
