import PushModel
import Store
import Testing

/// What a store tells after its commits.
@Suite(.timeLimit(.minutes(1)))
struct StoreChangesTests {
    @Test func whatASlowReaderMissedIsOneChange() async {
        let source = ChangeSource()
        var changes = source.changes.makeAsyncIterator()
        for _ in 0..<1000 { source.post(.events) }
        source.post([.control, .work(.bulk)])
        #expect(await changes.next() == [.events, .control, .bulkWork])
    }

    @Test func everyReaderHasItsOwnFromItsBeginning() async {
        let source = ChangeSource()
        var first = source.changes.makeAsyncIterator()
        source.post(.keys)
        var second = source.changes.makeAsyncIterator()
        source.post(.events)
        #expect(await first.next() == [.keys, .events])
        #expect(await second.next() == .events)
    }

    @Test func aReaderThatWaitsIsWokenAndACancelledOneEnds() async {
        let source = ChangeSource()
        let changes = source.changes.makeAsyncIterator()
        let waiting = Task {
            var changes = changes
            return await changes.next()
        }
        source.post(.interactiveWork)
        #expect(await waiting.value == .interactiveWork)
        let cancelled = Task {
            var changes = changes
            return await changes.next()
        }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        // Another task goes on with it.
        var rest = changes
        source.post(.control)
        #expect(await rest.next() == .control)
    }

    @Test func aChangeOfNothingWakesNoReader() async {
        let source = ChangeSource()
        var changes = source.changes.makeAsyncIterator()
        source.post([])
        source.post(.events)
        #expect(await changes.next() == .events)
    }
}
