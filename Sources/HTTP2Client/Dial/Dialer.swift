/// Makes the transport of one connection: addresses → TCP (``AddressRace``) → the proxy's tunnel, if there is a proxy →
/// TLS.
///
/// Loop-confined. Its owner calls ``close()``, unless a transport was handed over. When a step fails, the dialer
/// is spent.
final class Dialer {
    private enum DialPhase {
        /// Waiting for addresses. Next: racing, over.
        case idle
        /// Waiting for TCP. Next: tunnelling, connected, over.
        case racing(AddressRace, [Int: WatchedSocket])
        /// Waiting for the proxy's answer. Next: connected, over.
        case tunnelling(ProxyTunnel, WatchedSocket)
        /// Next: handshaking, over.
        case connected(WatchedSocket)
        /// Waiting for TLS. Next: over.
        case handshaking(Transport)
        /// Next: nothing.
        case over
    }

    private let id: ConnectionID
    private let epoll: Epoll
    private let settings: PoolSettings
    private var phase = DialPhase.idle
    /// Why attempts of the race failed.
    private var failures: [TransportFailure] = []
    /// When ``delayPassed(now:)`` is due.
    private(set) var nextAttempt: Instant?
    private var finalBytesSent: Int64 = 0

    init(id: ConnectionID, epoll: Epoll, settings: PoolSettings) {
        self.id = id
        self.epoll = epoll
        self.settings = settings
    }

    /// What is being waited for, for messages.
    var step: String {
        switch phase {
        case .idle: "looking up \(settings.hop.host)"
        case .racing: "connecting to \(settings.hop.host)"
        case .tunnelling(let tunnel, _): "waiting for the answer of \(tunnel.place)"
        case .connected, .handshaking: "in the TLS handshake"
        case .over: "waiting for the peer's SETTINGS"
        }
    }

    /// Why attempts failed so far, when others are still under way.
    var failuresSoFar: String? {
        failures.isEmpty ? nil : failures.map(\.message).joined(separator: "; ")
    }

    /// Bytes given to the socket so far, TLS included, the proxy's own left out.
    var bytesSent: Int64 {
        if case .handshaking(let transport) = phase { transport.bytesSent } else { finalBytesSent }
    }

    // MARK: Events

    /// The race begins, among the addresses that may be dialed.
    func dial(_ found: [SocketAddress], rotation: Int, now: Instant) -> DialProgress {
        let policy = settings.configuration.proxy == nil ? settings.configuration.addresses : .any
        let addresses = found.filter(policy.allows)
        if let refused = found.first, addresses.isEmpty {
            failures.append(
                TransportFailure(.connectFailed, "\(settings.target): the address \(refused) is not of the Internet"))
            return giveUp()
        }
        var race = AddressRace(addresses, rotation: rotation)
        let action = race.start()
        return perform(action, race, [:], now)
    }

    /// The newest attempt of the race has been under way for the whole delay.
    func delayPassed(now: Instant) -> DialProgress {
        guard let nextAttempt, nextAttempt <= now, case .racing(var race, let sockets) = phase else { return .pending }
        self.nextAttempt = nil
        let action = race.delayPassed()
        return perform(action, race, sockets, now)
    }

    /// A socket was reported ready, or ``DialProgress/connected`` was taken note of.
    func advance(now: Instant) -> DialProgress {
        do throws(TransportFailure) {
            switch phase {
            case .racing(let race, let sockets): return look(race, sockets, now)
            case .tunnelling(let tunnel, let socket): return try advance(tunnel, socket)
            case .connected(let socket):
                let transport = try Transport(
                    over: socket, context: settings.tls.context(), serverName: settings.serverName)
                phase = .handshaking(transport)
                return try advance(transport)
            case .handshaking(let transport): return try advance(transport)
            case .idle, .over: return .pending
            }
        } catch {
            close()
            return .failed(error)
        }
    }

    /// Closes what is open. Idempotent.
    func close() {
        switch phase {
        case .racing(_, let sockets): for socket in sockets.values { socket.close() }
        case .tunnelling(_, let socket), .connected(let socket): socket.close()
        case .handshaking(let transport):
            transport.close()
            finalBytesSent = transport.bytesSent
        case .idle, .over: break
        }
        nextAttempt = nil
        phase = .over
    }

