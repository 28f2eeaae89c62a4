import Testing

@testable import HTTP2Client

/// Every event in every state that it can meet.
struct ConnectionStateTests {
    typealias Action = ConnectionState.Action

    /// The states by name, each reached by events.
    enum Stage: CaseIterable {
        case resolving, dialing, handshaking, awaitingSettings, warming, warmingBusy, warmingPinged, active, activeBusy
        case activePinged, draining, drainingPinged, closed

        /// Streams allowed: 10 by the peer, 8 by us.
        func make() -> ConnectionState {
            var state = ConnectionState(streamLimit: 8)
            guard self != .resolving else { return state }
            #expect(state.addressesResolved() == .dial)
            guard self != .dialing else { return state }
            #expect(state.socketConnected() == .handshake)
            guard self != .handshaking else { return state }
            #expect(state.handshakeCompleted() == .startSession)
            guard self != .awaitingSettings else { return state }
            #expect(state.settingsReceived(limit: 10) == .open)
            switch self {
            case .resolving, .dialing, .handshaking, .awaitingSettings, .warming: break
            case .warmingBusy: state.streamOpened()
            case .warmingPinged: #expect(state.silenceNoticed() == .sendPing)
            case .active: activate(&state)
            case .activeBusy:
                activate(&state)
                state.streamOpened()
                state.streamOpened()
            case .activePinged:
                activate(&state)
                #expect(state.silenceNoticed() == .sendPing)
            case .draining:
                activate(&state)
                state.streamOpened()
                #expect(state.goAwayReceived() == .drain)
            case .drainingPinged:
                activate(&state)
                state.streamOpened()
                #expect(state.silenceNoticed() == .sendPing)
                #expect(state.goAwayReceived() == .drain)
            case .closed: #expect(state.transportFailed() == .close(.failed))
            }
            return state
        }

        private func activate(_ state: inout ConnectionState) {
            state.streamOpened()
            #expect(state.streamClosed(.answered(isProven: true)) == .offerStreams)
        }
    }

    /// One row: the event's action in each stage, in the order of ``Stage``. `nil`: our own mistake, which traps.
    struct Row: Sendable {
        let name: String
        let event: @Sendable (inout ConnectionState) -> Action
        let actions: [Action?]
    }

