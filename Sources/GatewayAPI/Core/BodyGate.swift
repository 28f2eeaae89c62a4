import HTTPListener
import Synchronization

/// The bytes of bodies that may be in memory while they arrive, of requests with a client key or with no credential: a body
/// may take its time, and a connection may have many. Bytes count when they are there, not when they are announced, so
/// a body that is announced and does not come takes no room from others; one address has an eighth of it.
final class BodyGate: Sendable {
    /// The part of the room that one address may have.
    static let share = 8

    private let limitBytes: Int
    private let held = Mutex(Held())

    private struct Held {
        var total = 0
        var byAddress: [ClientAddress: Int] = [:]
    }

    /// Has room for `limitBytes`; the largest body has to fit into the part of an address.
    init(limitBytes: Int) {
        self.limitBytes = limitBytes
    }

    /// How many bytes are there.
    var heldBytes: Int { held.withLock { $0.total } }

    /// Takes room for bytes that arrived; ``leave(_:of:)`` follows.
    fileprivate func enter(_ bytes: Int, of address: ClientAddress?) throws(FCMError) {
        let isFull = held.withLock { held in
            let own = address.map { held.byAddress[$0] ?? 0 } ?? 0
            guard held.total + bytes <= limitBytes, own + bytes <= limitBytes / Self.share else { return true }
            held.total += bytes
            if let address { held.byAddress[address] = own + bytes }
            return false
        }
        guard isFull else { return }
        var error = FCMError(.resourceExhausted, "Too many request bodies are arriving at the same time.")
        error.quotaSubject = "client address"
        error.retryAfterSeconds = 1
        throw error
    }

    fileprivate func leave(_ bytes: Int, of address: ClientAddress?) {
        held.withLock { held in
            held.total -= bytes
            guard let address else { return }
            let rest = (held.byAddress[address] ?? 0) - bytes
            held.byAddress[address] = rest > 0 ? rest : nil
        }
    }
}

/// The room that one body has.
struct BodyRoom {
    private let gate: BodyGate
    private let address: ClientAddress?
    private var bytes = 0

    /// None yet.
    init(in gate: BodyGate, of address: ClientAddress?) {
        self.gate = gate
        self.address = address
    }

    /// Takes room for bytes that arrived.
    ///
    /// - Throws: RESOURCE_EXHAUSTED when there is none.
    mutating func take(_ count: Int) throws(FCMError) {
        try gate.enter(count, of: address)
        bytes += count
    }

    /// Gives all of it back.
    mutating func leave() {
        gate.leave(bytes, of: address)
        bytes = 0
    }
}
