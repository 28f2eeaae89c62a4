import Synchronization

/// What the simulated push service answers to pushes of one subscription, or of all, in place of its own judgement: for a
/// push that passes its checks.
///
/// As JSON `{"status": 429, "body": "…", "retryAfterSeconds": 5, "location": "https://…", "delayMilliseconds": 20,
/// "times": 3}`, `{"neverAnswer": true}` or `{"reset": true}`; every key is optional, without a status the push is accepted.
package struct PushServiceRule: Sendable, Codable, Hashable {
    /// The status; `nil`: 201.
    package var status: Int?
    /// The body, whatever a service writes.
    package var body: String?
    /// `Retry-After`.
    package var retryAfterSeconds: Int?
    /// `Location`, for a redirect.
    package var location: String?
    /// Milliseconds before the answer.
    package var delayMilliseconds: Int?
    /// Whether there is no answer at all.
    package var neverAnswer: Bool?
    /// Whether the stream ends behind the request, without an answer.
    package var reset: Bool?
    /// How many pushes the rule holds for; `nil`: all.
    package var times: Int?

    /// Puts a rule together.
    package init(
        status: Int? = nil, body: String? = nil, retryAfterSeconds: Int? = nil, location: String? = nil,
        delayMilliseconds: Int? = nil, neverAnswer: Bool? = nil, reset: Bool? = nil, times: Int? = nil
    ) {
        self.status = status
        self.body = body
        self.retryAfterSeconds = retryAfterSeconds
        self.location = location
        self.delayMilliseconds = delayMilliseconds
        self.neverAnswer = neverAnswer
        self.reset = reset
        self.times = times
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case status, body, retryAfterSeconds, location, delayMilliseconds, neverAnswer, reset, times
    }

    /// Reads the JSON shape above; every other key and every value out of range is refused.
    package init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        status = try values.decodeIfPresent(Int.self, forKey: .status)
        body = try values.decodeIfPresent(String.self, forKey: .body)
        retryAfterSeconds = try values.decodeIfPresent(Int.self, forKey: .retryAfterSeconds)
        location = try values.decodeIfPresent(String.self, forKey: .location)
        delayMilliseconds = try values.decodeIfPresent(Int.self, forKey: .delayMilliseconds)
        neverAnswer = try values.decodeIfPresent(Bool.self, forKey: .neverAnswer)
        reset = try values.decodeIfPresent(Bool.self, forKey: .reset)
        times = try values.decodeIfPresent(Int.self, forKey: .times)
        guard status.map({ (200...599).contains($0) }) ?? true else {
            throw values.wrong(.status, "must be 200 to 599")
        }
        guard delayMilliseconds.map({ (0...3_600_000).contains($0) }) ?? true else {
            throw values.wrong(.delayMilliseconds, "must be 0 to 3600000")
        }
        guard times.map({ $0 > 0 }) ?? true else { throw values.wrong(.times, "must be at least 1") }
    }
}

/// The rules by subscription, and one for all others.
package final class PushServiceRules: Sendable {
    private struct State {
        var `default`: PushServiceRule?
        var subscriptions: [String: PushServiceRule] = [:]
    }

    private let state = Mutex(State())

    /// Sets or removes the rule of a subscription.
    package func set(_ rule: PushServiceRule?, for id: String) {
        state.withLock { $0.subscriptions[id] = rule }
    }

    /// Sets or removes the rule of all subscriptions that have none.
    package func setDefault(_ rule: PushServiceRule?) {
        state.withLock { $0.default = rule }
    }

    /// Removes all rules.
    package func clear() {
        state.withLock { $0 = State() }
    }

    /// The rule for a push, which uses it up once.
    func take(for id: String) -> PushServiceRule? {
        state.withLock { state in
            if let rule = state.subscriptions[id] {
                state.subscriptions[id] = rule.usedOnce
                return rule
            }
            let rule = state.default
            state.default = rule?.usedOnce
            return rule
        }
    }
}

extension PushServiceRule {
    /// What is left of it after a push.
    fileprivate var usedOnce: PushServiceRule? {
        guard let times else { return self }
        guard times > 1 else { return nil }
        var rule = self
        rule.times = times - 1
        return rule
    }
}
