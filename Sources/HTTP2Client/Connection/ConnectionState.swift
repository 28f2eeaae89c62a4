/// What a connection may do, as a value: no I/O, no clock. The connection feeds it events and performs the actions that
/// come back.
///
/// - **connecting**: name lookup, TCP, TLS, the peer's SETTINGS. No stream may be opened.
/// - **warming**: SETTINGS came. One stream at a time: APNs allows one until it has seen a valid provider token, and a
///   burst on a new connection is refused. The first proven answer ends it.
/// - **active**: as many streams as the peer and our own limit allow, at every instant.
/// - **draining**: no new stream; closed when the last one is done, or when time is up.
/// - **closed**: final.
///
/// An event that cannot happen by our own doing traps; what the peer or the network does too late is ignored.
struct ConnectionState {
    /// Where the connection stands.
    fileprivate enum ConnectionPhase {
        /// Next: warming, closed.
        case connecting(Step)
        /// Next: active, draining, closed.
        case warming(Use)
        /// Next: draining, closed.
        case active(Use)
        /// Next: closed.
        case draining(Use)
        /// Next: nothing.
        case closed
    }

    /// How far connecting is.
    fileprivate enum Step {
        /// Waiting for addresses. Next: dialing.
        case resolving
        /// Waiting for TCP, through the proxy if there is one. Next: handshaking.
        case dialing
        /// Waiting for TLS. Next: awaiting SETTINGS.
        case handshaking
        /// Waiting for the peer's SETTINGS. Next: the connection is warming.
        case awaitingSettings
    }

    /// The streams of a connection that is open.
    fileprivate struct Use {
        /// What the peer's SETTINGS allow.
        var peerLimit: Int
        /// Streams open.
        var open = 0
        /// A PING is out: the connection is not trusted with new streams until it is answered.
        var awaitsPong = false
        /// Streams that timed out since the last answer.
        var timeoutsInARow = 0
    }

    /// What the connection has to do after an event.
    enum Action: Equatable {
        /// Nothing.
        case nothing
        /// Connect to one of the addresses.
        case dial
        /// Begin TLS.
        case handshake
        /// Begin HTTP/2.
        case startSession
        /// The connection stands: tell the pool.
        case open
        /// More streams may be opened than before: tell the pool.
        case offerStreams
        /// Send a PING and start its deadline.
        case sendPing
        /// Take no new streams; start the deadline for the open ones; tell the pool.
        case drain
        /// Close, and end what is still open for this reason.
        case close(CloseReason)
    }

    /// Why a connection is closed.
    enum CloseReason: Equatable {
        /// The last stream of a draining connection is done, or it was not needed any more.
        case drained
        /// The streams of a draining connection took too long.
        case drainTimedOut
        /// No SETTINGS in time.
        case connectTimedOut
        /// The peer does not answer a PING.
        case pingTimedOut
        /// The transport or the peer failed.
        case failed
        /// The pool's closing took too long.
        case shutdown
    }

    /// Timed-out streams in a row after which a connection is replaced.
    static let timeoutLimit = 3

    fileprivate var phase = ConnectionPhase.connecting(.resolving)
    private let streamLimit: Int

    /// A connection that begins with name lookup and never uses more than `streamLimit` streams.
    init(streamLimit: Int) {
        self.streamLimit = max(1, streamLimit)
    }

    // MARK: What holds now

    /// Streams that may be open at a time.
    var capacity: Int {
        switch phase {
        case .connecting, .draining, .closed: 0
        case .warming(let use): min(1, use.peerLimit)
        case .active(let use): min(use.peerLimit, streamLimit)
        }
    }

    /// Streams that may be opened now.
    var freeStreams: Int {
        switch phase {
        case .connecting, .draining, .closed: 0
        case .warming(let use), .active(let use): use.awaitsPong ? 0 : max(0, capacity - use.open)
        }
    }

    /// Streams that may be opened now for requests that are not urgent: some are kept for those that are.
    var freeNormalStreams: Int { max(0, freeStreams - Self.reserve(of: capacity)) }

    /// Streams that are kept for urgent requests, of `capacity`: one in sixteen, but no more than 16, so that a
    /// connection of 1,000 streams gives up 1.6 % of them. Where there are but a few, each is worth more in use.
    static func reserve(of capacity: Int) -> Int {
        capacity > 8 ? min(16, max(1, capacity / 16)) : 0
    }

    /// Streams that are open.
    var openStreams: Int {
        switch phase {
        case .connecting, .closed: 0
        case .warming(let use), .active(let use), .draining(let use): use.open
        }
    }

