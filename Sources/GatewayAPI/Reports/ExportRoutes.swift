import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Store

/// The ledger as files that warehouses load.
///
/// With `pageSize` one page is answered, and `X-Next-Page-Token` says where the next begins (absent at the end): the
/// way to resume after an interruption. Without, the whole range is streamed; memory stays that of one page.
enum ExportRoutes {
    static let all: [Route] = [
        .project(.get, "export", .read, export),
        .project(.get, "export/schema", .read) { _ in schema },
    ]

    private static let rowsAtOnce = 1000

    private static var schema: Response { Response(json: ExportColumn.schema) }

    @Sendable private static func export(_ call: ProjectCall) async throws -> Response {
        if call.query["format"] == "schema" { return schema }
        let request = try ExportRequest(call)
        // Read before the answer begins, so that an error still gets its own status.
        let first = try await request.page(after: request.cursor, limit: request.pageSize ?? rowsAtOnce)
        var response = Response(status: .ok, headers: [.contentType: request.format.contentType])
        guard request.pageSize == nil else {
            if let next = first.nextCursor { response.headers[.nextPageToken] = next }
            response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: request.bytes(first.elements, isFirst: true)))
            return response
        }
        response.body = ResponseBody { writer in
            // Not on the connection's event loop: a page of rows keeps it for milliseconds.
            try await withTaskExecutorPreference(globalConcurrentExecutor) {
                try await write(request, from: first, to: &writer)
            }
        }
        return response
    }

    @concurrent private static func write(
        _ request: ExportRequest, from first: ResultPage<ExportRow>, to writer: inout any ResponseBodyWriter
    ) async throws {
        var page = first
        try await writer.write(ByteBuffer(bytes: request.bytes(page.elements, isFirst: true)))
        // A failure here closes the connection without the end of the body: the caller sees that rows are missing.
        while let cursor = page.nextCursor {
            page = try await request.page(after: cursor, limit: rowsAtOnce)
            try await writer.write(ByteBuffer(bytes: request.bytes(page.elements, isFirst: false)))
        }
        try await writer.finish(nil)
    }
}

/// What an export asks for.
private struct ExportRequest: Sendable {
    let format: ExportFormat
    let cursor: String?
    let pageSize: Int?
    /// `nil`: from the oldest row that there is.
    private let start: Timestamp?
    private let end: Timestamp
    /// Rows that are recorded after this are for the next export.
    private let now: Timestamp
    private let project: Project
    private let store: any LedgerStore

    init(_ call: ProjectCall) throws(FCMError) {
        let query = call.query
        let name = query["format"] ?? ExportFormat.ndjson.rawValue
        guard let format = ExportFormat(rawValue: name.lowercased()) else {
            throw .badRequest("format", "The format must be ndjson, csv or schema.")
        }
        self.format = format
        cursor = query["pageToken"] ?? query["cursor"]
        let size = try query.pageSize(default: 0, maximum: 10_000)
        pageSize = size == 0 ? nil : size
        start = try query.time("startTime")
        end = try query.time("endTime") ?? call.now
        now = call.now
        if let start, start > end {
            guard query["endTime"] == nil else {
                throw .badRequest("end_time", "end_time must not be before start_time.")
            }
            throw .badRequest("start_time", "start_time must not be after now when there is no end_time.")
        }
        project = call.project
        store = call.services.store
    }

    /// Reads rows.
    func page(after cursor: String?, limit: Int) async throws(StoreError) -> ResultPage<ExportRow> {
        try await store.export(project: project.id, from: start, to: end, at: now, after: cursor, limit: limit)
    }

    /// Rows as they go out; the header line stands before the very first.
    func bytes(_ rows: [ExportRow], isFirst: Bool) -> [UInt8] {
        var bytes = isFirst && cursor == nil ? format.header : []
        for row in rows { format.append(row, in: project, to: &bytes) }
        return bytes
    }
}
