/// What every scenario knows of its connection: how far it has come, the limit of streams, and the draws.
struct ScenarioConnection {
    /// How far a scenario that happens once on a connection has come.
    enum Progress: Equatable {
        /// Next: under way.
        case waiting
        /// The number of pushes that it hit so far. Next: over.
        case underWay(Int)
        /// It happened. Next: nothing.
        case over
    }

    let scenario: Scenario
    /// When the scenarios came into force, in milliseconds since 1970.
    let start: Int64
    private let seed: UInt64
    private var generator: SeededGenerator
    /// The push at which it happens; `nil`: not on this connection.
    private let moment: Int?
    var progress = Progress.waiting
    /// Pushes that arrived.
    var pushes = 0
    /// SETTINGS that are not acknowledged yet. What the client sends until then it may not have known to be too much.
    var settingsUnderWay = 0
    /// The limit of streams that was sent last.
    private(set) var limit: Int
    /// The limit of streams in the end.
    let fullLimit: Int

    init(
        _ scenario: Scenario, seed: UInt64, generator: SeededGenerator, start: Int64,
        streamLimits: (first: Int, full: Int)
    ) {
        self.scenario = scenario
        self.seed = seed
        self.start = start
        self.generator = generator
        (limit, fullLimit) = streamLimits
        let isAffected = self.generator.unit() < scenario[.share]
        let delay = Int(self.generator.unit() * (scenario[.spread] + 1))
        moment = isAffected ? scenario.whole(.after) + delay : nil
    }

    /// A parameter of the scenario, as a whole number.
    func whole(_ parameter: ScenarioParameter) -> Int { scenario.whole(parameter) }

    /// Sends SETTINGS with another limit of streams.
    mutating func limitStreams(_ new: Int) -> [ScenarioAction] {
        guard new != limit else { return [] }
        limit = new
        settingsUnderWay += 1
        return [.limitStreams(new)]
    }

    // MARK: Draws

    /// A number from 0 up to 1.
    mutating func unit() -> Double { generator.unit() }

    /// Whether the moment of this connection has come, and not gone.
    var isDue: Bool { progress != .over && moment.map { pushes >= $0 } ?? false }

    /// Whether this push is hit, by the share.
    mutating func drawsShare() -> Bool { generator.unit() < scenario[.share] }

    /// Whether this device token is hit, by the share; the same ones on every connection that plays this.
    func isChosen(_ deviceToken: String) -> Bool {
        SeededGenerator.unit(seed: seed, text: deviceToken) < scenario[.share]
    }

    /// Whether this push is among the first `length` ones from the moment on.
    mutating func isAmongFirst(_ length: Int) -> Bool {
        guard isDue else { return false }
        let count = if case .underWay(let count) = progress { count } else { 0 }
        guard count < length else { return false }
        progress = .underWay(count + 1)
        return true
    }
}
