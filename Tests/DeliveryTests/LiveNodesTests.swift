import Store
import Synchronization
import Testing

@testable import Delivery

/// How many gateways share a store, as one of them knows it.
struct LiveNodesTests {
    @Test func whoSharesWithThemIsToldWhenTheirNumberChanges() {
        let nodes = LiveNodes()
        let told = Mutex<[Int]>([])
        nodes.onCountChange { count in told.withLock { $0.append(count) } }
        nodes.beginBesideOthers()
        #expect(nodes.shards == .all)
        for count in [1, 2, 2, 3, 1] {
            nodes.update(to: NodeStanding(count: count, place: count - 1, isFirst: false), asked: .now)
            #expect(nodes.count == count)
            #expect(nodes.shards == ShardShare(of: count, at: count - 1))
        }
        #expect(told.withLock { $0 } == [2, 3, 1])
    }
}
