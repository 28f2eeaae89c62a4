import Foundation
import Glibc
import Synchronization

/// `MSG_NOSIGNAL`, which is not imported in every build.
private let withoutSignal: Int32 = 0x4000

/// Stands between the engine and a server on this machine: hands bytes on, breaks connections in a way and at a moment
/// that the test chooses, or plays an HTTP proxy.
package final class TCPRelay: Sendable {
    /// How a connection breaks.
    package enum Fault: String, CaseIterable, Sendable {
        /// FIN, without a word of TLS.
        case finish
        /// RST.
        case reset
        /// Open, but nothing is handed on any more.
        case silence
    }

    /// What happens to a new connection.
    package enum Welcome: Sendable {
        /// Bytes are handed on.
        case forward
        /// It breaks when bytes from the client have come this often; 0: at once.
        case fault(Fault, afterReads: Int)
        /// The client's request head gets this answer. Then bytes are handed on, or the connection breaks.
        case proxy(answer: String, then: Fault?)
    }

    private struct State {
        var welcome: Welcome
        var next: [Welcome] = []
        var links: [Link] = []
        var heads: [String] = []
    }

    /// Shared with the threads, so that these don't keep the relay.
    private final class Board: Sendable {
        let state: Mutex<State>
        init(_ welcome: Welcome) { state = Mutex(State(welcome: welcome)) }
    }

    /// The port that it listens on.
    package let port: Int
    private let listener: Int32
    /// Holds the port in the other family, without a listener: a name with both must not lead to a stranger.
    private let closed: Int32
    private let board: Board

    /// Listens at once.
    ///
    /// - Parameters:
    ///   - target: the server's port on 127.0.0.1.
    ///   - loopback: where to listen.
    ///   - welcome: what happens to connections.
    package init(to target: Int, on loopback: Loopback = .v4, _ welcome: Welcome = .forward) throws {
        (listener, closed, port) = try loopback.listenAlone(backlog: 64)
        board = Board(welcome)
        let (listener, board) = (listener, board)
        let thread = Thread {
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { break }
                let (link, welcome) = board.state.withLock { state in
                    let link = Link(client: client, target: target)
                    state.links.append(link)
                    return (link, state.next.isEmpty ? state.welcome : state.next.removeFirst())
                }
                Thread { link.run(welcome) { head in board.state.withLock { $0.heads.append(head) } } }.start()
            }
            close(listener)
        }
        thread.start()
    }

    /// From now on, new connections are treated so.
    package func treatAll(_ welcome: Welcome) { board.state.withLock { $0.welcome = welcome } }

    /// The next connections are treated so, each in its turn.
    package func treatNext(_ welcomes: Welcome...) { board.state.withLock { $0.next += welcomes } }

    /// Breaks the connection that came first, and leaves the others as they are.
    package func inflictOnFirst(_ fault: Fault) { board.state.withLock({ $0.links.first })?.order(fault) }

    /// Breaks all connections that are open.
    package func inflict(_ fault: Fault) { for link in board.state.withLock({ $0.links }) { link.order(fault) } }

    /// How many connections came.
    package var accepted: Int { board.state.withLock { $0.links.count } }

    /// The request heads that came, when it plays a proxy.
    package var heads: [String] { board.state.withLock { $0.heads } }

    deinit {
        // Wakes the accepting thread.
        shutdown(listener, Int32(SHUT_RDWR))
        inflict(.reset)
        if closed >= 0 { close(closed) }
    }
}

/// One connection of a relay. All its sockets belong to the thread that runs it.
private final class Link: Sendable {
    private let client: Int32
    private let target: Int
    /// Orders come in at one end.
    private let orders: (inner: Int32, outer: Int32)

    init(client: Int32, target: Int) {
        self.client = client
        self.target = target
        var ends: [Int32] = [-1, -1]
        unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        orders = (ends[0], ends[1])
    }

    deinit {
        close(orders.inner)
        close(orders.outer)
    }

    private static func byte(of fault: TCPRelay.Fault) -> UInt8 {
        UInt8(TCPRelay.Fault.allCases.firstIndex(of: fault) ?? 0)
    }

    private static let silence = byte(of: .silence)

    /// Breaks the connection, if it is not over.
    func order(_ fault: TCPRelay.Fault) {
        let bytes = [Self.byte(of: fault)]
        unsafe send(orders.outer, bytes, 1, withoutSignal)
    }

