import Store
import Synchronization
import Testing

@testable import Delivery

/// How many gateways share a store, as one of them knows it.
struct LiveNodesTests {
    @Test func whoSharesWithThemIsToldWhenTheirNumberOrItsPlaceChanges() {
        let nodes = LiveNodes()
        let told = Mutex<[Int]>([])
        nodes.onChange { count in told.withLock { $0.append(count) } }
        nodes.beginBesideOthers()
        #expect(nodes.shards == .all)
        for (count, place) in [(1, 0), (2, 1), (2, 1), (3, 2), (3, 1), (3, 1), (1, 0)] {
            nodes.update(to: NodeStanding(count: count, place: place, isFirst: false), asked: .now)
            #expect(nodes.count == count)
            #expect(nodes.shards == ShardShare(of: count, at: place))
        }
        #expect(told.withLock { $0 } == [2, 3, 3, 1])
    }
}
