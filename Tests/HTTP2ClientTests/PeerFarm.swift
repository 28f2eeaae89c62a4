import Foundation
import Glibc
import Synchronization
import TestSupport

@testable import HTTP2Client

/// Several scripted peers behind one port: the first connection goes to the first of them, and so on. Connections
/// beyond the last peer are closed as soon as they are accepted.
final class PeerFarm: Sendable {
    let port: Int
    let tls: TLSMaterial
    /// In order of the connections.
    let peers: [ScriptedPeer]
    private let front: Front

    init(_ count: Int) async throws {
        let tls = try TLSMaterial()
        self.tls = tls
        var peers: [ScriptedPeer] = []
        for _ in 0..<count { peers.append(try await ScriptedPeer(tls: tls)) }
        self.peers = peers
        front = try Front(to: peers.map(\.port))
        port = front.port
    }

    /// Connections that were closed at once.
    var turnedAway: Int { front.turnedAway.withLock { $0 } }

    // The accepting thread holds the front: end it.
    deinit { front.stop() }
}

/// Accepts connections and passes their bytes on to one port after the other.
private final class Front: Sendable {
    let port: Int
    let turnedAway = Mutex(0)
    private let listener: Int32

    init(to ports: [Int]) throws {
        (listener, port) = try listenOnAnyPort()
        let thread = Thread { [self] in accept(to: ports[...]) }
        thread.start()
    }

    private func accept(to ports: ArraySlice<Int>) {
        var ports = ports
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            guard let port = ports.popFirst(), let peer = connectToLoopback(port: port) else {
                turnedAway.withLock { $0 += 1 }
                close(client)
                continue
            }
            let link = Link(client, peer)
            Thread { link.pass(from: client, to: peer) }.start()
            Thread { link.pass(from: peer, to: client) }.start()
        }
        close(listener)
    }

    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
}

/// Two sockets, closed when both directions are done.
private final class Link: Sendable {
    private let ends: (Int32, Int32)

    init(_ one: Int32, _ other: Int32) { ends = (one, other) }

    func pass(from source: Int32, to target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        passing: while true {
            let count = unsafe read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            var sent = 0
            while sent < count {
                let part = unsafe buffer.withUnsafeBytes {
                    unsafe send(target, $0.baseAddress! + sent, count - sent, Socket.withoutSignal)
                }
                guard part > 0 else { break passing }
                sent += part
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }

    deinit {
        close(ends.0)
        close(ends.1)
    }
}
