import JSON
import PushModel
import Store

/// A registration as callers see it.
struct RegistrationView {
    let registration: Registration
    private let isStale: Bool

    init(_ registration: Registration) {
        self.registration = registration
        isStale = false
    }

    /// A view that says whether the registration is stale by the project's policy.
    init(_ registration: Registration, in call: ProjectCall) {
        self.registration = registration
        isStale = call.project.stale.shows(registration, at: call.now)
    }

    /// The answer to the app that registered.
    var brief: JSONValue {
        .object([
            .init("name", .string(registration.resourceName)), .init("token", .string(registration.token.rawValue)),
        ])
    }

    /// Everything but the address, to those who may hold the registration's token. `more` comes last.
    ///
    /// - Parameter showsService: whether the host of an active browser's push service is told.
    func full(
        showsService: Bool = false, showsToken: Bool = true, and more: [JSONValue.Member] = []
    ) -> JSONValue {
        var members: [JSONValue.Member] = [.init("name", .string(registration.resourceName))]
        if showsToken { members.append(.init("token", .string(registration.token.rawValue))) }
        members.append(.init("app", .string(registration.app.rawValue)))
        switch registration.address {
        case .apple(_, let environment):
            members.append(.init("apnsEnvironment", .string(environment == .production ? "PROD" : "SANDBOX")))
        case .android: members.append(.init("platform", .string("ANDROID")))
        case .relayed: members.append(.init("platform", .string("UNKNOWN")))
        case .broadcast(let address):
            members.append(.init("channelId", .string(address.id.rawValue)))
        case .web(let subscription):
            members.append(.init("platform", .string("WEB")))
            if showsService, registration.isActive {
                members.append(.init("pushService", .string(subscription.host)))
            }
        }
        if let version = registration.appVersion { members.append(.init("appVersion", .string(version))) }
        if let user = registration.user { members.append(.init("user", .string(user.rawValue))) }
        members.append(.init("createTime", .string(registration.createdAt.rfc3339)))
        return .object(members + stateMembers + more)
    }

    /// When it was refreshed, whether it is alive, and why not.
    var stateMembers: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("refreshTime", .string(registration.refreshedAt.rfc3339)), .init("state", .string(state)),
        ]
        if isStale { members.append(.init("stale", .bool(true))) }
        if let quarantine = registration.quarantine, registration.isActive {
            members += [
                .init("quarantineTime", .string(quarantine.time.rfc3339)),
                .init("quarantineReason", .string(quarantine.reason.rawValue)),
            ]
        }
        if let end = registration.end {
            members += [
                .init("endTime", .string(end.time.rfc3339)),
                .init("endCause", .string(end.cause.rawValue.uppercased())),
            ]
        }
        return members
    }

    private var state: String {
        guard registration.isActive else { return "ENDED" }
        return registration.quarantine == nil ? "ACTIVE" : "QUARANTINED"
    }
}

extension Registration {
    /// `projects/<id>/registrations/<fid>`.
    var resourceName: String { "projects/\(project)/registrations/\(id)" }
}
