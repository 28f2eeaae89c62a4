import Foundation
import Glibc
import Synchronization

/// `MSG_NOSIGNAL`, which is not imported in every build.
private let withoutSignal: Int32 = 0x4000

/// Stands between a client and the server, on a Unix socket of its own or a port of 127.0.0.1, and spoils what passes.
package final class WireProxy: Sendable {
    /// What becomes of a connection.
    package enum Plan: Sendable {
        /// Everything passes.
        case pass
        /// It ends after so many bytes to the client.
        case cutAnswers(after: Int)
        /// It ends after so many bytes to the server.
        case cutRequests(after: Int)
        /// A byte to the client is changed.
        case garble(at: Int, mask: UInt8)
        /// It ends when COMMIT comes, which the server gets or does not get.
        case loseCommit(isForwarded: Bool)
        /// After so many bytes to the client nothing passes, and nothing ends.
        case silence(after: Int)
    }

    private struct State {
        var connections = 0
        var descriptors: Set<Int32> = []
        var isClosed = false
    }

    /// Its host for libpq: the directory of its socket, or an address.
    package let host: String
    /// Its port, or the number in the name of its socket.
    package let port: Int
    private let server: Address
    private let plan: @Sendable (Int) -> Plan
    private let listener: Int32
    private let state = Mutex(State())
    private let threads = DispatchGroup()
    private let directory: TestDirectory

    /// Listens.
    ///
    /// - Parameters:
    ///   - hasTCP: whether it is reached by TCP and reaches the server so: libpq has TLS over TCP only.
    ///   - plan: what becomes of a connection, by its number from 0 on.
    package init(to server: PostgreSQLServer, hasTCP: Bool = false, plan: @escaping @Sendable (Int) -> Plan) throws {
        directory = try TestDirectory()
        self.plan = plan
        if hasTCP {
            self.server = .port(server.port)
            (listener, port) = try Address.port(0).listen()
            host = "127.0.0.1"
        } else {
            self.server = .path("\(server.socketDirectory)/.s.PGSQL.\(server.port)")
            host = directory.path
            // Short enough: the name of a socket has at most 107 bytes.
            listener = try Address.path("\(directory.path)/.s.PGSQL.5432").listen().descriptor
            port = 5432
        }
        start { proxy in proxy.accept() }
    }

    /// Ends everything.
    package func close() {
        let open = state.withLock { state in
            state.isClosed = true
            return state.descriptors
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        threads.wait()
        Glibc.close(listener)
    }

    /// Connections so far.
    package var connections: Int { state.withLock { $0.connections } }

    private func start(_ body: @escaping @Sendable (WireProxy) -> Void) {
        threads.enter()
        Thread { [self] in
            body(self)
            threads.leave()
        }.start()
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { return }
            let upstream = server.makeSocket()
            let isConnected = server.with { unsafe connect(upstream, $0, $1) } == 0
            let number: Int? = state.withLock { state in
                guard isConnected, !state.isClosed else { return nil }
                state.descriptors.formUnion([client, upstream])
                state.connections += 1
                return state.connections - 1
            }
            guard let number else {
                Glibc.close(client)
                Glibc.close(upstream)
                continue
            }
            start { proxy in proxy.serve(client, upstream, proxy.plan(number)) }
        }
    }

    /// One connection: its two directions, then its end.
    private func serve(_ client: Int32, _ upstream: Int32, _ plan: Plan) {
        let answers = DispatchGroup()
        let isCommitting = Shared(false)
        answers.enter()
        Thread { [self] in
            forwardAnswers(from: upstream, to: client, plan, isCommitting)
            answers.leave()
        }.start()
        forwardRequests(from: client, to: upstream, plan, isCommitting)
        answers.wait()
        state.withLock { $0.descriptors.subtract([client, upstream]) }
        Glibc.close(client)
        Glibc.close(upstream)
    }

    private func forwardRequests(
        from client: Int32, to upstream: Int32, _ plan: Plan, _ isCommitting: Shared<Bool>
    ) {
        var passed = 0
        var commits = CommitSearch()
        while let bytes = Self.read(client) {
            if case .cutRequests(let limit) = plan, passed + bytes.count > limit {
                Self.write(bytes.prefix(max(0, limit - passed)), to: upstream)
                break
            }
            if case .loseCommit(let isForwarded) = plan, commits.isCommit(bytes) {
                guard isForwarded else { break }
                isCommitting.withLock { $0 = true }
            }
            Self.write(bytes[...], to: upstream)
            passed += bytes.count
        }
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(upstream, Int32(SHUT_RDWR))
    }

    private func forwardAnswers(
        from upstream: Int32, to client: Int32, _ plan: Plan, _ isCommitting: Shared<Bool>
    ) {
        var passed = 0
        while var bytes = Self.read(upstream) {
            // The answer to COMMIT: it is done.
            if isCommitting.withLock({ $0 }) { break }
            switch plan {
            case .cutAnswers(let limit) where passed + bytes.count > limit:
                Self.write(bytes.prefix(max(0, limit - passed)), to: client)
                shutdown(client, Int32(SHUT_RDWR))
                shutdown(upstream, Int32(SHUT_RDWR))
                return
            case .garble(let place, let mask) where (passed..<passed + bytes.count).contains(place):
                bytes[place - passed] ^= mask
            case .silence(let limit) where passed >= limit:
                continue
            case .pass, .cutAnswers, .cutRequests, .garble, .loseCommit, .silence: break
            }
            passed += bytes.count
            Self.write(bytes[...], to: client)
        }
        shutdown(client, Int32(SHUT_RDWR))
    }

    /// Finds COMMIT in what a client sends: its text, or the prepared statement that was made of it
    /// (postgresql.org/docs/15/protocol-message-formats.html).
    private struct CommitSearch {
        private static let text = Array("COMMIT".utf8) + [0]
        /// What a Bind of the prepared statement has: the end of the portal's name, which is empty, and that of the statement.
        private var bound: [UInt8]?

        mutating func isCommit(_ bytes: [UInt8]) -> Bool {
            // With its end: "READ COMMITTED" is none.
            if let range = bytes.firstRange(of: Self.text) {
                // A Parse has a name before the text, behind its length, which is no letter; or none.
                let name = bytes[..<range.lowerBound].dropLast().reversed().prefix { $0 > 32 }.reversed()
                guard !name.isEmpty else { return true }
                bound = [0] + name + [0]
            }
            return bound.map { bytes.firstRange(of: $0) != nil } ?? false
        }
    }

    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer.prefix(count)) : nil
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(descriptor, $0.baseAddress, $0.count, withoutSignal)
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// Where a socket listens.
private enum Address {
    case path(String)
    /// Of 127.0.0.1.
    case port(Int)

    func makeSocket() -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        return switch self {
        case .path: socket(AF_UNIX, kind, 0)
        case .port: socket(AF_INET, kind, 0)
        }
    }

    /// A socket that listens, and its port.
    func listen() throws -> (descriptor: Int32, port: Int) {
        let descriptor = makeSocket()
        guard with({ unsafe bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, 16) == 0 else {
            throw ChildProcessError("no proxy: error \(errno)")
        }
        var bound = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutablePointer(to: &bound) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return (descriptor, Int(UInt16(bigEndian: bound.sin_port)))
    }

    @safe func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        switch self {
        case .path(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
                for (index, byte) in path.utf8.enumerated() { unsafe bytes[index] = byte }
            }
            return Self.with(&address, body)
        case .port(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = Loopback.v4.v4Address
            address.sin_port = UInt16(port).bigEndian
            return Self.with(&address, body)
        }
    }

    @safe private static func with<Value>(
        _ address: inout Value, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<Value>.size))
            }
        }
    }
}
