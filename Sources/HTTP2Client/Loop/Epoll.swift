import CLinux
import Glibc

/// An epoll instance: owns the descriptor.
final class Epoll: Sendable {
    private let descriptor: Int32

    init() throws(TransportFailure) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw TransportFailure(.connectFailed, "epoll_create1: \(systemError())") }
    }

    deinit { close(descriptor) }

    /// Watches `target` under `id`, which comes back with each event.
    func add(_ target: Int32, id: UInt64, _ interest: Interest) throws(TransportFailure) {
        try control(EPOLL_CTL_ADD, target, id, interest)
    }

    func change(_ target: Int32, id: UInt64, _ interest: Interest) throws(TransportFailure) {
        try control(EPOLL_CTL_MOD, target, id, interest)
    }

    /// Stops watching. Must come before the descriptor is closed.
    func remove(_ target: Int32) throws(TransportFailure) {
        try control(EPOLL_CTL_DEL, target, 0, [])
    }

    private func control(
        _ operation: Int32, _ target: Int32, _ id: UInt64, _ interest: Interest
    ) throws(TransportFailure) {
        var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: id))
        guard unsafe epoll_ctl(descriptor, operation, target, &event) == 0 else {
            throw TransportFailure(.connectFailed, "epoll_ctl: \(systemError())")
        }
    }

    /// Waits for events, at most `milliseconds` (-1: for ever), and writes them to `buffer`.
    func wait(_ buffer: inout Events, milliseconds: Int32) -> Int {
        let count = unsafe buffer.storage.withUnsafeMutableBufferPointer {
            unsafe epoll_wait(descriptor, $0.baseAddress, Int32($0.count), milliseconds)
        }
        // EINTR is the only error of a valid call; the loop simply turns once more.
        return max(0, Int(count))
    }

    /// What to be told of. Level-triggered: what was not read now is reported again.
    struct Interest: OptionSet {
        let rawValue: UInt32
        static let readable = Interest(rawValue: EPOLLIN.rawValue)
        static let writable = Interest(rawValue: EPOLLOUT.rawValue)
    }

    /// A buffer of events, used again for each wait.
    @safe struct Events {
        fileprivate var storage: [epoll_event]

        init(capacity: Int) {
            unsafe storage = Array(repeating: epoll_event(), count: capacity)
        }

        subscript(index: Int) -> (id: UInt64, isWritable: Bool, isReadable: Bool) {
            let event = unsafe storage[index]
            let writable = unsafe event.events & (EPOLLOUT.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue)
            let readable = unsafe event.events & ~EPOLLOUT.rawValue
            return unsafe (event.data.u64, writable != 0, readable != 0)
        }
    }
}

/// An eventfd: owns the descriptor. Any thread signals it, one loop waits on it.
final class EventDescriptor: Sendable {
    let descriptor: Int32

    init() throws(TransportFailure) {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { throw TransportFailure(.connectFailed, "eventfd: \(systemError())") }
    }

    deinit { close(descriptor) }

    /// Wakes the loop.
    func signal() {
        // The counter cannot overflow at one signal per drained mailbox, and EAGAIN would mean it is signalled anyway.
        _ = eventfd_write(descriptor, 1)
    }

    /// Takes all signals so far.
    func acknowledge() {
        var count: eventfd_t = 0
        _ = unsafe eventfd_read(descriptor, &count)
    }
}

/// `errno` in words.
func systemError(_ code: Int32 = errno) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    return text(buffer)
}

/// The text that a C function wrote to `buffer`, up to its NUL.
func text(_ buffer: [CChar]) -> String {
    String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