    static let rows: [Row] = [
        Row(
            name: "addresses resolved", event: { $0.addressesResolved() },
            actions: [.dial, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, .nothing]),
        Row(
            name: "socket connected", event: { $0.socketConnected() },
            actions: [nil, .handshake, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil]),
        Row(
            name: "handshake completed", event: { $0.handshakeCompleted() },
            actions: [nil, nil, .startSession, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil]),
        Row(
            name: "connect deadline", event: { $0.connectDeadlinePassed() },
            actions: all(.close(.connectTimedOut), 4) + all(.nothing, 9)),
        Row(
            name: "SETTINGS, more", event: { $0.settingsReceived(limit: 20) },
            actions: all(nil, 3) + [.open] + all(.offerStreams, 6) + all(.nothing, 3)),
        Row(
            name: "SETTINGS, fewer", event: { $0.settingsReceived(limit: 1) },
            actions: all(nil, 3) + [.open] + all(.nothing, 9)),
        Row(
            name: "proven answer", event: { $0.streamClosed(.answered(isProven: true)) },
            actions: all(nil, 5) + [
                .offerStreams, nil, nil, .offerStreams, nil, .close(.drained), .close(.drained), nil,
            ]),
        Row(
            name: "answer that proves nothing", event: { $0.streamClosed(.answered(isProven: false)) },
            actions: all(nil, 5) + [
                .offerStreams, nil, nil, .offerStreams, nil, .close(.drained), .close(.drained), nil,
            ]),
        Row(
            name: "stream refused", event: { $0.streamClosed(.refused) },
            actions: all(nil, 5) + [
                .offerStreams, nil, nil, .offerStreams, nil, .close(.drained), .close(.drained), nil,
            ]),
        Row(
            name: "stream timed out", event: { $0.streamClosed(.timedOut) },
            actions: all(nil, 5) + [.close(.drained), nil, nil, .offerStreams, nil]
                + [.close(.drained), .close(.drained), nil]),
        Row(
            name: "warming deadline", event: { $0.warmingDeadlinePassed() },
            actions: all(.nothing, 5) + [.drain] + all(.nothing, 7)),
        Row(
            name: "GOAWAY", event: { $0.goAwayReceived() },
            actions: all(nil, 3) + [.close(.failed), .close(.drained), .drain, .close(.drained)]
                + [.close(.drained), .drain, .close(.drained)] + all(.nothing, 3)),
        Row(
            name: "retire", event: { $0.retire() },
            actions: all(.close(.drained), 4) + [.close(.drained), .drain, .close(.drained)]
                + [.close(.drained), .drain, .close(.drained)] + all(.nothing, 3)),
        Row(
            name: "drain deadline", event: { $0.drainDeadlinePassed() },
            actions: all(.nothing, 10) + [.close(.drainTimedOut), .close(.drainTimedOut), .nothing]),
        Row(
            name: "transport failed", event: { $0.transportFailed() },
            actions: all(.close(.failed), 12) + [.nothing]),
        Row(
            name: "shutdown deadline", event: { $0.shutdownDeadlinePassed() },
            actions: all(.close(.shutdown), 12) + [.nothing]),
        Row(
            name: "silence", event: { $0.silenceNoticed() },
            actions: all(.nothing, 4) + [.sendPing, .sendPing, .nothing, .sendPing, .sendPing] + all(.nothing, 4)),
        Row(
            name: "pong", event: { $0.pongReceived() },
            actions: all(.nothing, 4) + all(.offerStreams, 6) + all(.nothing, 3)),
        Row(
            name: "pong deadline", event: { $0.pongDeadlinePassed() },
            actions: all(.nothing, 6) + [.close(.pingTimedOut), .nothing, .nothing, .close(.pingTimedOut)]
                + [.nothing, .close(.pingTimedOut), .nothing]),
    ]

    private static func all(_ action: Action?, _ count: Int) -> [Action?] { Array(repeating: action, count: count) }

