import PushModel

/// A retry whose sender waits for the end of the delivery.
struct AwaitedRetry: Hashable, Sendable {
    let message: MessageID
    let due: Timestamp
}

/// Retries whose senders wait, by route, the earliest first: these are claimed although their route is held.
struct AwaitedRetries {
    /// No sender waits so long for a retry that has fallen due.
    private static let longestWait: Duration = .seconds(60)

    private var retries: [PushRoute: [AwaitedRetry]] = [:]

    /// Keeps a retry in the order of time; those that were claimed otherwise, since the route was free, are forgotten.
    mutating func insert(_ retry: AwaitedRetry, of route: PushRoute) {
        var kept = retries[route] ?? []
        kept.removeAll { $0.message == retry.message || retry.due - $0.due > Self.longestWait }
        kept.insert(retry, at: kept.firstIndex { $0.due > retry.due } ?? kept.endIndex)
        retries[route] = kept
    }

    /// The retries of a route that are due, at most `limit`.
    func due(of route: PushRoute, limit: Int, at now: Timestamp) -> [AwaitedRetry] {
        guard let kept = retries[route] else { return [] }
        return Array(kept.prefix(limit).prefix { $0.due <= now })
    }

    /// The first `count` retries of a route are being claimed.
    mutating func removeFirst(_ count: Int, of route: PushRoute) {
        retries[route]?.removeFirst(count)
        if retries[route]?.isEmpty == true { retries[route] = nil }
    }

    /// The clock went back to `now`: no retry waits for a later time.
    mutating func clamp(to now: Timestamp) {
        retries = retries.mapValues { $0.map { AwaitedRetry(message: $0.message, due: min($0.due, now)) } }
    }
}
