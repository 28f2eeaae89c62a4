import Logging

/// How a connection ends.
extension Connection {
    /// The pool shall not wait for it any more.
    func giveUp(_ failure: TransportFailure) {
        guard standing.giveUp() else { return }
        self.failure = failure
        logger.debug("given up", metadata: ["details": "\(failure.message)"])
        pool.connectionGivenUp(self, failure)
    }

    /// Once per connection: a graceful end brings two GOAWAYs (RFC 9113 §6.8).
    func tell(_ goAway: GoAway) {
        guard !state.isDraining else { return }
        logger.log(
            level: goAway.isError ? .info : .debug, "peer says goodbye",
            metadata: [
                "error": "\(goAway.error)", "reason": "\(goAway.reason ?? "")", "stream.last": "\(goAway.lastStream)",
                "streams": "\(state.openStreams)",
            ])
    }

    /// The pool wants it gone once its streams are done.
    ///
    /// - Parameter limit: when they must be done; `nil`: after the drain time limit.
    func retire(by limit: Instant?) {
        if let limit { drainDeadline = limit }
        perform(state.retire())
        arm()
    }

    /// When a connection that opens now has been in use for long enough. By chance, so that those that were opened
    /// together do not end together.
    func drawEndOfLife() -> Instant {
        let life = settings.configuration.connectionLifetime.wholeNanoseconds
        guard life < .max / 2 else { return Instant(nanoseconds: .max) }
        return loop.now.adding(
            nanoseconds: Int64.random(in: (life - life / 5)...(life + life / 5), using: &loop.random))
    }

    /// It has been in use for long enough: its streams end in their own time.
    func endLife() {
        guard pool.mayRetire(self) else {
            endOfLife = loop.now.adding(.seconds(60))
            return
        }
        logger.debug("in use for long enough", metadata: ["streams": "\(state.openStreams)"])
        retire(by: loop.now.adding(nanoseconds: max(settings.streamTimeout, settings.drainTimeout)))
    }

    /// The pool's closing took too long.
    func shutdownDeadlinePassed() {
        perform(state.shutdownDeadlinePassed())
    }

    /// Ends it: what is still open ends for this reason.
    func close(_ reason: ConnectionState.CloseReason) {
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
        dialer?.close()
        closedBytesSent = bytesSent
        transport = nil
        dialer = nil
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
