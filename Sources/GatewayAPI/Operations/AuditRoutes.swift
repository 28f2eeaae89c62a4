import Hummingbird
package import JSON
import PushModel
package import Store

/// `GET …/audit`: who changed keys, accounts, users, quarantines and messages.
enum AuditRoutes {
    static let all: [Route] = [.project(.get, "audit", .readAudit, list)]

    /// The newest first; `filter=action=key.create` or `filter=subject="…"` keeps a part, `startTime` what is not older.
    /// A page may be short, or empty, and still have a next one.
    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        var filter = AuditFilter(project: call.project.id, since: try query.time("startTime"))
        if let text = query["filter"] { try read(text, into: &filter) }
        let page = try await call.services.store.auditEntries(filter, after: query["pageToken"], limit: size)
        var members: [JSONValue.Member] = [.init("entries", .array(page.elements.map(AuditView.json)))]
        if let next = page.nextCursor { members.append(.init("nextPageToken", .string(next))) }
        return Response(json: .object(members))
    }

    private static func read(_ text: String, into filter: inout AuditFilter) throws(FCMError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count == 2 ? String(parts[1].trimmingBlanks).trimming("\"") : ""
        switch parts[0].trimmingBlanks {
        case "action" where AuditAction(rawValue: value) != nil: filter.action = AuditAction(rawValue: value)
        case "subject" where !value.isEmpty: filter.subject = value
        default:
            let actions = AuditAction.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest(
                "filter", "The filter must be subject=\"…\" or action=… with one of \(actions).")
        }
    }
}

/// Audit entries as callers and commands see them.
package enum AuditView {
    /// `{time, action, subject, details, credential}`.
    package static func json(_ entry: AuditEntry) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("time", .string(entry.time.rfc3339)), .init("project", .string(entry.project.rawValue)),
            .init("action", .string(entry.action.rawValue)), .init("subject", .string(entry.subject)),
        ]
        if !entry.details.isEmpty {
            let details = entry.details.sorted { $0.key < $1.key }
            members.append(.init("details", .object(details.map { .init($0.key, .string($0.value)) })))
        }
        members.append(.init("credential", entry.credential.json))
        return .object(members)
    }
}

extension ProjectCall {
    /// Appends to the audit log that the caller does something now. Called before it is done: what is done is never
    /// missing from the log.
    func audit(_ action: AuditAction, _ subject: String, _ details: [String: String] = [:]) async throws(FCMError) {
        do throws(StoreError) {
            try await services.store.record(
                AuditEntry(
                    time: now, project: project.id, action: action, subject: subject, details: details,
                    credential: credential))
        } catch {
            throw FCMError(error)
        }
    }
}

extension String {
    /// The text without one `quote` at each end, if it has both.
    fileprivate func trimming(_ quote: Character) -> String {
        count >= 2 && first == quote && last == quote ? String(dropFirst().dropLast()) : self
    }
}
