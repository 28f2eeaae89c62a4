import Logging

/// One connection of a pool: performs what ``ConnectionState`` decides, on a ``Transport`` and an ``HTTP2Session``.
///
/// Loop-confined: every method runs on the loop's thread. Ends by ``close(_:)``, after which it does nothing.
final class Connection: StreamSource {
    let id: ConnectionID
    /// Both let go of the connection when it is closed.
    let loop: EventLoop
    let pool: PoolCore
    let settings: PoolSettings
    let logger: Logger

    var state: ConnectionState
    /// Until TLS stands; then there is a transport.
    var dialer: Dialer?
    var transport: (any Wire)?
    var session: HTTP2Session?
    /// Plain bytes that TLS has not taken yet.
    var output = OutputBuffer()
    /// How many of the session's bytes TLS was given, taken or not: what lies beyond has provably never left.
    var attempted: UInt64 = 0
    private var written: UInt64 = 0
    /// TLS could not take everything: no new streams, nothing more out of the session, until it can.
    var isBlocked = false

    /// The last request of a kind did not fit into the peer's window for the whole connection: no new streams for it until
    /// the window grows.
    struct FullWindow {
        var urgent = false
        var normal = false
        /// What was free then.
        var freeBytes = 0
    }

    var fullWindow = FullWindow()

    /// The requests on the streams, by slot. `nil`: free, or ended before its stream closed (its time was up).
    var tickets: [Ticket?] = []
    var streamDeadlines = StreamDeadlines()
    private var closedStreams: [HTTP2Session.Closed] = []

    private var alarm = Alarm()
    private let connectDeadline: Instant
    /// When the first answer should have come, while warming.
    private var warmingDeadline = Instant(nanoseconds: .max)
    private var pongDeadline = Instant(nanoseconds: .max)
    var drainDeadline: Instant?
    private var lastReceived: Instant

    /// Why it failed, for the state's next `close`.
    var failure: TransportFailure?
    /// What its end will say about the peer.
    var standing = ConnectionStanding.unproven
    /// When it began.
    let dialedAt: Instant
    /// When the peer's SETTINGS came.
    private(set) var openedAt: Instant?
    /// When it has been in use for long enough; drawn by chance when SETTINGS come.
    var endOfLife = Instant(nanoseconds: .max)
    /// Since when the pool has found it held at one stream or none; `nil`: it is not.
    var narrowSince: Instant?
    /// A PING that is not answered by then makes the connection one of which nothing is expected.
    private var doubtfulUntil = Instant(nanoseconds: .max)
    /// A stream was opened on it.
    var wasUsed = false
    /// Answers with status 500 since the last other one.
    var serverErrors = 0
    /// Whether the loop has it on its list for this turn.
    var isUnflushed = false
    var closedBytesSent: Int64 = 0
    /// Which address to begin with.
    private var rotation = 0
    private var addresses: [SocketAddress] = []

    init(id: ConnectionID, pool: PoolCore, loop: EventLoop) {
        self.id = id
        self.loop = loop
        self.pool = pool
        settings = pool.settings
        state = ConnectionState(streamLimit: settings.configuration.streamLimit)
        dialedAt = loop.now
        connectDeadline = loop.now.adding(nanoseconds: settings.connectTimeout)
        dialer = Dialer(id: id, epoll: loop.epoll, settings: settings)
        lastReceived = loop.now
        var logger = loop.logger
        logger[metadataKey: "connection.id"] = "\(id.value)"
        self.logger = logger
    }

    // MARK: What the pool sees

    /// Streams that may be opened now.
    var freeStreams: Int { isBlocked || fullWindow.urgent ? 0 : state.freeStreams }
    /// The same for requests that are not urgent.
    var freeNormalStreams: Int { isBlocked || fullWindow.normal ? 0 : state.freeNormalStreams }
    var openStreams: Int { state.openStreams }
    /// An answer showed that the peer accepts us.
    var isProven: Bool { standing.isProven }
    var capacity: Int { state.capacity }
    /// Bytes given to the socket, TLS included.
    var bytesSent: Int64 { transport?.bytesSent ?? dialer?.bytesSent ?? closedBytesSent }
    var isConnecting: Bool { state.isConnecting }
    var isWarming: Bool { state.isWarming }
    var awaitsPong: Bool { state.awaitsPong }
    var isDraining: Bool { state.isDraining }
    var isNarrow: Bool { state.isNarrow }
    /// The peer has let a PING wait.
    var isSilent: Bool { state.awaitsPong && doubtfulUntil <= loop.now }
    /// It has lived long enough to end the row of failed dials before it.
    var hasLasted: Bool { openedAt.map { loop.now.elapsed(since: $0) >= settings.lastingTime } ?? false }
    /// It stood ready for a while and was not needed: a peer that closes such a connection has not refused anything.
    var isUnneeded: Bool {
        guard !wasUsed, let openedAt else { return false }
        return loop.now.elapsed(since: openedAt) >= settings.warmingTimeout
    }

    // MARK: Dialing

