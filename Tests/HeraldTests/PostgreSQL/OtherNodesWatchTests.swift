import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import herald

/// What a gateway does about the commits of others, which a test makes up.
@Suite(.timeLimit(.minutes(5)))
struct OtherNodesWatchTests {
    /// Other gateways that record something all the time.
    private final class OtherNodes: NodeStore {
        private struct State {
            var recorded: [MessageID: RecordedEnd] = [:]
            var questions: [[MessageID]] = []
        }

        private let state = Mutex(State())
        private let heard = AutoResetEvent()

        var questions: [[MessageID]] { state.withLock { $0.questions } }

        /// Another gateway records an end, and says that it did.
        func record(_ end: RecordedEnd, of message: MessageID) {
            state.withLock { $0.recorded[message] = end }
            heard.raise()
        }

        func enter(_ name: String, version: String, address: String?) async throws(StoreError) -> Int64 { 1 }
        func beat(_ number: Int64, address: String?, isLeaving: Bool) async throws(StoreError) -> NodeStanding {
            NodeStanding(count: 2, place: 0, isFirst: true)
        }
        func leave(_ number: Int64) async throws(StoreError) {}
        func nodes() async throws(StoreError) -> [StoreNode] { [] }
        func tellOthers() async {}
        func otherCommit(atMost limit: Duration) async { await heard.wait(atMost: limit, on: ContinuousClock()) }
        func catchUp() async throws(StoreError) -> StoreChange { [.interactiveWork, .bulkWork, .nodes] }
        func ends(of messages: [MessageID]) async throws(StoreError) -> [MessageID: RecordedEnd] {
            state.withLock { state in
                state.questions.append(messages)
                return state.recorded.filter { messages.contains($0.key) }
            }
        }
        func providerToken(of key: ProviderKeyName) async throws(StoreError) -> SealedProviderToken? { nil }
        func keep(
            _ token: SealedProviderToken, of key: ProviderKeyName, replacing former: SealedProviderToken?
        ) async throws(StoreError) -> SealedProviderToken { token }
        func time() async throws(StoreError) -> Timestamp { Timestamp(milliseconds: 0) }
    }

    @Test func callersGetWhatAnotherNodeRecorded() async throws {
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: quiet)
        let limits = DeliveryLimits()
        let runner = DeliveryRunner(
            store: store, sender: PushSwitch([:]), composer: PlatformComposer(), projects: ProjectDirectory([]),
            limits: limits, refusals: RefusalCatalog(merging: []), admission: Admission(in: store, limits: limits),
            clock: ContinuousClock(), wallTime: { Timestamp(milliseconds: 0) }, random: { 0 }, logger: quiet)
        let others = OtherNodes()
        let messages = (1...3).map { MessageID(acceptedAt: Timestamp(milliseconds: 1000), random: $0) }
        for message in messages { #expect(runner.waiters.enter(message)) }
        others.record(RecordedEnd(outcome: .rejected, reason: "Unregistered"), of: messages[0])
        others.record(RecordedEnd(outcome: .accepted, reason: nil), of: messages[1])
        let departure = NodeHeartbeat.Departure()
        let watch = OtherNodesWatch(store: others, runner: runner, departure: departure, logger: quiet)
        let watching = Task { await watch.run() }
        // That others came or went is a reason for a heartbeat now.
        await departure.changed.wait(atMost: .longerThanAnyTest, on: ContinuousClock())
        #expect(!departure.hasBegun)
        async let first = runner.end(of: messages[0], atMost: .longerThanAnyTest)
        async let second = runner.end(of: messages[1], atMost: .longerThanAnyTest)
        #expect(await first == DeliveryEnd(outcome: .rejected, reason: "Unregistered"))
        #expect(await second == DeliveryEnd(outcome: .accepted, reason: nil))
        // Both in one question, with the third, which has not ended.
        let question = try #require(others.questions.first)
        #expect(Set(question) == Set(messages))
        watching.cancel()
        await watching.value
        try store.close()
    }
}