    var isConnecting: Bool {
        switch phase {
        case .connecting: true
        case .warming, .active, .draining, .closed: false
        }
    }

    var isWarming: Bool {
        switch phase {
        case .warming: true
        case .connecting, .active, .draining, .closed: false
        }
    }

    /// Whether it is waiting for a first answer that does not come: streams are open, or none is allowed.
    var isKeptWaiting: Bool {
        switch phase {
        case .warming(let use): use.open > 0 || use.peerLimit == 0
        case .connecting, .active, .draining, .closed: false
        }
    }

    /// Whether the peer has seen that we are accepted, and allows one stream or none all the same.
    var isNarrow: Bool {
        switch phase {
        case .active(let use): use.peerLimit <= 1
        case .connecting, .warming, .draining, .closed: false
        }
    }

    /// Whether it takes no new streams and does not count against the pool's connection limit.
    var isDraining: Bool {
        switch phase {
        case .draining: true
        case .connecting, .warming, .active, .closed: false
        }
    }

    var isClosed: Bool {
        switch phase {
        case .closed: true
        case .connecting, .warming, .active, .draining: false
        }
    }

    /// Whether a PING is out.
    var awaitsPong: Bool {
        switch phase {
        case .connecting, .closed: false
        case .warming(let use), .active(let use), .draining(let use): use.awaitsPong
        }
    }

    // MARK: Connecting

    /// Name lookup gave addresses.
    mutating func addressesResolved() -> Action {
        switch phase {
        case .connecting(.resolving):
            phase = .connecting(.dialing)
            return .dial
        case .closed: return .nothing  // the deadline passed during the lookup
        case .connecting, .warming, .active, .draining: impossible("addresses resolved")
        }
    }

    /// TCP stands, through the proxy if there is one.
    mutating func socketConnected() -> Action {
        switch phase {
        case .connecting(.dialing):
            phase = .connecting(.handshaking)
            return .handshake
        case .connecting, .warming, .active, .draining, .closed: impossible("socket connected")
        }
    }

    /// TLS stands, the certificate verified, ALPN gave h2.
    mutating func handshakeCompleted() -> Action {
        switch phase {
        case .connecting(.handshaking):
            phase = .connecting(.awaitingSettings)
            return .startSession
        case .connecting, .warming, .active, .draining, .closed: impossible("handshake completed")
        }
    }

    /// No SETTINGS in time.
    mutating func connectDeadlinePassed() -> Action {
        switch phase {
        case .connecting: close(.connectTimedOut)
        case .warming, .active, .draining, .closed: .nothing
        }
    }

    // MARK: Streams

    /// SETTINGS allow `limit` streams. A lower limit holds at once; streams open above it may finish.
    mutating func settingsReceived(limit: Int) -> Action {
        switch phase {
        case .connecting(.awaitingSettings):
            phase = .warming(Use(peerLimit: limit))
            return .open
        case .warming(var use):
            return use.change(limit) { phase = .warming($0) }
        case .active(var use):
            return use.change(limit) { phase = .active($0) }
        case .draining, .closed: return .nothing
        case .connecting: impossible("SETTINGS received")
        }
    }

    /// A stream is being opened.
    mutating func streamOpened() {
        precondition(freeStreams > 0, "no stream may be opened while \(self)")
        switch phase {
        case .warming(var use):
            use.open += 1
            phase = .warming(use)
        case .active(var use):
            use.open += 1
            phase = .active(use)
        case .connecting, .draining, .closed: impossible("stream opened")
        }
    }

    /// A stream is done. `isProven`: its answer shows that the peer accepts us.
    mutating func streamClosed(_ end: StreamEnd) -> Action {
        switch phase {
        case .warming(var use):
            use.close(end)
            switch end {
            case .answered(isProven: true):
                phase = .active(use)
                return .offerStreams
            case .timedOut:
                // A connection that never proved itself gets no second chance to hold a request for a whole time limit.
                phase = .warming(use)
                return drain()
            case .answered(isProven: false), .refused, .other:
                phase = .warming(use)
                return .offerStreams
            }
        case .active(var use):
            use.close(end)
            phase = .active(use)
            return use.timeoutsInARow >= Self.timeoutLimit ? drain() : .offerStreams
        case .draining(var use):
            use.close(end)
            phase = .draining(use)
            return use.open == 0 ? close(.drained) : .nothing
        case .connecting, .closed: impossible("stream closed")
        }
    }

    /// How a stream ended, as far as the connection is concerned.
    enum StreamEnd: Equatable {
        case answered(isProven: Bool)
        case refused
        case timedOut
        case other
    }