    /// Begins with the name. A lookup can block for seconds, so it has threads of its own.
    func start(rotation: Int) {
        self.rotation = rotation
        arm()
        let (host, port) = settings.hop
        logger.debug("dialing", metadata: ["host": "\(host)", "port": "\(port)"])
        if SocketAddress.isAddress(host) {
            return resolved(SocketAddress.resolve(host: host, port: port, isLiteral: true))
        }
        let (mailbox, id) = (loop.mailbox, id)
        loop.lookups.addresses(of: host, port: port, by: loop.now.adding(nanoseconds: settings.connectTimeout)) {
            // The loop may have ended meanwhile; then nothing waits for the answer.
            _ = mailbox.post(.resolved(id, $0))
        }
    }

    /// Name lookup is done.
    func resolved(_ result: Result<[SocketAddress], TransportFailure>) {
        guard !state.isClosed else { return }
        switch result {
        case .success(let found):
            addresses = found
            perform(state.addressesResolved())
        case .failure(let failure): fail(failure)
        }
    }

    private func dial() {
        guard let dialer else { return }
        proceed(dialer.dial(addresses, rotation: rotation, now: loop.now))
        addresses = []
    }

    private func advance() {
        guard let dialer else { return }
        proceed(dialer.advance(now: loop.now))
    }

    private func proceed(_ progress: DialProgress) {
        switch progress {
        case .pending: arm()
        case .connected: perform(state.socketConnected())
        case .established(let transport):
            self.transport = transport
            dialer = nil
            if transport.isResumed { pool.sessionResumed() }
            perform(state.handshakeCompleted())
        case .failed(let failure): fail(failure)
        }
    }

    private func startSession() {
        do throws(TransportFailure) {
            session = try HTTP2Session(
                authority: settings.authority, answerLimitBytes: settings.configuration.responseLimitBytes,
                keptFields: settings.configuration.responseFields,
                sampledFields: settings.configuration.sampledFields,
                slotLimit: max(1, settings.configuration.streamLimit))
            push(all: true)
            // The peer's SETTINGS may lie in TLS's buffer already, where epoll does not see them.
            read()
        } catch {
            fail(error)
        }
    }

    // MARK: Bytes

    /// The socket is ready.
    func socketReady(isReadable: Bool, isWritable: Bool) {
        guard !state.isClosed else { return }
        guard session != nil else { return advance() }
        if isReadable {
            transport?.noteReadable()
            read()
        }
        if isWritable || isBlocked { loop.flushLater(self) }
    }

