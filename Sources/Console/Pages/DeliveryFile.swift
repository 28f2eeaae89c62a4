import Hummingbird
import HummingbirdCore
import JSON
import NIOCore
import PushModel
import Store

/// The deliveries of a message as a file for spreadsheets or programs.
struct DeliveryFile: Sendable {
    let isCSV: Bool
    let message: MessageID
    let project: ProjectID
    let outcome: LedgerOutcome?
    let store: any LedgerStore

    private static let names = [
        "registration", "app", "platform", "outcome", "reason", "attempts", "unknownAttempts", "latencyMs", "endTime",
        "apnsId", "received", "opened",
    ]

    /// Writes page after page while the client takes them.
    var body: ResponseBody {
        ResponseBody { writer in
            if isCSV { try await writer.write(ByteBuffer(string: Self.names.joined(separator: ",") + "\r\n")) }
            var cursor: String?
            repeat {
                let page = try await store.deliveries(
                    of: message, in: project, outcome: outcome, after: cursor, limit: 1000)
                try await writer.write(ByteBuffer(string: page.elements.map(line).joined()))
                cursor = page.nextCursor
            } while cursor != nil
            try await writer.finish(nil)
        }
    }

    private func line(_ record: DeliveryRecord) -> String {
        let values = [
            record.registration.rawValue, record.app.id.rawValue, record.app.platform.rawValue, record.outcomeWord,
            record.reason ?? record.history.lastCause ?? "", String(record.history.attempts),
            String(record.history.unknownAttempts), record.latencyMilliseconds.map { String($0) } ?? "",
            record.endedAt?.rfc3339 ?? "", record.pushID?.rawValue ?? "", record.receipts[.received]?.rfc3339 ?? "",
            record.receipts[.opened]?.rfc3339 ?? "",
        ]
        guard isCSV else {
            let members = zip(Self.names, values).filter { !$1.isEmpty }.map { JSONValue.Member($0, .string($1)) }
            return String(decoding: JSONValue.object(members).bytes, as: UTF8.self) + "\n"
        }
        return values.map(Self.cell).joined(separator: ",") + "\r\n"
    }

    /// A cell (RFC 4180). What begins like a formula is told from one: spreadsheets would run it.
    private static func cell(_ text: String) -> String {
        let isFormula = text.first.map { "=+-@\t\r".contains($0) } ?? false
        let safe = isFormula ? "'" + text : text
        guard safe.contains(where: { ",\"\r\n".contains($0) }) || isFormula else { return safe }
        return "\"" + safe.replacing("\"", with: "\"\"") + "\""
    }
}