    /// The first answer took too long: no request waits for this connection any more. Its stream may finish.
    mutating func warmingDeadlinePassed() -> Action {
        switch phase {
        case .warming: isKeptWaiting ? drain() : .nothing
        case .connecting, .active, .draining, .closed: .nothing
        }
    }

    // MARK: The end

    /// GOAWAY came (RFC 9113 §6.8). The streams above its last id are closed by the session.
    mutating func goAwayReceived() -> Action {
        switch phase {
        case .connecting(.awaitingSettings): close(.failed)
        case .connecting: impossible("GOAWAY received")
        case .warming, .active: drain()
        case .draining, .closed: .nothing
        }
    }

    /// The pool wants a new connection instead, or none; or the stream ids are used up.
    mutating func retire() -> Action {
        switch phase {
        case .connecting: close(.drained)
        case .warming, .active: drain()
        case .draining, .closed: .nothing
        }
    }

    /// The open streams took too long after draining began.
    mutating func drainDeadlinePassed() -> Action {
        switch phase {
        case .draining: close(.drainTimedOut)
        case .connecting, .warming, .active, .closed: .nothing
        }
    }

    /// The transport broke, or the peer broke HTTP/2, or the session is over.
    mutating func transportFailed() -> Action {
        switch phase {
        case .draining(let use): close(use.open == 0 ? .drained : .failed)
        case .connecting, .warming, .active: close(.failed)
        case .closed: .nothing
        }
    }

    /// The pool's closing took too long.
    mutating func shutdownDeadlinePassed() -> Action {
        switch phase {
        case .connecting, .warming, .active, .draining: close(.shutdown)
        case .closed: .nothing
        }
    }

    // MARK: PING

    /// Nothing came from the peer for a while, and it is needed: it must answer a PING first.
    mutating func silenceNoticed() -> Action {
        switch phase {
        case .warming(var use):
            return use.ping { phase = .warming($0) }
        case .active(var use):
            return use.ping { phase = .active($0) }
        case .connecting, .draining, .closed: return .nothing
        }
    }

    /// The PING was answered.
    mutating func pongReceived() -> Action {
        switch phase {
        case .warming(var use):
            use.awaitsPong = false
            phase = .warming(use)
            return .offerStreams
        case .active(var use):
            use.awaitsPong = false
            phase = .active(use)
            return .offerStreams
        case .draining(var use):
            use.awaitsPong = false
            phase = .draining(use)
            return .nothing
        case .connecting, .closed: return .nothing
        }
    }

    /// The PING was not answered in time.
    mutating func pongDeadlinePassed() -> Action {
        switch phase {
        case .warming(let use), .active(let use), .draining(let use): use.awaitsPong ? close(.pingTimedOut) : .nothing
        case .connecting, .closed: .nothing
        }
    }

    // MARK: Transitions

    private mutating func drain() -> Action {
        switch phase {
        case .warming(let use), .active(let use):
            guard use.open > 0 else { return close(.drained) }
            phase = .draining(use)
            return .drain
        case .connecting, .draining, .closed: impossible("drain")
        }
    }

    private mutating func close(_ reason: CloseReason) -> Action {
        phase = .closed
        return .close(reason)
    }

    private func impossible(_ event: String) -> Never {
        preconditionFailure("\(event) while \(self)")
    }
}

extension ConnectionState.Use {
    fileprivate mutating func close(_ end: ConnectionState.StreamEnd) {
        precondition(open > 0, "a stream closed that was not open")
        open -= 1
        switch end {
        case .answered: timeoutsInARow = 0
        case .timedOut: timeoutsInARow += 1
        case .refused, .other: break
        }
    }

    fileprivate mutating func change(_ limit: Int, store: (Self) -> Void) -> ConnectionState.Action {
        let isMore = limit > peerLimit
        peerLimit = limit
        store(self)
        return isMore ? .offerStreams : .nothing
    }

    fileprivate mutating func ping(store: (Self) -> Void) -> ConnectionState.Action {
        guard !awaitsPong else { return .nothing }
        awaitsPong = true
        store(self)
        return .sendPing
    }
}

extension ConnectionState: CustomStringConvertible {
    /// The phase and the figures in it.
    var description: String {
        switch phase {
        case .connecting(let step): "connecting(\(step))"
        case .warming(let use): "warming(\(use.open) of \(capacity))"
        case .active(let use): "active(\(use.open) of \(capacity))"
        case .draining(let use): "draining(\(use.open))"
        case .closed: "closed"
        }
    }
}
