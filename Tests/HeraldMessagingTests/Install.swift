import Foundation

@testable import HeraldMessaging

/// A registration state between a clock that a test moves and a gateway that it plays.
struct Install {
    var state: RegistrationState
    var now = Date(timeIntervalSince1970: 1_800_000_000)
    /// What was told, in its order.
    var effects: [MessagingEffect] = []

    init(_ record: MessagingRecord = MessagingRecord(), appVersion: String = "1.0", isAutoInitEnabled: Bool = true) {
        state = RegistrationState(
            record, appVersion: appVersion, isAutoInitEnabled: isAutoInitEnabled, isReceiptReportingEnabled: true)
    }

    /// One that has come to be registered.
    static func registered() -> Install {
        var install = Install()
        install.state.setAPNSToken(Data([1, 2]), environment: .prod)
        install.answer(.installed("F"))
        install.answer(.registered(id: "F", token: "F:1"))
        install.effects = []
        return install
    }

    /// The same install after another launch of the app.
    func relaunched(appVersion: String = "1.0", isAutoInitEnabled: Bool = true) -> Install {
        var install = Install(state.record, appVersion: appVersion, isAutoInitEnabled: isAutoInitEnabled)
        install.now = now
        return install
    }

    /// What is to be done now; what is told on the way is kept.
    mutating func action() -> MessagingAction {
        while true {
            let action = state.next(at: now)
            guard case .tell(let told) = action else { return action }
            effects += told
        }
    }

    /// The request that is to be made now; `nil`: none.
    mutating func request() -> MessagingRequest? {
        guard case .send(let request) = action() else { return nil }
        return request
    }

    /// Until when there is nothing to do, in seconds from now.
    func pause() -> TimeInterval? {
        var copy = self
        guard case .wait(let until) = copy.action() else { return nil }
        return until?.timeIntervalSince(now)
    }

    /// Answers the request that is to be made now, and gives it.
    @discardableResult
    mutating func answer(_ answer: MessagingAnswer, serverTime: Date? = nil) -> MessagingRequest? {
        guard let request = request() else { return nil }
        effects += state.settle(answer, serverTime: serverTime, at: now, jitter: 1)
        return request
    }

    mutating func pass(_ seconds: TimeInterval) { now += seconds }

    /// What was told since the last time.
    mutating func told() -> [MessagingEffect] {
        defer { effects = [] }
        return effects
    }
}

extension MessagingAnswer {
    static func installed(_ id: String) -> MessagingAnswer {
        .installed(id: id, refreshToken: "refresh-\(id)", auth: "auth-\(id)", lifetime: 604_800)
    }

    static let offline = MessagingAnswer.unanswered(.offline)

    static func refused(_ status: Int, _ reason: String? = nil, retryAfter: TimeInterval? = nil) -> MessagingAnswer {
        .refused(GatewayRefusal(status: status, reason: reason, message: "no", retryAfter: retryAfter))
    }
}

extension MessagingError {
    static let offline = MessagingError(.network, "The gateway did not answer.")
}

extension MessagingRequest {
    /// The request's name, without what it carries.
    var name: String {
        switch self {
        case .install: "install"
        case .renew: "renew"
        case .register: "register"
        case .changeTopic(_, _, let change): (change.isSubscription ? "subscribe " : "unsubscribe ") + change.topic
        case .report(_, let receipts, _): "report \(receipts.count)"
        case .unregister: "unregister"
        case .uninstall: "uninstall"
        }
    }
}
