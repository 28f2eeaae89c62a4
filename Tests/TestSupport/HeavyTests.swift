package import Testing

/// Lets two tests at a time run that keep the machine busy by themselves: whole gateways that are killed and restarted,
/// hundreds of lives over a database. Tests beside them wait for deadlines of seconds.
package struct HeavyTests: SuiteTrait, TestTrait, TestScoping {
    /// Suites pass it on to their tests.
    package var isRecursive: Bool { true }

    /// Runs `body` when there is room.
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        await HeavyRoom.shared.enter()
        do {
            try await body()
        } catch {
            await HeavyRoom.shared.leave()
            throw error
        }
        await HeavyRoom.shared.leave()
    }
}

extension Trait where Self == HeavyTests {
    /// See ``HeavyTests``.
    package static var heavy: Self { HeavyTests() }
}

/// Counts who is in.
private actor HeavyRoom {
    static let shared = HeavyRoom()
    private static let width = 2
    private var inside = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter() async {
        guard inside == Self.width else {
            inside += 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// Whoever waits takes the place.
    func leave() {
        guard !waiting.isEmpty else {
            inside -= 1
            return
        }
        waiting.removeFirst().resume()
    }
}
