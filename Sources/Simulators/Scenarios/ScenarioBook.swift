import Synchronization

/// The scenarios of a simulator, changeable while it runs.
///
/// A change holds for connections that are open too: each draws again with its next push.
package final class ScenarioBook: Sendable {
    private struct Draws {
        var set = ScenarioSet()
        var start: Int64 = 0
        /// How many connections drew since the set is in force.
        var draws = 0
        /// How many connections play each scenario of the set, by its place.
        var plays: [Int: Int] = [:]
    }

    private let state = Mutex(Draws())
    private let changes = Atomic(0)
    private let wallTimeMilliseconds: @Sendable () -> Int64

    /// No scenarios: every connection is a good one.
    init(wallTimeMilliseconds: @escaping @Sendable () -> Int64) {
        self.wallTimeMilliseconds = wallTimeMilliseconds
    }

    /// The scenarios in force.
    package var scenarioSet: ScenarioSet { state.withLock { $0.set } }

    /// Replaces all scenarios; the draws start again.
    package func set(_ set: ScenarioSet) {
        let now = wallTimeMilliseconds()
        state.withLock { $0 = Draws(set: set, start: now) }
        changes.add(1, ordering: .releasing)
    }

    /// How often the scenarios were replaced.
    var generation: Int { changes.load(ordering: .acquiring) }

    /// What a connection is to play; `nil`: nothing.
    ///
    /// - Parameter streamLimit: how many streams a good connection is allowed.
    func draw(streamLimit: Int) -> (play: ScenarioPlay?, generation: Int) {
        let generation = generation
        let play: ScenarioPlay? = state.withLock { state in
            state.draws += 1
            var generator = SeededGenerator(seed: state.set.seed, sequence: state.draws)
            let drawn = state.set.index(drawn: generator.unit()) { index in
                let most = state.set.scenarios[index].whole(.connections)
                return most == 0 || state.plays[index, default: 0] < most
            }
            guard let drawn, state.set.scenarios[drawn].name != .none else { return nil }
            state.plays[drawn, default: 0] += 1
            return ScenarioPlay(
                state.set.scenarios[drawn], seed: state.set.seed, generator: generator, start: state.start,
                streamLimit: streamLimit)
        }
        return (play, generation)
    }
}