    /// Reads until nothing is left: what OpenSSL holds back in its buffer, epoll would not report.
    private func read() {
        var end: TransportFailure?
        reading: while let transport, let session, !state.isClosed {
            switch unsafe transport.read(into: loop.readBuffer) {
            case .done(let count):
                lastReceived = loop.now
                do throws(TransportFailure) {
                    try unsafe session.receive(UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count]))
                } catch {
                    end = error
                    break reading
                }
            case .wantsRead, .wantsWrite: break reading
            case .ended:
                end = TransportFailure(.connectionLost, "the peer closed the connection")
                break reading
            case .failed(let failure):
                end = failure
                break reading
            }
        }
        // What came before the end counts.
        digest()
        if let end, !state.isClosed { fail(end) }
        if !state.isClosed { loop.flushLater(self) }
    }

    /// Sends what the session has to say; unless `all`, only full records.
    func push(all: Bool) {
        guard let session, let transport, !state.isClosed else { return }
        do throws(TransportFailure) {
            if !isBlocked {
                try session.produce(into: &output)
                digest()
            }
            while !state.isClosed, output.count >= (all || isBlocked ? 1 : OutputBuffer.recordBytes) {
                attempted = max(attempted, written + UInt64(min(output.count, OutputBuffer.recordBytes)))
                switch transport.write(output) {
                case .done(let count):
                    output.consume(count)
                    written += UInt64(count)
                case .wantsRead, .wantsWrite:
                    isBlocked = true
                    return try transport.awaitRoom(true)
                case .ended: return writeFailed(TransportFailure(.connectionLost, "the peer closed the connection"))
                case .failed(let failure): return writeFailed(failure)
                }
            }
            if isBlocked, !state.isClosed {
                isBlocked = false
                try transport.awaitRoom(false)
                loop.flushLater(self)
                pool.touch()
            }
        } catch {
            fail(error)
        }
    }

    /// Ends the connection after a failed write. What the peer sent before it closed counts: answers, a GOAWAY that says
    /// what it did not process, a TLS alert that says why (a TLS 1.3 server judges the client's certificate when the
    /// client writes already, RFC 8446 §4.4).
    private func writeFailed(_ failure: TransportFailure) {
        transport?.noteReadable()
        read()
        if !state.isClosed { fail(failure) }
    }

    /// Acts on what the session noted.
    private func digest() {
        guard let session else { return }
        let events = session.takeEvents()
        if let limit = events.streamLimit {
            perform(state.settingsReceived(limit: limit))
            if state.isKeptWaiting, state.openStreams == 0 {
                restartWarming()
                arm()
            }
        }
        if let goAway = events.goAway {
            tell(goAway)
            pool.goAwayReceived(goAway, by: self)
            failure = TransportFailure(.connectionLost, goAway.description)
            perform(state.goAwayReceived())
        }
        if events.pong { perform(state.pongReceived()) }
        while session.hasClosedStreams, !state.isClosed {
            session.swapClosed(&closedStreams)
            for closed in closedStreams { settle(closed, session) }
            closedStreams.removeAll(keepingCapacity: true)
        }
        noteWindow(of: session)
        if session.isOver, !state.isClosed {
            let violation = session.violation.map { TransportFailure(.protocolError, $0) }
            fail(violation ?? failure ?? TransportFailure(.connectionLost, "the peer ended the session"))
        }
    }

    // MARK: Time

    /// A deadline may have passed.
    func wake(at time: Instant) {
        guard !state.isClosed, alarm.fires(at: time) else { return }
        if state.isConnecting {
            checkDial()
        } else {
            expireStreams()
            checkSilence()
            // Another one may be dialed now.
            if isSilent { pool.touch() }
            if state.isKeptWaiting, warmingDeadline <= loop.now { warmingTooLong() }
            if endOfLife <= loop.now, !state.isDraining, !state.isClosed { endLife() }
            if state.isDraining, let drainDeadline, drainDeadline <= loop.now { perform(state.drainDeadlinePassed()) }
        }
        arm()
    }

    private func checkDial() {
        guard connectDeadline <= loop.now else {
            guard let dialer else { return }
            return proceed(dialer.delayPassed(now: loop.now))
        }
        let step = dialer?.step ?? "waiting for the peer's SETTINGS"
        let before = dialer?.failuresSoFar.map { " (before: \($0))" } ?? ""
        failure = TransportFailure(.connectFailed, "\(settings.target): not connected in time, \(step)\(before)")
        perform(state.connectDeadlinePassed())
    }

    /// The first answer is due from now on.
    func restartWarming() {
        warmingDeadline = loop.now.adding(nanoseconds: settings.warmingTimeout)
    }

    /// The first answer is not waited for any more. It still counts when it comes.
    private func warmingTooLong() {
        let limit = settings.configuration.warmingTimeout
        giveUp(TransportFailure(.timedOut, "the first request on a new connection got no answer in \(limit)"))
        if let last = streamDeadlines.first {
            drainDeadline = max(last.deadline, loop.now.adding(nanoseconds: settings.drainTimeout))
        }
        perform(state.warmingDeadlinePassed())
    }

    /// Before new streams, and while answers are outstanding: after a long silence the peer must answer a PING.
    func checkSilence() {
        if state.awaitsPong {
            guard pongDeadline <= loop.now else { return }
            failure = TransportFailure(.connectionLost, "no answer to a PING")
            perform(state.pongDeadlinePassed())
        } else if loop.now.elapsed(since: lastReceived) >= settings.pingInterval {
            perform(state.silenceNoticed())
        }
    }

    func arm() {
        guard !state.isClosed else { return }
        var next = Instant(nanoseconds: .max)
        if state.isConnecting {
            next = min(connectDeadline, dialer?.nextAttempt ?? connectDeadline)
        } else {
            if let first = streamDeadlines.first { next = first.deadline }
            if state.isKeptWaiting { next = min(next, warmingDeadline) }
            if state.awaitsPong {
                next = min(next, doubtfulUntil > loop.now ? doubtfulUntil : pongDeadline)
            } else if state.openStreams > 0, !state.isDraining {
                next = min(next, lastReceived.adding(nanoseconds: settings.pingInterval))
            }
            next = min(next, state.isDraining ? drainDeadline ?? next : endOfLife)
        }
        if next.nanoseconds < .max, alarm.needsEntry(at: next) { loop.add(next, owner: .connection(id)) }
    }

    private func sendPing() {
        do throws(TransportFailure) {
            try session?.submitPing()
            pongDeadline = loop.now.adding(nanoseconds: settings.pingTimeout)
            doubtfulUntil = loop.now.adding(nanoseconds: min(settings.doubtTime, settings.pingTimeout))
            loop.flushLater(self)
            arm()
        } catch {
            fail(error)
        }
    }

    // MARK: What the state decides

    func fail(_ failure: TransportFailure) {
        self.failure = failure
        perform(state.transportFailed())
    }

    func perform(_ action: ConnectionState.Action) {
        switch action {
        case .nothing: break
        case .dial: dial()
        case .handshake: advance()
        case .startSession: startSession()
        case .open:
            logger.debug("connected", metadata: ["streams": "\(state.capacity)"])
            failure = nil
            openedAt = loop.now
            endOfLife = drawEndOfLife()
            restartWarming()
            arm()
            pool.connectionOpened()
        case .offerStreams: pool.touch()
        case .sendPing: sendPing()
        case .drain:
            drainDeadline = drainDeadline ?? loop.now.adding(nanoseconds: settings.drainTimeout)
            arm()
            pool.touch()
        case .close(let reason): close(reason)
        }
    }
}
