import Hummingbird
import PushModel
import Synchronization

/// The bytes of batches that may be in memory at a time: read and decoded, each takes several times its body. Room is taken
/// for a body before it is read, so a project has half of it at most: what one announces does not shut out the others.
final class BatchGate: Sendable {
    private let limitBytes: Int
    private let held = Mutex(Held())

    private struct Held {
        var total = 0
        var byProject: [ProjectID: Int] = [:]
    }

    /// Has room for `limitBytes` of bodies.
    init(limitBytes: Int) {
        self.limitBytes = limitBytes
    }

    /// Answers a request with room for its body.
    ///
    /// - Throws: QUOTA_EXCEEDED while there is none.
    func withRoom(for call: ProjectCall, _ respond: () async throws -> Response) async throws -> Response {
        let size = call.announcedBytes
        try enter(size, of: call.project.id)
        defer { leave(size, of: call.project.id) }
        return try await respond()
    }

    /// Takes room for a body; ``leave(_:of:)`` follows. One alone always has room.
    func enter(_ bytes: Int, of project: ProjectID) throws(FCMError) {
        let isFull = held.withLock { held in
            let own = held.byProject[project] ?? 0
            guard held.total == 0 || held.total + bytes <= limitBytes, own == 0 || own + bytes <= limitBytes / 2 else {
                return true
            }
            held.total += bytes
            held.byProject[project] = own + bytes
            return false
        }
        guard isFull else { return }
        var error = FCMError(.quotaExceeded, "Too many batches are being read already.", reason: .tooManyBatches)
        error.quotaSubject = "gateway"
        error.retryAfterSeconds = 1
        throw error
    }

    /// Gives room back.
    func leave(_ bytes: Int, of project: ProjectID) {
        held.withLock { held in
            held.total -= bytes
            let rest = (held.byProject[project] ?? 0) - bytes
            held.byProject[project] = rest > 0 ? rest : nil
        }
    }
}
