import JSON
import PushModel
import Store

/// How an export is written.
enum ExportFormat: String, CaseIterable, Sendable {
    /// One JSON object a line, absent values left out: what `bq load --source_format=NEWLINE_DELIMITED_JSON` takes.
    case ndjson
    /// RFC 4180 with a header line, absent values empty; texts that look like formulas are made inert, see ``CSVCell``.
    case csv

    /// `Content-Type`.
    var contentType: String {
        switch self {
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8; header=present"
        }
    }

    /// What stands before the rows.
    var header: [UInt8] {
        switch self {
        case .ndjson: []
        case .csv: Array((ExportColumn.allCases.map(\.rawValue).joined(separator: ",") + "\r\n").utf8)
        }
    }

    /// Appends a row.
    func append(_ row: ExportRow, in project: Project, to bytes: inout [UInt8]) {
        switch self {
        case .ndjson:
            let members = ExportColumn.allCases.compactMap { column in
                column.value(of: row, in: project).map { value in
                    switch value {
                    case .text(let text): JSONValue.Member(column.rawValue, .string(text))
                    case .number(let number): JSONValue.Member(column.rawValue, .integer(number))
                    }
                }
            }
            bytes.append(contentsOf: JSONValue.object(members).bytes)
            bytes.append(UInt8(ascii: "\n"))
        case .csv:
            let fields = ExportColumn.allCases.map { column in
                switch column.value(of: row, in: project) {
                case nil: ""
                case .text(let text): CSVCell.quoted(CSVCell.inert(text))
                case .number(let number): String(number)
                }
            }
            bytes.append(contentsOf: (fields.joined(separator: ",") + "\r\n").utf8)
        }
    }
}