    @Test func everyEventInEveryStateHasItsAction() {
        for row in Self.rows {
            #expect(row.actions.count == Stage.allCases.count, "\(row.name)")
            for (stage, action) in zip(Stage.allCases, row.actions) {
                guard let action else { continue }
                var state = stage.make()
                #expect(row.event(&state) == action, "\(row.name) while \(stage)")
                if case .close = action { #expect(state.isClosed, "\(row.name) while \(stage)") }
                if action == .drain { #expect(state.isDraining && state.freeStreams == 0) }
            }
        }
    }

    @Test func noStreamIsFreeBeforeSettings() {
        for stage in [Stage.resolving, .dialing, .handshaking, .awaitingSettings, .draining, .closed] {
            #expect(stage.make().freeStreams == 0)
            #expect(stage.make().capacity == 0)
        }
    }

    @Test func oneStreamUntilTheFirstProvenAnswerThenTheSmallerLimit() {
        var state = Stage.warming.make()
        #expect(state.freeStreams == 1)
        state.streamOpened()
        #expect(state.freeStreams == 0)
        _ = state.streamClosed(.answered(isProven: false))
        #expect(state.freeStreams == 1)
        state.streamOpened()
        _ = state.streamClosed(.answered(isProven: true))
        #expect(state.freeStreams == 8)
        #expect(state.settingsReceived(limit: 3) == .nothing)
        #expect(state.freeStreams == 3)
    }

    @Test func lowerSettingsHoldAtOnceWhileStreamsAboveThemFinish() {
        var state = Stage.active.make()
        for _ in 0..<8 { state.streamOpened() }
        _ = state.settingsReceived(limit: 2)
        #expect(state.openStreams == 8)
        for _ in 0..<6 {
            #expect(state.freeStreams == 0)
            _ = state.streamClosed(.answered(isProven: true))
        }
        #expect(state.freeStreams == 0)
        _ = state.streamClosed(.answered(isProven: true))
        #expect(state.freeStreams == 1)
    }

    @Test func settingsOfZeroAllowNothing() {
        var state = Stage.warming.make()
        _ = state.settingsReceived(limit: 0)
        #expect(state.freeStreams == 0)
    }

    @Test func aConnectionThatIsAllowedNoFirstStreamIsGivenUp() {
        var state = Stage.warming.make()
        _ = state.settingsReceived(limit: 0)
        #expect(state.isKeptWaiting)
        #expect(state.warmingDeadlinePassed() == .close(.drained))
    }

    @Test func aLateFirstAnswerStillEndsItsStream() {
        var state = Stage.warmingBusy.make()
        #expect(state.isKeptWaiting)
        #expect(state.warmingDeadlinePassed() == .drain)
        #expect(!state.isKeptWaiting && state.freeStreams == 0)
        #expect(state.streamClosed(.answered(isProven: true)) == .close(.drained))
    }

    @Test func timeoutsInARowReplaceTheConnection() {
        var state = Stage.active.make()
        for _ in 0..<5 { state.streamOpened() }
        #expect(state.streamClosed(.timedOut) == .offerStreams)
        #expect(state.streamClosed(.timedOut) == .offerStreams)
        #expect(state.streamClosed(.timedOut) == .drain)
        #expect(state.openStreams == 2)
    }

    @Test func anAnswerForgivesTimeouts() {
        var state = Stage.active.make()
        for _ in 0..<6 { state.streamOpened() }
        for _ in 0..<2 { _ = state.streamClosed(.timedOut) }
        _ = state.streamClosed(.answered(isProven: true))
        #expect(state.streamClosed(.timedOut) == .offerStreams)
        #expect(state.streamClosed(.timedOut) == .offerStreams)
        #expect(state.streamClosed(.timedOut) == .close(.drained))
    }

    @Test func noNewStreamsWhileAPingIsOut() {
        var state = Stage.active.make()
        _ = state.silenceNoticed()
        #expect(state.freeStreams == 0)
        #expect(state.silenceNoticed() == .nothing, "one PING at a time")
        _ = state.pongReceived()
        #expect(state.freeStreams == 8)
    }

    @Test func theLastStreamOfADrainingConnectionClosesIt() {
        var state = Stage.activeBusy.make()
        #expect(state.goAwayReceived() == .drain)
        #expect(state.goAwayReceived() == .nothing, "the second GOAWAY of a graceful end")
        #expect(state.streamClosed(.answered(isProven: true)) == .nothing)
        #expect(state.streamClosed(.refused) == .close(.drained))
    }

    @Test(arguments: [1, 2, 3]) func randomEventsNeverOpenTooManyStreams(seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<200 {
            var state = Stage.warming.make()
            var (open, limit, isProven) = (0, 10, false)
            while !state.isClosed {
                let capacity = isProven ? min(limit, 8) : min(limit, 1)
                #expect(state.openStreams == open)
                if !state.isDraining { #expect(state.capacity == capacity) }
                #expect(state.freeStreams <= max(0, capacity - open))
                switch Int.random(in: 0..<100, using: &random) {
                case 0..<60 where state.freeStreams > 0:
                    state.streamOpened()
                    open += 1
                case 30..<85 where open > 0:
                    let proof = Bool.random(using: &random)
                    open -= 1
                    _ = state.streamClosed(.answered(isProven: proof))
                    isProven = isProven || proof
                case 85..<92:
                    limit = Int.random(in: 0..<20, using: &random)
                    _ = state.settingsReceived(limit: limit)
                case 92..<94: _ = state.silenceNoticed()
                case 94..<97: _ = state.pongReceived()
                case 97..<98: _ = state.goAwayReceived()
                case 98..<99: _ = state.transportFailed()
                default: break
                }
            }
            #expect(state.openStreams == 0)
        }
    }
}

/// A small random source that repeats.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
