/// `stream-ramp`: begins with one stream, allows more in steps.
struct StreamRamp: ScenarioBehavior {
    /// Pushes that were answered without complaint about the sender.
    private var answered = 0

    var firstStreamLimit: Int? { 1 }

    func streamLimits(of scenario: Scenario, usual: Int) -> (first: Int, full: Int) {
        (1, min(scenario.whole(.streamLimit), usual))
    }

    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard push.status != 403, connection.limit < connection.fullLimit else { return [] }
        answered += 1
        guard (answered - 1).isMultiple(of: connection.whole(.every)) else { return [] }
        return connection.limitStreams(min(connection.fullLimit, connection.limit * connection.whole(.factor)))
    }
}

/// `collapse-after-reject`: a rejected push lets the limit fall to one stream, an accepted one restores it.
struct CollapseAfterReject: ScenarioBehavior {
    mutating func arrived(_ stream: Int, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard connection.limit == 1, connection.settingsUnderWay > 0 else { return [] }
        return [.resetStream(code: StreamError.refusedStream)]
    }

    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        var actions: [ScenarioAction] = []
        var status = push.status
        if push.isAccepted, connection.isChosen(push.deviceToken) {
            actions.append(.answer(ScenarioAnswer(400, "BadDeviceToken")))
            status = 400
        }
        // Unregistered "does not count as an error" (Apple).
        let isRejected = (400..<500).contains(status) && status != 410
        if isRejected, connection.limit > 1 {
            actions += connection.limitStreams(1)
        } else if status == 200, connection.limit == 1 {
            actions += connection.limitStreams(connection.fullLimit)
        }
        return actions
    }
}

/// `settings-flap`: the limit of streams goes down and up again.
struct SettingsFlap: ScenarioBehavior {
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard connection.pushes.isMultiple(of: connection.whole(.every)) else { return [] }
        let low = 1 + Int(connection.unit() * connection.scenario[.streamLimit])
        let full = connection.fullLimit
        return connection.limitStreams(connection.limit == full ? min(low, full) : full)
    }
}
