/// Requests and the streams they are on.
extension Connection {
    /// Opens a stream for the request; `false`: it can't, and the ticket stays with the caller.
    func open(_ ticket: Ticket) -> Bool {
        guard let session, admits(ticket, to: session) else { return false }
        do throws(TransportFailure) {
            guard let slot = try submit(ticket, to: session) else {
                perform(state.retire())
                return false
            }
            state.streamOpened()
            wasUsed = true
            var ticket = ticket
            ticket.openedAt = loop.now
            if tickets.count <= slot { tickets.append(ticket) } else { tickets[slot] = ticket }
            streamDeadlines.append(slot: slot, deadline: loop.now.adding(nanoseconds: settings.streamTimeout))
            if state.isWarming { restartWarming() }
            if state.openStreams == 1 { arm() }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    /// Whether the peer's window for the whole connection has room for the request's body behind those that wait for it.
    /// A connection without streams takes one request in any case: an answer may be what opens the window.
    private func admits(_ ticket: Ticket, to session: HTTP2Session) -> Bool {
        guard state.openStreams > 0 else { return true }
        let isUrgent = ticket.request.isUrgent
        let free = session.freeWindowBytes
        guard ticket.request.body.count + (isUrgent ? 0 : Self.urgentWindowBytes) > free else { return true }
        if isUrgent { fullWindow.urgent = true } else { fullWindow.normal = true }
        fullWindow.freeBytes = free
        return false
    }

    /// The peer's window for the whole connection may have room again.
    func noteWindow(of session: HTTP2Session) {
        guard fullWindow.urgent || fullWindow.normal else { return }
        guard session.freeWindowBytes > fullWindow.freeBytes || state.openStreams == 0 else { return }
        fullWindow = FullWindow()
        pool.touch()
    }

    /// What is kept of the peer's window for urgent requests: the largest body of one (APNs takes 4,096 bytes, RFC 9113
    /// gives 65,535 to begin with).
    private static let urgentWindowBytes = 4096

    private func submit(_ ticket: Ticket, to session: HTTP2Session) throws(TransportFailure) -> Int? {
        var id: Int32 = 0
        // The batch's array is not touched by anybody while the pointer is in use: it never changes.
        let slot = unsafe ticket.batch.requestBatch.requests.withUnsafeBufferPointer { requests in
            unsafe session.submit(requests.baseAddress! + ticket.index, with: pool.commonFields, &id)
        }
        if let slot { return slot }
        return try session.refuse(id)
    }

    /// A stream closed: ends its request by what came.
    func settle(_ closed: HTTP2Session.Closed, _ session: HTTP2Session) {
        let stream = session.take(closed.slot)
        let ticket = tickets[closed.slot]
        if ticket != nil {
            tickets[closed.slot] = nil
            streamDeadlines.remove(slot: closed.slot)
        }
        if stream.isAnswered {
            if let ticket { answer(ticket, stream) }
            perform(state.streamClosed(.answered(isProven: noteProof(stream))))
            return noteServerError(stream.status == 500)
        }
        guard let ticket else {
            if state.isWarming { giveUp(TransportFailure(.timedOut, "the first request got no answer")) }
            return perform(state.streamClosed(.timedOut))
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

    /// Whether an answer shows that the peer accepts us; the first one that does is told to the pool.
    private func noteProof(_ stream: HTTP2Session.Stream) -> Bool {
        let isProof = settings.configuration.provesConnection(stream.status)
        if isProof, standing.prove() { pool.connectionProved() }
        return isProof
    }

    /// Replaces the connection when it answers nothing but 500: what is wrong may be wrong with this one alone.
    private func noteServerError(_ isServerError: Bool) {
        serverErrors = isServerError ? serverErrors + 1 : 0
        if !isServerError { pool.answersWell(self) }
        guard serverErrors >= settings.configuration.serverErrorLimit, !state.isDraining, !state.isClosed,
            pool.mayReplaceAfterServerErrors()
        else { return }
        retire(by: nil)
    }

    private func answer(_ ticket: Ticket, _ stream: HTTP2Session.Stream) {
        pool.end(ticket, .answered(Response(status: stream.status, headers: stream.headers, body: stream.answer)))
    }

    /// Ends a request whose stream is not closed, because the connection is or its time is up.
    ///
    /// The answer can be complete even so: the peer may send it before it has the whole body (RFC 9113 §8.1). Without
    /// one it is `notSent` only if the frame that ends the request provably never left: a request without its end is none
    /// that the peer may act on.
    func end(_ ticket: Ticket, _ stream: HTTP2Session.Stream, _ failure: TransportFailure) {
        if stream.isAnswered {
            _ = noteProof(stream)
            return answer(ticket, stream)
        }
        let hasLeft = stream.endStart.map { $0 < attempted } ?? false
        pool.end(ticket, hasLeft ? .unanswered(failure) : .notSent(failure))
    }

    /// Ends the requests whose time is up, and resets their streams.
    func expireStreams() {
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
}
