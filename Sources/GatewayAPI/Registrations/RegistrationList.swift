import Hummingbird
import JSON
import PushModel
import Store

/// Lists for operators: registrations by a filter, and the changes of owner of one.
enum RegistrationList {
    /// `GET …/registrations?filter=user="alice"|state=ACTIVE|QUARANTINED|STALE`, paged; without a filter all that have
    /// not ended.
    @Sendable static func list(_ call: ProjectCall) async throws -> Response {
        let size = try call.query.pageSize(default: 100, maximum: 1000)
        let filter = try filter(call)
        let page = try await call.services.store.registrations(
            in: call.project.id, filter, after: call.query["pageToken"], limit: size)
        var members: [JSONValue.Member] = []
        if !page.elements.isEmpty {
            let views = page.elements.map { RegistrationView($0, in: call).full() }
            members.append(.init("registrations", .array(views)))
        }
        if let next = page.nextCursor { members.append(.init("nextPageToken", .string(next))) }
        return Response(json: .object(members))
    }

    /// `GET …/registrations/{r}/audit`: the newest 1000 changes of owner, the newest first. Also of a registration
    /// that is purged, by its installation id.
    @Sendable static func audit(_ call: ProjectCall) async throws -> Response {
        guard let name = RegistrationReference(rawValue: try call.parameter("registration")) else {
            throw FCMError.badRequest("name", "The registration is neither an installation id nor a token.")
        }
        let id: RegistrationID
        switch name {
        case .id(let text): id = text
        case .token:
            guard let found = try await name.find(in: call.project, call.services.store) else {
                throw FCMError(.notFound)
            }
            id = found.id
        }
        let entries = try await call.services.store.audit(of: id, in: call.project.id, limit: 1000)
        if entries.isEmpty, try await call.services.store.registration(id, in: call.project.id) == nil {
            throw FCMError(.notFound)
        }
        let views = entries.map { view($0, call.project) }
        return Response(json: .object(views.isEmpty ? [] : [.init("entries", .array(views))]))
    }

    private static func view(_ entry: RegistrationAudit, _ project: Project) -> JSONValue {
        let name = { (id: RegistrationID) in JSONValue.string("projects/\(project.id)/registrations/\(id)") }
        var members: [JSONValue.Member] = [
            .init("time", .string(entry.time.rfc3339)), .init("cause", .string(entry.cause.rawValue.uppercased())),
            .init("app", .string(entry.app.rawValue)), .init("registration", name(entry.registration)),
        ]
        if let former = entry.former { members.append(.init("formerRegistration", name(former))) }
        if let user = entry.user { members.append(.init("user", .string(user.rawValue))) }
        if let user = entry.formerUser { members.append(.init("formerUser", .string(user.rawValue))) }
        if let credential = entry.credential { members.append(.init("credential", .string(credential))) }
        return .object(members)
    }

    private static func filter(_ call: ProjectCall) throws(FCMError) -> RegistrationFilter {
        guard let text = call.query["filter"] else { return .active }
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw refusal }
        let name = parts[0].trimmingBlanks
        let value = parts[1].trimmingBlanks
        switch (name, value.uppercased()) {
        case ("state", "ACTIVE"): return .active
        case ("state", "QUARANTINED"): return .quarantined
        case ("state", "STALE"): return .stale(before: call.project.stale.limit(at: call.now))
        case ("user", _):
            guard let user = UserID(rawValue: value.unquoted) else { throw refusal }
            return .user(user)
        default: throw refusal
        }
    }

    private static var refusal: FCMError {
        .badRequest(
            "filter", "The filter must be user=\"…\" or state=ACTIVE, state=QUARANTINED or state=STALE.")
    }
}

extension StringProtocol {
    /// The text in the quotes around it, with \" and \\ read; without quotes as it is.
    fileprivate var unquoted: String {
        guard count >= 2, hasPrefix("\""), hasSuffix("\"") else { return String(self) }
        var text = ""
        var isEscaped = false
        for character in dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
                continue
            }
            text.append(character)
            isEscaped = false
        }
        return text
    }
}
