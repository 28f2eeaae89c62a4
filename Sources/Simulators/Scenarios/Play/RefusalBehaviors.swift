/// A scenario that gives an accepted push another answer, and does nothing else.
protocol RefusalBehavior: ScenarioBehavior {
    /// The answer in place of 200; `nil`: the push is accepted.
    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer?
}

extension RefusalBehavior {
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard push.isAccepted, let answer = refusal(of: push, &connection) else { return [] }
        return [.answer(answer)]
    }
}

/// `too-many-requests`: 429 for a share of the pushes.
struct TooManyRequests: RefusalBehavior {
    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer? {
        guard connection.drawsShare() else { return nil }
        return ScenarioAnswer(429, "TooManyRequests", retryAfterSeconds: connection.whole(.retryAfterSeconds))
    }
}

/// `unavailable-burst`: 503 for some time of each period.
struct UnavailableBurst: RefusalBehavior {
    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer? {
        let phase = max(0, push.time - connection.start) % Int64(connection.whole(.everyMilliseconds))
        guard phase < Int64(connection.whole(.durationMilliseconds)) else { return nil }
        return ScenarioAnswer(503, "ServiceUnavailable", retryAfterSeconds: connection.whole(.retryAfterSeconds))
    }
}

/// `token-updates`: 429 TooManyProviderTokenUpdates for some pushes in a row.
struct TokenUpdates: RefusalBehavior {
    func tokenIntervalSeconds(of scenario: Scenario) -> Int? { scenario.whole(.intervalSeconds) }

    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer? {
        connection.isAmongFirst(connection.whole(.length))
            ? ScenarioAnswer(429, "TooManyProviderTokenUpdates") : nil
    }
}

/// `expired-wedge`: the connection takes no provider token any more.
struct ExpiredWedge: RefusalBehavior {
    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer? {
        guard connection.isDue else { return nil }
        return connection.whole(.status) == 500
            ? ScenarioAnswer(500, "InternalServerError") : ScenarioAnswer(403, "ExpiredProviderToken")
    }
}

/// `unrelated-key`: the connection refuses every key.
struct UnrelatedKey: RefusalBehavior {
    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer? {
        connection.isDue ? ScenarioAnswer(403, "UnrelatedKeyIdInToken") : nil
    }
}

/// `bad-device-share`: 400 for a share of the device tokens.
struct BadDeviceShare: RefusalBehavior {
    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer? {
        connection.isChosen(push.deviceToken) ? ScenarioAnswer(400, "BadDeviceToken") : nil
    }
}

/// `unregistered-share`: 410 for a share of the device tokens.
struct UnregisteredShare: RefusalBehavior {
    func refusal(of push: JudgedPush, _ connection: inout ScenarioConnection) -> ScenarioAnswer? {
        guard connection.isChosen(push.deviceToken) else { return nil }
        return ScenarioAnswer(410, "Unregistered", ageSeconds: connection.whole(.ageSeconds))
    }
}
