import Synchronization

/// The subscriptions of a simulated push service: those that live, and those that ended.
package final class SubscriptionBook: Sendable {
    /// What an endpoint leads to.
    enum Standing {
        /// A subscription.
        case live(PushSubscription)
        /// One that there was.
        case ended
        /// Nothing.
        case unknown
    }

    private struct State {
        var origin = ""
        var next = 1
        var live: [String: PushSubscription] = [:]
        var ended: Set<String> = []
    }

    private let dialect: PushServiceDialect
    private let state = Mutex(State())

    /// No subscriptions.
    package init(dialect: PushServiceDialect = .mozilla) {
        self.dialect = dialect
    }

    /// Endpoints begin with `origin` from now on.
    func listens(at origin: String) { state.withLock { $0.origin = origin } }

    /// `https://host:port`: what tokens have to name.
    var origin: String { state.withLock { $0.origin } }

    /// A new subscription.
    ///
    /// - Parameters:
    ///   - applicationKey: the VAPID key that it takes pushes from, 65 bytes; `nil`: any.
    ///   - isBridged: whether it is of Firefox on Android, which takes less.
    package func subscribe(applicationKey: [UInt8]? = nil, isBridged: Bool = false) -> PushSubscription {
        state.withLock { state in
            let random = base64URL((0..<24).map { _ in UInt8.random(in: .min ... .max) })
            let id = "s\(state.next)-\(random)"
            let subscription = PushSubscription(
                id: id, endpoint: state.origin + dialect.path(of: id), applicationKey: applicationKey,
                isBridged: isBridged)
            state.next += 1
            state.live[subscription.id] = subscription
            return subscription
        }
    }

    /// Ends a subscription, as a browser does when the user takes the permission back.
    ///
    /// - Returns: whether it lived.
    @discardableResult
    package func end(_ id: String) -> Bool {
        state.withLock { state in
            guard state.live.removeValue(forKey: id) != nil else { return false }
            state.ended.insert(id)
            return true
        }
    }

    /// How many live.
    package var count: Int { state.withLock { $0.live.count } }

    func standing(of id: String) -> Standing {
        state.withLock { state in
            if let subscription = state.live[id] { return .live(subscription) }
            return state.ended.contains(id) ? .ended : .unknown
        }
    }
}
