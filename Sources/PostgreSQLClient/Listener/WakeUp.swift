import Glibc

/// Two sockets that wake a thread out of poll(2). Closed with the object.
final class WakeUp: Sendable {
    /// To be waited for.
    let descriptor: Int32
    private let end: Int32

    /// - Throws: ``PostgreSQLError`` when the process has no descriptor left.
    init() throws(PostgreSQLError) {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw PostgreSQLError(.disconnected, "There are no sockets for the listener: error \(errno).")
        }
        (descriptor, end) = (ends[0], ends[1])
    }

    /// Wakes the thread. A socket that is full wakes it, too.
    func signal() {
        var byte: UInt8 = 1
        _ = unsafe write(end, &byte, 1)
    }

    /// Takes what woke it.
    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
    }

    deinit {
        close(descriptor)
        close(end)
    }
}
