/// One scenario on one connection, as a value: no I/O, and no clock or chance but what it is given. The connection
/// feeds it events and performs the actions that come back, in their order; what concerns the answer comes before it.
struct ScenarioPlay {
    private var connection: ScenarioConnection
    private var behavior: any ScenarioBehavior

    init(_ scenario: Scenario, seed: UInt64, generator: SeededGenerator, start: Int64, streamLimit: Int) {
        behavior = scenario.name.behavior
        connection = ScenarioConnection(
            scenario, seed: seed, generator: generator, start: start,
            streamLimits: behavior.streamLimits(of: scenario, usual: streamLimit))
    }

    /// The scenario that is played.
    var scenario: Scenario { connection.scenario }

    // MARK: What holds from the beginning

    /// The limit of streams that the connection begins with and that only this scenario changes; `nil`: as usual.
    var firstStreamLimit: Int? { behavior.firstStreamLimit }

    /// The initial size of stream windows; `nil`: as usual. With a value only this scenario opens windows.
    var windowBytes: Int? { behavior.windowBytes(of: scenario) }

    /// The shortest time between two provider tokens; `nil`: as usual.
    var tokenIntervalSeconds: Int? { behavior.tokenIntervalSeconds(of: scenario) }

    // MARK: Events

    /// What has to be done now.
    ///
    /// - Parameter now: milliseconds since 1970.
    mutating func handle(_ event: ScenarioEvent, at now: Int64) -> [ScenarioAction] {
        switch event {
        case .opened:
            return behavior.opened(&connection)
        case .arrived(let stream):
            connection.pushes += 1
            return behavior.arrived(stream, &connection)
        case .judged(_, let status, let deviceToken):
            guard let status else { return [] }
            return behavior.judged(JudgedPush(status: status, deviceToken: deviceToken, time: now), &connection)
        case .settingsAcknowledged:
            connection.settingsUnderWay = max(0, connection.settingsUnderWay - 1)
            return []
        case .ticked:
            return behavior.ticked(&connection)
        }
    }

    /// SETTINGS go out that this scenario did not ask for: those at the beginning.
    mutating func settingsSent() {
        connection.settingsUnderWay += 1
    }
}