    // MARK: The race

    /// Asks each socket of the race how it stands; the event does not say which of them it is for.
    private func look(_ race: AddressRace, _ sockets: [Int: WatchedSocket], _ now: Instant) -> DialProgress {
        for (number, socket) in sockets.sorted(by: { $0.key < $1.key }) {
            guard case .racing(var race, var sockets) = phase else { return .pending }
            let progress: DialProgress
            do throws(TransportFailure) {
                guard try socket.isConnected() else { continue }
                progress = perform(race.attemptConnected(number), race, sockets, now)
            } catch {
                failures.append(error)
                socket.close()
                sockets[number] = nil
                let action = race.attemptFailed(number)
                progress = perform(action, race, sockets, now)
            }
            if case .pending = progress { continue }
            return progress
        }
        return .pending
    }

    private func perform(
        _ first: AddressRace.RaceAction, _ race: AddressRace, _ sockets: [Int: WatchedSocket], _ now: Instant
    ) -> DialProgress {
        var (action, race, sockets) = (first, race, sockets)
        while true {
            switch action {
            case .wait:
                phase = .racing(race, sockets)
                return .pending
            case .attempt(let number, let address):
                do throws(TransportFailure) {
                    sockets[number] = try WatchedSocket(
                        to: address, id: id, epoll: epoll, unacknowledgedLimit: settings.unacknowledgedLimit)
                    nextAttempt = race.hasUntried ? now.adding(nanoseconds: settings.attemptDelay) : nil
                    action = .wait
                } catch {
                    failures.append(error)
                    action = race.attemptFailed(number)
                }
            case .take(let number): return take(number, of: sockets, now)
            case .giveUp: return giveUp()
            }
        }
    }

    private func take(_ number: Int, of sockets: [Int: WatchedSocket], _ now: Instant) -> DialProgress {
        for (other, socket) in sockets where other != number { socket.close() }
        guard let winner = sockets[number] else { preconditionFailure("attempt \(number) has no socket") }
        nextAttempt = nil
        failures = []
        guard let proxy = settings.configuration.proxy else {
            phase = .connected(winner)
            return .connected
        }
        phase = .tunnelling(ProxyTunnel(proxy: proxy, target: settings.target), winner)
        return advance(now: now)
    }

    private func giveUp() -> DialProgress {
        close()
        let place = settings.configuration.proxy.map { "proxy \($0)" } ?? settings.target
        let details = failuresSoFar ?? "no address"
        // An endpoint that is an address is named once.
        return .failed(
            TransportFailure(.connectFailed, details.hasPrefix("\(place): ") ? details : "\(place): \(details)"))
    }

    // MARK: Tunnel and TLS

    private func advance(_ tunnel: ProxyTunnel, _ socket: WatchedSocket) throws(TransportFailure) -> DialProgress {
        var tunnel = tunnel
        do throws(TransportFailure) {
            if !tunnel.unsent.isEmpty {
                tunnel.sent(try socket.socket.send(tunnel.unsent))
                phase = .tunnelling(tunnel, socket)
                try socket.watch(tunnel.unsent.isEmpty ? .readable : [.readable, .writable])
            }
            guard let bytes = try socket.socket.receive(limit: ProxyTunnel.headLimitBytes) else { return .pending }
            guard !bytes.isEmpty else { throw tunnel.ended() }
            let progress = tunnel.received(bytes)
            phase = .tunnelling(tunnel, socket)
            switch progress {
            case .pending: return .pending
            case .open:
                phase = .connected(socket)
                return .connected
            case .failed(let failure): throw failure
            }
        } catch {
            guard !error.message.hasPrefix(tunnel.place) else { throw error }
            throw TransportFailure(error.kind, "\(tunnel.place): \(error.message)")
        }
    }

    private func advance(_ transport: Transport) throws(TransportFailure) -> DialProgress {
        guard try transport.handshake() else { return .pending }
        phase = .over
        return .established(transport)
    }
}
