import CLinux
import Glibc

/// A TCP socket: owns the descriptor.
///
/// Loop-confined; closed with its last reference or by ``shut()``.
final class Socket {
    /// `MSG_NOSIGNAL`: a lost peer is an error of the write and no SIGPIPE. By its number, which is Linux's on every
    /// machine: as a constant of an anonymous enumeration it is imported in some builds and not in others.
    static let withoutSignal: Int32 = 0x4000

    /// The most bytes that the kernel takes ahead of what it may send, tcp(7). They are the line in which an urgent
    /// request stands whatever its queue: some hundred pushes, and not the megabytes of a send buffer.
    static let unsentLimitBytes: Int32 = 128 << 10

    private(set) var descriptor: Int32

    /// A non-blocking socket for `address`, set up for long-lived HTTP/2: no delay, keep-alive, and a limit for how
    /// long sent bytes may stay unacknowledged (a peer behind a dropped NAT entry never answers, and the kernel would
    /// retry for a quarter of an hour).
    init(for address: SocketAddress, unacknowledgedLimit: Duration) throws(TransportFailure) {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(address.family, kind, Int32(IPPROTO_TCP))
        guard descriptor >= 0 else { throw TransportFailure(.connectFailed, "socket: \(systemError())") }
        let milliseconds = max(1, min(unacknowledgedLimit.wholeNanoseconds / 1_000_000, Int64(Int32.max)))
        // An option that the kernel refuses costs robustness, not function.
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
        set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
        set(Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(milliseconds))
        set(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Self.unsentLimitBytes)
    }

    deinit { shut() }

    private func set(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        _ = unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Begins to connect; the socket becomes writable when that is over.
    func connect(to address: SocketAddress) throws(TransportFailure) {
        let result = unsafe address.withSocketAddress { unsafe Glibc.connect(descriptor, $0, $1) }
        let code = errno
        guard result == 0 || code == EINPROGRESS || code == EINTR else {
            throw TransportFailure(.connectFailed, "\(address): \(systemError(code))")
        }
    }

    /// After ``connect(to:)``: whether the connection stands; throws why it never will.
    func isConnected(to address: SocketAddress) throws(TransportFailure) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&entry, 1, 0) > 0 else { return false }
        let code = option(SOL_SOCKET, SO_ERROR) ?? errno
        guard code == 0 else { throw TransportFailure(.connectFailed, "\(address): \(systemError(code))") }
        return true
    }

    /// The value of an option; `nil`: the kernel does not tell, see `errno`.
    func option(_ level: Int32, _ name: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
    }

    /// Sends what the kernel takes of `bytes` at once, in the clear: how many they were.
    func send(_ bytes: [UInt8]) throws(TransportFailure) -> Int {
        let count = unsafe Glibc.send(descriptor, bytes, bytes.count, Self.withoutSignal)
        if count >= 0 { return count }
        guard errno == EAGAIN || errno == EINTR else { throw TransportFailure(.connectFailed, systemError()) }
        return 0
    }

    /// What came, in the clear, at most `limit` bytes; empty: the peer closed; `nil`: nothing yet.
    func receive(limit: Int) throws(TransportFailure) -> ArraySlice<UInt8>? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
        if count >= 0 { return buffer[..<count] }
        guard errno == EAGAIN || errno == EINTR else { throw TransportFailure(.connectFailed, systemError()) }
        return nil
    }

    /// Closes the descriptor. Idempotent.
    func shut() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
    }
}

/// Looks a name up; blocks.
typealias Resolve = @Sendable (_ host: String, _ port: Int) -> Result<[SocketAddress], TransportFailure>

/// An IPv4 or IPv6 address with port.
struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The `sockaddr` as bytes.
    private let bytes: [UInt8]
    let family: Int32
    /// The address as text.
    let host: String
    /// `address:port`.
    let description: String

    /// Copies an address that getaddrinfo found.
    init?(_ info: addrinfo) {
        guard let address = unsafe info.ai_addr else { return nil }
        bytes = unsafe Array(UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
        family = unsafe info.ai_family
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let code = unsafe getnameinfo(
            address, info.ai_addrlen, &host, socklen_t(host.count), &port, socklen_t(port.count),
            NI_NUMERICHOST | NI_NUMERICSERV)
        guard code == 0 else { return nil }
        let name = text(host)
        let number = text(port)
        self.host = name
        description = family == AF_INET6 ? "[\(name)]:\(number)" : "\(name):\(number)"
    }

    /// The IP address: 4 or 16 bytes; empty for another family.
    var ip: [UInt8] {
        // Behind family and port stand the address (`sockaddr_in`), or flow information and address (`sockaddr_in6`).
        switch family {
        case AF_INET where bytes.count >= 8: Array(bytes[4..<8])
        case AF_INET6 where bytes.count >= 24: Array(bytes[8..<24])
        default: []
        }
    }

    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { raw in
            // `bytes` is never empty: the initialiser copied a whole sockaddr.
            let pointer = unsafe raw.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return unsafe body(pointer, socklen_t(raw.count))
        }
    }

    /// The addresses of `host`, asked anew. Blocks, unless `isLiteral`: then only an IP address is understood.
    static func resolve(
        host: String, port: Int, isLiteral: Bool
    ) -> Result<[SocketAddress], TransportFailure> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_NUMERICSERV | (isLiteral ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            let text = unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            return .failure(TransportFailure(.connectFailed, "name lookup of \(host): \(text)"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let info = unsafe entry {
            if let address = unsafe SocketAddress(info.pointee) { addresses.append(address) }
            unsafe entry = info.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            return .failure(TransportFailure(.connectFailed, "name lookup of \(host): no address"))
        }
        return .success(addresses)
    }

    /// Whether `host` is an IP address and not a name.
    static func isAddress(_ host: String) -> Bool {
        var buffer = in6_addr()
        return unsafe inet_pton(AF_INET, host, &buffer) == 1 || inet_pton(AF_INET6, host, &buffer) == 1
    }
}
