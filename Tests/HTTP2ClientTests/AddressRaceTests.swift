import Testing

@testable import HTTP2Client

/// Which address is tried when.
struct AddressRaceTests {
    private func addresses(_ hosts: String...) throws -> [SocketAddress] {
        try hosts.map { host in
            try #require(try SocketAddress.resolve(host: host, port: 443, isLiteral: true).get().first)
        }
    }

    private func order(_ race: AddressRace) -> [String] { race.addresses.map(\.description) }

    @Test func familiesTakeTurnsAndTheSystemsFirstStaysFirst() throws {
        let found = try addresses("fd00::1", "fd00::2", "fd00::3", "10.0.0.1", "10.0.0.2")
        #expect(
            order(AddressRace(found, rotation: 0)) == [
                "[fd00::1]:443", "10.0.0.1:443", "[fd00::2]:443", "10.0.0.2:443", "[fd00::3]:443",
            ])
        let other = try addresses("10.0.0.1", "fd00::1")
        #expect(order(AddressRace(other, rotation: 0)) == ["10.0.0.1:443", "[fd00::1]:443"])
    }

    @Test func dialsSpreadWithinEachFamily() throws {
        let found = try addresses("fd00::1", "fd00::2", "10.0.0.1", "10.0.0.2", "10.0.0.3")
        let firsts = (0..<6).map { order(AddressRace(found, rotation: $0)).prefix(2) }
        #expect(firsts.map { $0[0] } == [1, 2, 1, 2, 1, 2].map { "[fd00::\($0)]:443" })
        #expect(firsts.map { $0[1] } == [1, 2, 3, 1, 2, 3].map { "10.0.0.\($0):443" })
    }

    @Test func anAddressIsTriedOnceAndNotTooManyAre() throws {
        let same = try addresses("10.0.0.1", "10.0.0.1")
        #expect(AddressRace(same, rotation: 1).addresses.count == 1)
        let many = try (0..<40).flatMap { try addresses("10.0.0.\($0)") }
        #expect(AddressRace(many, rotation: 39).addresses.count == AddressRace.limit)
        #expect(order(AddressRace(many, rotation: 39)).first == "10.0.0.39:443")
    }

    @Test func theNextBeginsAfterTheDelayAndTheFirstGoesOn() throws {
        let found = try addresses("fd00::1", "10.0.0.1")
        var race = AddressRace(found, rotation: 0)
        var actions = [race.start()]
        #expect(race.hasUntried)
        actions.append(race.delayPassed())
        #expect(!race.hasUntried)
        actions.append(race.delayPassed())
        // The first one was not given up: it may still win.
        actions.append(race.attemptConnected(0))
        actions.append(race.delayPassed())
        #expect(actions == [.attempt(0, found[0]), .attempt(1, found[1]), .wait, .take(0), .wait])
    }

    @Test func aFailureMakesRoomAtOnce() throws {
        let found = try addresses("fd00::1", "10.0.0.1", "10.0.0.2")
        var race = AddressRace(found, rotation: 0)
        var actions = [race.start(), race.attemptFailed(0), race.delayPassed(), race.attemptFailed(1)]
        #expect(actions == [.attempt(0, found[0]), .attempt(1, found[1]), .attempt(2, found[2]), .wait])
        actions = [race.attemptFailed(2)]
        #expect(actions == [.giveUp])
    }

    @Test func noAddressIsNoRace() {
        var race = AddressRace([], rotation: 3)
        let action = race.start()
        #expect(action == .giveUp)
    }

    /// Thousands of orders of events: no address twice, exactly one end, and no end while an attempt may still win.
    @Test(arguments: 0..<50) func whateverHappensOneEndComes(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        for _ in 0..<100 {
            let count = Int.random(in: 1...6, using: &random)
            let found = try (1...count).flatMap { number in
                try addresses(Bool.random(using: &random) ? "fd00::\(number)" : "10.0.0.\(number)")
            }
            var race = AddressRace(found, rotation: Int.random(in: 0..<100, using: &random))
            var open: Set<Int> = []
            var tried: [SocketAddress] = []
            var action = race.start()
            loop: while true {
                switch action {
                case .attempt(let number, let address):
                    open.insert(number)
                    tried.append(address)
                case .wait: break
                case .take(let number):
                    #expect(open.contains(number))
                    break loop
                case .giveUp:
                    #expect(open.isEmpty && tried.count == count)
                    break loop
                }
                let number = open.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<6, using: &random) {
                case 0: action = race.attemptConnected(number)
                case 1...3:
                    open.remove(number)
                    action = race.attemptFailed(number)
                default: action = race.delayPassed()
                }
            }
            #expect(Set(tried).count == tried.count)
        }
    }
}
