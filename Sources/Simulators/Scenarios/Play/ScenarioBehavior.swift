/// What one scenario does on a connection: one small value for each ``Scenario/Name``. The defaults do nothing.
protocol ScenarioBehavior: Sendable {
    /// The limit of streams that the connection begins with; `nil`: as usual.
    var firstStreamLimit: Int? { get }

    /// The limit of streams at the beginning and in the end.
    ///
    /// - Parameter usual: the limit of a good connection.
    func streamLimits(of scenario: Scenario, usual: Int) -> (first: Int, full: Int)

    /// The initial size of stream windows; `nil`: as usual.
    func windowBytes(of scenario: Scenario) -> Int?

    /// The shortest time between two provider tokens; `nil`: as usual.
    func tokenIntervalSeconds(of scenario: Scenario) -> Int?

    /// The connection begins to play.
    mutating func opened(_ connection: inout ScenarioConnection) -> [ScenarioAction]

    /// A push arrived; the checks have not looked at it yet.
    mutating func arrived(_ stream: Int, _ connection: inout ScenarioConnection) -> [ScenarioAction]

    /// A push was held against the checks and the rules, and will be answered.
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction]

    /// The time of a ``ScenarioAction/tick(milliseconds:)`` is over.
    mutating func ticked(_ connection: inout ScenarioConnection) -> [ScenarioAction]
}

/// A push as checks and rules left it.
struct JudgedPush {
    let status: Int
    let deviceToken: String
    /// Milliseconds since 1970.
    let time: Int64

    var isAccepted: Bool { status == 200 }
}

extension ScenarioBehavior {
    var firstStreamLimit: Int? { nil }
    func streamLimits(of scenario: Scenario, usual: Int) -> (first: Int, full: Int) { (usual, usual) }
    func windowBytes(of scenario: Scenario) -> Int? { nil }
    func tokenIntervalSeconds(of scenario: Scenario) -> Int? { nil }
    mutating func opened(_ connection: inout ScenarioConnection) -> [ScenarioAction] { [] }
    mutating func arrived(_ stream: Int, _ connection: inout ScenarioConnection) -> [ScenarioAction] { [] }
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] { [] }
    mutating func ticked(_ connection: inout ScenarioConnection) -> [ScenarioAction] { [] }
}
