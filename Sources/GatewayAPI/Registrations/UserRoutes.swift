import Hummingbird
import JSON
import Links
import Logging
import PushModel
import Store

/// What is kept of a person.
enum UserRoutes {
    static let all: [Route] = [.project(.delete, "users/{user}", .eraseUser, erase)]

    /// Erases; the audit log says so before it begins, by a digest. A second time finds what the first one left.
    @Sendable private static func erase(_ call: ProjectCall) async throws -> Response {
        guard let user = UserID(rawValue: try call.parameter("user")) else {
            throw FCMError.badRequest("user", "A user is \(UserID.expectation).")
        }
        guard let digest = call.services.digestKey?.user(user, in: call.project.id) else { throw FCMError(.internal) }
        try await call.audit(.userErased, digest)
        let erased = try await call.services.store.erase(user, in: call.project.id, at: call.now)
        call.logger.notice(
            "user erased", metadata: ["project": "\(call.project.id)", "registrations": "\(erased.registrations)"])
        return Response(
            json: .object([
                .init("registrations", .integer(erased.registrations)), .init("messages", .integer(erased.messages)),
                .init("receipts", .integer(erased.receipts)), .init("auditEntries", .integer(erased.auditEntries)),
                .init("rewritten", .bool(erased.isRewritten)),
            ]))
    }
}
