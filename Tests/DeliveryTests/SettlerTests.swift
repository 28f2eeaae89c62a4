import Testing

@testable import Delivery

/// What results wait for before they are recorded.
struct SettlerTests {
    @Test(arguments: [
        (1, 3, 20_000, true), (1, 2, 20_000, false), (500, 20_000, 20_000, true), (999, 20_000, 20_000, true),
        (1000, 20_000, 20_000, false), (61, 1000, 1000, true), (62, 1000, 1000, false),
    ])
    func resultsOfPagesWaitWhileTheyAreFewAndTakeLittleRoom(count: Int, inFlight: Int, room: Int, waits: Bool) {
        #expect(Settler.waits(withPages: count, inFlight: inFlight, room: room) == waits)
    }
}
