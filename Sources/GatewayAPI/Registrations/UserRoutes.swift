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
        guard let digest = call.services.digestKey?.user(user, in: call.project.id),
            let standIn = UserID(rawValue: digest)
        else { throw FCMError(.internal) }
        try await call.audit(.userErased, digest)
        let erased = try await call.services.store.erase(user, in: call.project.id, standIn: standIn, at: call.now)
        call.logger.notice(
            "user erased",
            metadata: [
                "project": "\(call.project.id)", "registrations": "\(erased.registrations)",
                "obstacle": "\(erased.obstacle?.wire ?? "none")",
            ])
        return Response(json: view(of: erased))
    }

    private static func view(of erased: ErasedUser) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("registrations", .integer(erased.registrations)), .init("messages", .integer(erased.messages)),
            .init("links", .integer(erased.links)), .init("receipts", .integer(erased.receipts)),
            .init("deviceGroups", .integer(erased.deviceGroups)),
            .init("auditEntries", .integer(erased.auditEntries)), .init("rewritten", .bool(erased.obstacle == nil)),
        ]
        if let obstacle = erased.obstacle { members.append(.init("reason", .string(obstacle.wire))) }
        return .object(members)
    }
}

extension CleaningObstacle {
    /// What answers call it.
    var wire: String {
        switch self {
        case .reader: "READER"
        case .fileSize: "FILE_SIZE"
        case .server: "SERVER"
        }
    }
}
