import Glibc
import Synchronization

@testable import HTTP2Client

/// A TCP port of 127.0.0.1 without a listener now, and that no other test of this process was given; another
/// process may take it.
func freePort() throws -> Int {
    while true {
        let port = try ClosedPort()
        if givenPorts.withLock({ $0.insert(port.number).inserted }) { return port.number }
    }
}

/// A server needs a moment to take its port: until then the kernel would give the same one to another test.
private let givenPorts = Mutex<Set<Int>>([])

/// A TCP port of 127.0.0.1 that is taken and refuses connections as long as this lives.
final class ClosedPort: Sendable {
    let number: Int
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        do {
            number = try bindToAnyPort(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }
}

/// Binds a socket to a free port of 127.0.0.1 without listening.
private func bindToAnyPort(_ descriptor: Int32) throws -> Int {
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
            unsafe bind(descriptor, generic, length) == 0 ? getsockname(descriptor, generic, &length) : -1
        }
    }
    guard code == 0 else { throw ToolFailure(what: "bind") }
    return Int(UInt16(bigEndian: address.sin_port))
}

/// A socket that listens on a free port of 127.0.0.1.
func listenOnAnyPort() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    do {
        let port = try bindToAnyPort(descriptor)
        guard listen(descriptor, 64) == 0 else { throw ToolFailure(what: "listen") }
        return (descriptor, port)
    } catch {
        close(descriptor)
        throw error
    }
}

/// Whether somebody takes connections on a port of 127.0.0.1.
func isListening(port: Int) -> Bool {
    guard let descriptor = connectToLoopback(port: port) else { return false }
    close(descriptor)
    return true
}

/// A socket that is connected to a port of 127.0.0.1; `nil`: there is no listener.
func connectToLoopback(port: Int) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port: UInt16(port))
    let isConnected = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
            unsafe connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
    guard isConnected else {
        close(descriptor)
        return nil
    }
    return descriptor
}

/// Waits until `process` listens; `false`: it ended, for instance because somebody else has the port.
///
/// The servers say nothing when they listen, so this knocks until they open.
func isListening(_ process: ChildProcess, port: Int) async throws -> Bool {
    while process.isRunning {
        if isListening(port: port) { return process.isRunning }
        // Between two knocks: a server of another process gives no signal.
        try await Task.sleep(for: .milliseconds(5))
    }
    return false
}

/// Starts a server on a free port; again on another one when somebody took the port in between.
func onFreePort<Started>(_ start: (Int) async throws -> Started?) async throws -> Started {
    for _ in 0..<10 {
        if let started = try await start(freePort()) { return started }
    }
    throw ToolFailure(what: "no server came up on ten ports")
}

private func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
}
