import ArgumentParser
import PushModel
import Simulators

/// What all simulators take: scenarios, a clock, a recording.
struct SimulatorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A scenario to play, or 'list'; repeatable.", valueName: "name[=weight][,parameter=value…]"))
    var scenario: [String] = []
    @Option(help: "What the draws of scenarios depend on: the same seed, the same run.") var seed: UInt64?
    @Option(help: "Seconds by which its clock is ahead of this machine's; behind when negative.")
    var clockOffset = 0
    @Option(help: "A file that what arrives is appended to, a line of JSON each.") var record: String?
    @Flag(help: "Print nothing for what arrives.") var quiet = false

    func validate() throws {
        guard (-31_536_000...31_536_000).contains(clockOffset) else {
            throw ValidationError("--clock-offset \(clockOffset) is out of range; use a year at most.")
        }
        if seed != nil, scenario.isEmpty {
            throw ValidationError("--seed belongs to --scenario; in scenarios.json it stands in the file.")
        }
    }

    /// Whether only the list of scenarios is asked for.
    var listsScenarios: Bool { scenario == ["list"] }

    /// The scenarios of the command line; `nil`: none, or only their list is asked for.
    func scenarios() throws -> ScenarioSet? {
        guard !scenario.isEmpty, !listsScenarios else { return nil }
        return try checked { ScenarioSet(try scenario.map(Scenario.init(text:)), seed: seed ?? 1) }
    }

    /// The same for another service than APNs.
    func scenariosOfAllServices() throws -> ScenarioSet {
        guard let set = try scenarios() else { return ScenarioSet() }
        return try checked { try set.ofAllServices() }
    }

    private func checked(_ make: () throws -> ScenarioSet) throws -> ScenarioSet {
        do {
            return try make()
        } catch let error as SimulatorError {
            throw ValidationError("\(error) (--scenario list explains all)")
        }
    }

    /// The time that the simulator goes by, in milliseconds since 1970.
    var wallTimeMilliseconds: @Sendable () -> Int64 {
        let offset = Duration.seconds(clockOffset)
        return { (Timestamp.systemTime() + offset).milliseconds }
    }

    /// A port of the command line, 0 for any free one.
    static func checkPorts(_ ports: Int?...) throws {
        for port in ports.compactMap(\.self) where !(0...65_535).contains(port) {
            throw ValidationError("\(port) is not a port; use 0 to 65535.")
        }
    }
}
