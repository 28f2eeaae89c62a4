import Logging

/// One connection of a pool: performs what ``ConnectionState`` decides, on a ``Transport`` and an ``HTTP2Session``.
///
/// Loop-confined: every method runs on the loop's thread. Ends by ``close(_:)``, after which it does nothing.
final class Connection {
    let id: ConnectionID
    /// Both let go of the connection when it is closed.
    private let loop: EventLoop
    private let pool: PoolCore
    private let settings: PoolSettings
    private let logger: Logger

    private var state: ConnectionState
    private var transport: Transport?
    private var session: HTTP2Session?
    private var addresses: ArraySlice<SocketAddress> = []
    /// Plain bytes that TLS has not taken yet.
    private var output = OutputBuffer()
    /// How many of the session's bytes TLS was given, taken or not: what lies beyond has provably never left.
    private var attempted: UInt64 = 0
    private var written: UInt64 = 0
    /// TLS could not take everything: no new streams, nothing more out of the session, until it can.
    private var isBlocked = false

    /// The requests on the streams, by slot. `nil`: free, or ended before its stream closed (its time was up).
    private var tickets: [Ticket?] = []
    private var streamDeadlines = StreamDeadlines()
    private var closedStreams: [HTTP2Session.Closed] = []

    private var alarm = Alarm()
    private let connectDeadline: Instant
    private var attemptDeadline: Instant
    private var pongDeadline = Instant(nanoseconds: .max)
    private var drainDeadline: Instant?
    private var lastReceived: Instant

    /// Why it failed, for the state's next `close`.
    private var failure: TransportFailure?
    /// An answer showed that the peer accepts us.
    private(set) var isProven = false
    /// Whether the loop has it on its list for this turn.
    var isUnflushed = false
    private var closedBytesSent: Int64 = 0
    /// Which address to begin with.
    private var rotation = 0

    init(id: ConnectionID, pool: PoolCore, loop: EventLoop) {
        self.id = id
        self.loop = loop
        self.pool = pool
        settings = pool.settings
        state = ConnectionState(streamLimit: settings.configuration.streamLimit)
        connectDeadline = loop.now.adding(nanoseconds: settings.connectTimeout)
        attemptDeadline = connectDeadline
        lastReceived = loop.now
        var logger = loop.logger
        logger[metadataKey: "connection.id"] = "\(id.value)"
        self.logger = logger
    }

    // MARK: What the pool sees

    /// Streams that may be opened now.
    var freeStreams: Int { isBlocked ? 0 : state.freeStreams }
    var openStreams: Int { state.openStreams }
    var capacity: Int { state.capacity }
    /// Bytes given to the socket of the last address, TLS included.
    var bytesSent: Int64 { transport?.bytesSent ?? closedBytesSent }
    var isBecomingUsable: Bool { state.isBecomingUsable }
    var isConnecting: Bool { state.isConnecting }
    var isDraining: Bool { state.isDraining }

    // MARK: Dialing

    /// Begins with the name. A lookup can block for seconds, so it has a thread of its own.
    func start(rotation: Int) {
        self.rotation = rotation
        arm()
        let host = settings.configuration.host
        let port = settings.configuration.port
        logger.debug("dialing", metadata: ["host": "\(host)", "port": "\(port)"])
        if SocketAddress.isAddress(host) {
            return resolved(SocketAddress.resolve(host: host, port: port, isLiteral: true))
        }
        let (mailbox, id) = (loop.mailbox, id)
        do throws(TransportFailure) {
            try startThread(named: "h2-resolver") {
                // The loop may have ended meanwhile; then nobody waits for the answer.
                _ = mailbox.post(.resolved(id, SocketAddress.resolve(host: host, port: port, isLiteral: false)))
            }
        } catch {
            fail(error)
        }
    }

    /// Name lookup is done.
    func resolved(_ result: Result<[SocketAddress], TransportFailure>) {
        guard !state.isClosed else { return }
        switch result {
        case .success(let found):
            // Each dial begins with another address, so that the connections spread.
            let first = rotation % found.count
            addresses = (found[first...] + found[..<first])[...]
            perform(state.addressesResolved(found.count))
        case .failure(let failure): fail(failure)
        }
    }

    private func dialNext() {
        guard let address = addresses.popFirst() else {
            preconditionFailure("the state counts the addresses: one is left when it says dial")
        }
        transport?.close()
        let left = max(0, connectDeadline.elapsed(since: loop.now))
        attemptDeadline = loop.now.adding(nanoseconds: left / Int64(addresses.count + 1))
        arm()
        do throws(TransportFailure) {
            transport = try Transport(
                to: address, id: id, epoll: loop.epoll, unacknowledgedLimit: settings.unacknowledgedLimit)
        } catch {
            failure = error
            perform(state.addressFailed())
        }
    }

