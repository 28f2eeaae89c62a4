import ArgumentParser
import Foundation
import NIOHTTP1
import PushModel

/// `herald export`: the ledger as a file, page by page, to be resumed after an interruption.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write the record of every delivery to a file.",
        discussion:
            "What is there under the name of FILE stays until the export is complete. An interrupted one leaves FILE.part "
            + "and FILE.cursor; the same command with --resume goes on from there.")

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
        var cursor = try resume ? file.resumed(given: start, end, matching: fresh) : fresh
        try await write(to: file, from: &cursor, isBegun: resume, client)
        Terminal.standard.progress("")
        Terminal.standard.error("\(cursor.rows) rows in \(out)")
    }

    private func write(
        to file: ExportFile, from cursor: inout ExportCursor, isBegun: Bool, _ client: GatewayClient
    ) async throws {
        var isBegun = isBegun
        while true {
            var query = [
                ("startTime", cursor.start), ("endTime", cursor.end), ("format", cursor.format),
                ("pageSize", String(pageSize)),
            ]
            if let token = cursor.pageToken { query.append(("pageToken", token)) }
            let answer = try await client.project(.GET, "export", query: query)
            // Not before there is something to write: a gateway that refuses leaves every file as it was.
            if !isBegun { cursor = try file.begun(with: cursor) }
            isBegun = true
            try file.append(answer.body, then: answer.nextPageToken, &cursor)
            Terminal.standard.progress("\(cursor.rows) rows, \(cursor.bytes) bytes")
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

/// The file of an export with its cursor. It is written beside its place and put there when it is complete: until then the
/// file of an earlier export stays, and who has that one open reads nothing of this one.
struct ExportFile {
    /// The file.
    let path: String

    /// The file while it is not complete. What is no regular file, as /dev/null, is written itself.
    var partPath: String { isInPlace ? path : target + ".part" }

    /// The file that the path leads to, behind links.
    private var target: String { URL(filePath: path).resolvingSymlinksInPath().path }

    private var isInPlace: Bool {
        do {
            let kind = try FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
            return kind != .typeRegular
        } catch {
            // It is not there yet.
            return false
        }
    }

    /// The cursor's file.
    var cursorPath: String { path + ".cursor" }

    /// Starts anew: an empty file, which only its owner can read, and its cursor.
    func begun(with cursor: ExportCursor) throws(Failure) -> ExportCursor {
        try Self.inputOutput(partPath) {
            // Of an interrupted export; somebody may have it open.
            if !isInPlace, FileManager.default.fileExists(atPath: partPath) {
                try FileManager.default.removeItem(atPath: partPath)
            }
            try PrivateFile(path: partPath).makeEmpty()
        }
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
        try Self.inputOutput(partPath) {
            let handle = try FileHandle(forUpdating: URL(filePath: partPath))
            guard try handle.seekToEnd() >= cursor.bytes else { throw CocoaError(.fileReadCorruptFile) }
            try handle.truncate(atOffset: cursor.bytes)
            try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: partPath)
            try handle.close()
        }
        return cursor
    }

    /// Appends a page, makes it durable, then moves the cursor; puts the file in its place after the last page and removes
    /// the cursor.
    func append(_ page: [UInt8], then next: String?, _ cursor: inout ExportCursor) throws(Failure) {
        try Self.inputOutput(partPath) {
            let handle = try FileHandle(forUpdating: URL(filePath: partPath))
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
        if !isInPlace { try Self.inputOutput(path) { try PrivateFile(path: partPath).move(over: target) } }
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
