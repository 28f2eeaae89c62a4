package import Testing

/// Lets two tests at a time run that keep the machine busy by themselves: whole gateways that are killed and restarted,
/// hundreds of lives over a database. Tests beside them wait for deadlines of seconds.
package struct HeavyTests: SuiteTrait, TestTrait, TestScoping {
    /// Suites pass it on to their tests.
    package var isRecursive: Bool { true }

    /// The test function as a whole, before its cases take their places among those that run at the same time: while it waits,
    /// others run. Suites with such tests are serialized, so that the cases of one come one after the other.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        test.isSuite || testCase != nil ? nil : self
    }

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

    /// The next test that waits takes the place.
    func leave() {
        guard !waiting.isEmpty else {
            inside -= 1
            return
        }
        waiting.removeFirst().resume()
    }
}
