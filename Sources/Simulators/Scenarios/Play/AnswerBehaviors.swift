import Foundation

/// `none`: a good connection.
struct GoodConnection: ScenarioBehavior {}

/// `slow`: answers are delayed.
struct Slow: ScenarioBehavior {
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        [.delay(milliseconds: delay(&connection))]
    }

    /// A log-normal time: `median · e^(σ·z)`, where σ puts 99 of 100 below the 99th percentile.
    private func delay(_ connection: inout ScenarioConnection) -> Int {
        let scenario = connection.scenario
        let median = scenario[.medianMilliseconds]
        let sigma = max(0, log(scenario[.p99Milliseconds] / median) / 2.326_347_874)
        let normal = sqrt(-2 * log(1 - connection.unit())) * cos(2 * .pi * connection.unit())
        return Int(min(scenario[.longestMilliseconds], median * exp(sigma * normal)))
    }
}

/// `big-headers`: answers carry headers that mean nothing.
struct BigHeaders: ScenarioBehavior {
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        connection.drawsShare() ? [.bigHeaders(bytes: connection.whole(.headerBytes))] : []
    }
}

/// `flow-control-stall`: tiny windows that open in small steps.
struct FlowControlStall: ScenarioBehavior {
    func windowBytes(of scenario: Scenario) -> Int? { scenario.whole(.windowBytes) }

    mutating func opened(_ connection: inout ScenarioConnection) -> [ScenarioAction] {
        [.tick(milliseconds: connection.whole(.everyMilliseconds))]
    }

    mutating func ticked(_ connection: inout ScenarioConnection) -> [ScenarioAction] {
        [
            .openWindows(bytes: connection.whole(.stepBytes)),
            .tick(milliseconds: connection.whole(.everyMilliseconds)),
        ]
    }
}