    private func advance() {
        guard let transport else { return }
        switch transport.advance(context: settings.tls, serverName: settings.serverName) {
        case .pending: break
        case .connected: perform(state.socketConnected())
        case .established: perform(state.handshakeCompleted())
        case .addressFailed(let failure):
            self.failure = failure
            perform(state.addressFailed())
        case .failed(let failure): fail(failure)
        }
    }

    private func startSession() {
        do throws(TransportFailure) {
            session = try HTTP2Session(
                authority: settings.authority, answerLimitBytes: settings.configuration.responseLimitBytes,
                keptFields: settings.configuration.responseFields, slotLimit: max(1, settings.configuration.streamLimit)
            )
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
                case .ended: return fail(TransportFailure(.connectionLost, "the peer closed the connection"))
                case .failed(let failure): return fail(failure)
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

    /// Acts on what the session noted.
    private func digest() {
        guard let session else { return }
        let events = session.takeEvents()
        if let limit = events.streamLimit { perform(state.settingsReceived(limit: limit)) }
        if let goAway = events.goAway {
            logger.debug("peer says goodbye", metadata: ["details": "\(goAway)"])
            pool.goAwayReceived()
            failure = TransportFailure(.connectionLost, goAway)
            perform(state.goAwayReceived())
        }
        if events.pong { perform(state.pongReceived()) }
        while session.hasClosedStreams, !state.isClosed {
            session.swapClosed(&closedStreams)
            for closed in closedStreams { settle(closed, session) }
            closedStreams.removeAll(keepingCapacity: true)
        }
        if session.isOver, !state.isClosed {
            let violation = session.violation.map { TransportFailure(.protocolError, $0) }
            fail(violation ?? failure ?? TransportFailure(.connectionLost, "the peer ended the session"))
        }
    }

    // MARK: Streams

    /// Opens a stream for the request; `false`: it can't, and the ticket stays with the caller.
    func open(_ ticket: Ticket) -> Bool {
        guard let session else { return false }
        do throws(TransportFailure) {
            guard let slot = try submit(ticket, to: session) else {
                perform(state.retire())
                return false
            }
            state.streamOpened()
            if tickets.count <= slot { tickets.append(ticket) } else { tickets[slot] = ticket }
            streamDeadlines.append(slot: slot, deadline: loop.now.adding(nanoseconds: settings.streamTimeout))
            if state.openStreams == 1 { arm() }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    private func submit(_ ticket: Ticket, to session: HTTP2Session) throws(TransportFailure) -> Int? {
        var id: Int32 = 0
        // The submission's array is not touched by anybody while the pointer is in use: it never changes.
        let slot = unsafe ticket.batch.submission.requests.withUnsafeBufferPointer { requests in
            unsafe session.submit(requests.baseAddress! + ticket.index, &id)
        }
        if let slot { return slot }
        return try session.refuse(id)
    }

    private func settle(_ closed: HTTP2Session.Closed, _ session: HTTP2Session) {
        let stream = session.take(closed.slot)
        guard let ticket = tickets[closed.slot] else {
            return perform(state.streamClosed(.timedOut))
        }
        tickets[closed.slot] = nil
        streamDeadlines.remove(slot: closed.slot)
        if stream.isAnswered {
            let isProof = settings.configuration.provesConnection(stream.status)
            isProven = isProven || isProof
            if isProof { pool.connectionProved() }
            let response = Response(status: stream.status, headers: stream.headers, body: stream.answer)
            pool.end(ticket, .answered(response))
            return perform(state.streamClosed(.answered(isProven: isProof)))
        }
        let name = session.errorName(closed.code)
        if closed.code == HTTP2Session.refusedStream, stream.status == 0 {
            let text = state.isDraining ? failure?.message ?? name : name
            pool.end(ticket, .notSent(TransportFailure(.refused, text)))
            return perform(state.streamClosed(.refused))
        }
        end(ticket, stream, TransportFailure(.reset, "the stream was reset: \(name)"))
        perform(state.streamClosed(.other))
    }

    /// Ends a request without an answer: `notSent` only if its HEADERS provably never left.
    private func end(_ ticket: Ticket, _ stream: HTTP2Session.Stream, _ failure: TransportFailure) {
        let hasLeft = stream.headersStart.map { $0 < attempted } ?? false
        pool.end(ticket, hasLeft ? .unanswered(failure) : .notSent(failure))
    }

    /// Ends the requests whose time is up, and resets their streams.
    private func expireStreams() {
        guard let session else { return }
        do throws(TransportFailure) {
            while let (slot, deadline) = streamDeadlines.first, deadline <= loop.now {
                streamDeadlines.remove(slot: slot)
                guard let ticket = tickets[slot] else { preconditionFailure("a stream with a deadline has a ticket") }
                tickets[slot] = nil
                end(ticket, session.stream(slot), TransportFailure(.timedOut, "no answer in time"))
                try session.cancel(slot)
                loop.flushLater(self)
            }
        } catch {
            fail(error)
        }
    }

    // MARK: Time

    /// A deadline may have passed.
    func wake(at time: Instant) {
        guard !state.isClosed, alarm.fires(at: time) else { return }
        if state.isConnecting {
            connectingTooLong()
        } else {
            expireStreams()
            checkSilence()
            if state.isDraining, let drainDeadline, drainDeadline <= loop.now { perform(state.drainDeadlinePassed()) }
        }
        arm()
    }

    private func connectingTooLong() {
        let place = "\(settings.configuration.host):\(settings.configuration.port)"
        if connectDeadline <= loop.now {
            let last = failure.map { " (before: \($0.message))" } ?? ""
            failure = TransportFailure(.connectFailed, "\(place): not connected in time\(last)")
            perform(state.connectDeadlinePassed())
        } else if attemptDeadline <= loop.now, session == nil, transport?.isConnecting == true {
            failure = TransportFailure(.connectFailed, "\(place): an address did not answer in time")
            perform(state.addressFailed())
        }
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

    private func arm() {
        guard !state.isClosed else { return }
        var next = Instant(nanoseconds: .max)
        if state.isConnecting {
            let isDialing = session == nil && attemptDeadline > loop.now
            next = isDialing ? min(connectDeadline, attemptDeadline) : connectDeadline
        } else {
            if let first = streamDeadlines.first { next = first.deadline }
            if state.awaitsPong {
                next = min(next, pongDeadline)
            } else if state.openStreams > 0, !state.isDraining {
                next = min(next, lastReceived.adding(nanoseconds: settings.pingInterval))
            }
            if state.isDraining, let drainDeadline { next = min(next, drainDeadline) }
        }
        if next.nanoseconds < .max, alarm.needsEntry(at: next) { loop.add(next, owner: .connection(id)) }
    }

    // MARK: The end

    /// The pool wants it gone once its streams are done.
    ///
    /// - Parameter limit: when they must be done; `nil`: after the drain time limit.
    func retire(by limit: Instant?) {
        if let limit { drainDeadline = limit }
        perform(state.retire())
        arm()
    }

    /// The pool's closing took too long.
    func shutdownDeadlinePassed() {
        perform(state.shutdownDeadlinePassed())
    }

    private func fail(_ failure: TransportFailure) {
        self.failure = failure
        perform(state.transportFailed())
    }

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .nothing: break
        case .dial: dialNext()
        case .handshake: advance()
        case .startSession: startSession()
        case .open:
            logger.debug("connected", metadata: ["streams": "\(state.capacity)"])
            failure = nil
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

    private func sendPing() {
        do throws(TransportFailure) {
            try session?.submitPing()
            pongDeadline = loop.now.adding(nanoseconds: settings.pingTimeout)
            loop.flushLater(self)
            arm()
        } catch {
            fail(error)
        }
    }

    private func close(_ reason: ConnectionState.CloseReason) {
        let failure = self.failure(for: reason)
        logger.debug("closed", metadata: ["reason": "\(reason)", "details": "\(failure.message)"])
        if let session {
            for (slot, ticket) in tickets.enumerated() {
                guard let ticket else { continue }
                end(ticket, session.stream(slot), failure)
            }
            if reason != .failed { sayGoodbye(session) }
        }
        tickets = []
        transport?.close()
        closedBytesSent = transport?.bytesSent ?? 0
        transport = nil
        session = nil
        loop.remove(self)
        pool.connectionClosed(self, reason: reason, failure: reason == .drained ? self.failure : failure)
    }

    /// GOAWAY as far as the socket takes it at once.
    private func sayGoodbye(_ session: HTTP2Session) {
        guard !isBlocked, let transport else { return }
        do throws(TransportFailure) {
            try session.submitGoAway()
            try session.produce(into: &output)
            while output.count > 0, case .done(let count) = transport.write(output) { output.consume(count) }
        } catch {
            // The connection ends either way; the farewell is a courtesy.
        }
    }

    private func failure(for reason: ConnectionState.CloseReason) -> TransportFailure {
        switch reason {
        case .drained: failure ?? TransportFailure(.connectionLost, "not needed any more")
        case .drainTimedOut:
            TransportFailure(.connectionLost, "not done in time after: \(failure?.message ?? "draining")")
        case .shutdown: TransportFailure(.shutdown, "the pool is closing")
        case .connectTimedOut, .pingTimedOut, .failed:
            failure ?? TransportFailure(.connectionLost, "the connection failed")
        }
    }
}
