import Delivery
import PushModel
import Store
import StoreConformance
import TestSupport
import Testing

/// The runner, the acceptor and the controller over SQLite, with a fault at each of their calls of the store: nothing
/// that was asked for is lost, nothing else is sent, what is sent again is the same push, and all books balance.
@Suite(.serialized, .heavy, .timeLimit(.minutes(30)))
struct StoreFaultTests {
    @Test(arguments: FaultyStore.Call.allCases, FaultyStore.Fault.allCases)
    func aFaultAtACallLosesNothing(call: FaultyStore.Call, fault: FaultyStore.Fault) async throws {
        for number in fault == .unknown ? [1, 2] : [1, 2, 4] {
            let day = try await FaultyDay(fault, at: call, number: number)
            try await day.run()
            try await day.check()
        }
    }
}
