import FCMWire
import Synchronization
import Upstream

/// The size from which on a push service refuses bodies, as far as its answers 413 say. It is forgotten after ten minutes, or when
/// such a body is accepted. A 413 for what every service takes says nothing of others. Safe to share.
final class SizeLimit: Sendable {
    private struct Seen {
        var bytes = Int.max
        var until: Duration = .zero
    }

    /// Payloads of so many bytes arrive everywhere, also through services that hand them on as text.
    static let floorBytes = MessageWarning.safeBrowserBytes

    /// The next one asks again: a service may take less for some of its browsers than for others.
    static let memory: Duration = .seconds(600)

    private let uptime: Uptime
    private let seen = Mutex(Seen())

    init(uptime: @escaping Uptime) {
        self.uptime = uptime
    }

    /// Payloads of so many bytes and more are refused; `Int.max`: none.
    var bytes: Int {
        let now = uptime()
        return seen.withLock { now < $0.until ? $0.bytes : .max }
    }

    /// The service refused a payload of so many bytes for its size.
    func refused(_ bytes: Int) {
        guard bytes > Self.floorBytes else { return }
        let now = uptime()
        seen.withLock { seen in
            seen.bytes = now < seen.until ? min(seen.bytes, bytes) : bytes
            seen.until = now + Self.memory
        }
    }

    /// The service took a payload of so many bytes.
    func accepted(_ bytes: Int) {
        seen.withLock { if bytes >= $0.bytes { $0 = Seen() } }
    }
}
