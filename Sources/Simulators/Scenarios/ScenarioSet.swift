import Foundation

/// The scenarios of a simulator as a file (`scenarios.json`) and its control endpoint show them.
///
/// ```json
/// {
///   "seed": 7,
///   "scenarios": [
///     {"name": "goaway-partial", "after": 50},
///     {"name": "slow", "weight": 2, "medianMilliseconds": 100},
///     {"name": "none", "weight": 3}
///   ]
/// }
/// ```
///
/// Each connection plays one scenario, drawn by weight. The same seed draws the same ones for the same sequence of
/// connections, and on a connection the same numbers for the same sequence of pushes. Both keys are optional. The
/// scenarios themselves are described at ``Scenario``.
package struct ScenarioSet: Sendable, Hashable, Codable {
    /// What all draws depend on.
    package var seed: UInt64
    /// The scenarios to draw from; none: every connection is a good one.
    package var scenarios: [Scenario]

    /// Puts scenarios together.
    package init(_ scenarios: [Scenario] = [], seed: UInt64 = 1) {
        self.scenarios = scenarios
        self.seed = seed
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case seed, scenarios
    }

    /// Reads the JSON shape above; every other key is refused.
    package init(from decoder: any Decoder) throws {
        try decoder.refuseKeys(except: CodingKeys.allCases)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let seed = try values.decodeIfPresent(Int64.self, forKey: .seed) ?? 1
        guard seed >= 0 else { throw values.wrong(.seed, "must be 0 or greater") }
        self.init(try values.decodeIfPresent([Scenario].self, forKey: .scenarios) ?? [], seed: UInt64(seed))
    }

    /// Reads `scenarios.json`.
    ///
    /// - Returns: `nil` when there is no such file.
    /// - Throws: ``SimulatorError`` that names the file and the key.
    init?(file: String) throws {
        guard let value = try ScenarioSet.decoded(file: file) else { return nil }
        self = value
    }

    /// The scenario that a number from 0 to 1 falls on; `nil`: there is none to draw.
    func index(drawn number: Double, isAvailable: (Int) -> Bool) -> Int? {
        let candidates = scenarios.indices.filter { scenarios[$0].weight > 0 && isAvailable($0) }
        var rest = number * candidates.reduce(0) { $0 + scenarios[$1].weight }
        for index in candidates {
            rest -= scenarios[index].weight
            if rest < 0 { return index }
        }
        return candidates.last
    }
}