    func run(_ welcome: TCPRelay.Welcome, note: (String) -> Void) {
        switch welcome {
        case .forward: forward()
        case .fault(let fault, afterReads: 0): end(by: fault)
        case .fault(let fault, let reads): forward(fault: fault, afterReads: reads)
        case .proxy(let answer, let fault):
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                let byte = read(client, 1)
                guard !byte.isEmpty else { break }
                head += byte
            }
            note(String(decoding: head, as: UTF8.self))
            write(client, Array(answer.utf8))
            if let fault { end(by: fault) } else { forward() }
        }
    }

    private func forward(fault: TCPRelay.Fault? = nil, afterReads limit: Int = .max) {
        let server = Loopback.v4.connect(to: target)
        var reads = 0
        while true {
            var entries = [client, server, orders.inner].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            unsafe poll(&entries, 3, -1)
            if entries[2].revents != 0 {
                let order = Int(read(orders.inner, 1).first ?? 0)
                close(server)
                return end(by: TCPRelay.Fault.allCases[order])
            }
            for (from, to) in [(0, 1), (1, 0)] where entries[from].revents != 0 {
                let bytes = read(entries[from].fd, 65_536)
                if from == 0 { reads += 1 }
                if let fault, reads >= limit {
                    close(server)
                    return end(by: fault)
                }
                guard !bytes.isEmpty, write(entries[to].fd, bytes) else {
                    close(server)
                    return end(by: .finish)
                }
            }
        }
    }

    private func end(by fault: TCPRelay.Fault) {
        switch fault {
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        case .finish:
            shutdown(client, Int32(SHUT_WR))
            // Closing with bytes unread would send RST.
            while !read(client, 65_536).isEmpty {}
        case .silence:
            while true {
                var entries = [client, orders.inner].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
                unsafe poll(&entries, 2, -1)
                // Another order may end the silence.
                if entries[1].revents != 0, let order = read(orders.inner, 1).first, order != Self.silence {
                    return end(by: TCPRelay.Fault.allCases[Int(order)])
                }
                if entries[0].revents != 0, read(client, 65_536).isEmpty { break }
            }
        }
        close(client)
    }

    /// Empty: it is over.
    private func read(_ descriptor: Int32, _ limit: Int) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = unsafe recv(descriptor, &buffer, limit, 0)
        return Array(buffer.prefix(max(0, count)))
    }

    @discardableResult
    private func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(descriptor, $0.baseAddress, $0.count, withoutSignal)
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// A listener that answers no SYN any more: its queue is full, and no connection is accepted.
package final class BlackHole: Sendable {
    /// The port that it listens on.
    package let port: Int
    /// Connections of our own that fill the queue.
    package static let fillers = 4
    private let descriptors: [Int32]

    /// Where it listens. No server of any test was ever there, so that no client of theirs still looks for it: a port
    /// of ``Loopback/v4`` may have been another server's a moment ago.
    package static let loopback = Loopback.v4Aside

    /// Listens, and fills its queue.
    package init() throws {
        let listener = try Self.loopback.listen(backlog: 0)
        port = try Loopback.port(of: listener)
        var descriptors = [listener, Self.loopback.connect(to: port)]
        while descriptors.count <= Self.fillers {
            descriptors.append(Self.loopback.connect(to: port, isBlocking: false))
        }
        self.descriptors = descriptors
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}

/// The addresses of this machine that only it sees.
package enum Loopback: String, Sendable {
    /// IPv4.
    case v4 = "127.0.0.1"
    /// IPv6.
    case v6 = "::1"
    /// IPv4 beside the address that all servers have.
    case v4Aside = "127.0.0.2"

    /// One of each family that works here: some machines have no IPv6.
    package static let available = [v4, v6].filter { loopback in
        guard let descriptor = try? loopback.listen(backlog: 1) else { return false }
        close(descriptor)
        return true
    }

    private var family: Int32 { self == .v6 ? AF_INET6 : AF_INET }

    /// The address of an IPv4 socket, in the order of the network.
    package var v4Address: UInt32 { unsafe inet_addr(rawValue) }

    /// A socket that listens on a free port.
    func listen(backlog: Int32) throws -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard bindTo(descriptor), Glibc.listen(descriptor, backlog) == 0 else {
            close(descriptor)
            throw SocketFailure(what: "no listener on \(rawValue): error \(errno)")
        }
        return descriptor
    }

    /// A socket that listens on a port, and one that holds the port in the other family, if there is one (else -1).
    func listenAlone(backlog: Int32) throws -> (listener: Int32, closed: Int32, port: Int) {
        let other: Loopback = self == .v4 ? .v6 : .v4
        for _ in 0..<20 {
            let listener = try listen(backlog: backlog)
            let port = try Self.port(of: listener)
            guard Self.available.contains(other) else { return (listener, -1, port) }
            let closed = socket(other.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            if other.bindTo(closed, port: port) { return (listener, closed, port) }
            close(closed)
            close(listener)
        }
        throw SocketFailure(what: "no port is free in both families")
    }

    private func bindTo(_ descriptor: Int32, port: Int = 0) -> Bool {
        switch self {
        case .v4, .v4Aside:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = v4Address
            address.sin_port = UInt16(port).bigEndian
            return Self.bind(descriptor, &address)
        case .v6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            address.sin6_port = UInt16(port).bigEndian
            return Self.bind(descriptor, &address)
        }
    }

    private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
    }

    /// A socket that is connected to `port`, or at least on its way.
    func connect(to port: Int, isBlocking: Bool = true) -> Int32 {
        var kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
        if !isBlocking { kind |= SOCK_NONBLOCK.rawValue }
        let descriptor = socket(AF_INET, Int32(kind), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = v4Address
        address.sin_port = UInt16(port).bigEndian
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }

    /// The port that a socket is bound to.
    static func port(of descriptor: Int32) throws -> Int {
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard code == 0 else { throw SocketFailure(what: "getsockname") }
        // Both kinds of address have the port in the same place.
        return Int(UInt16(bigEndian: storage.sin6_port))
    }
}

/// Why a test got no socket.
package struct SocketFailure: Error {
    /// The reason.
    package let what: String
}
