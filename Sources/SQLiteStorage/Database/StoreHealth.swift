import GRDB
import Logging
import Store
import Synchronization

/// What reads and writes found wrong with the store.
///
/// A full disk or a read-only file system is forgotten as soon as a write goes through. Damage is remembered, while other
/// parts may work, until a search of the whole file finds none.
final class StoreHealth: Sendable {
    private struct Damage {
        var text: String?
        /// Whether the file is being read in search of it.
        var isExamined = false
        var examinedAt: ContinuousClock.Instant?
    }

    /// Time between two searches for damage.
    private static let examinationInterval: Duration = .seconds(10)
    /// So long a failed write counts, though one as small as that of ``SQLiteEngine/state()`` goes through.
    private static let failureMemory: Duration = .seconds(3)

    private let path: String
    private let logger: Logger
    private let damage = Mutex(Damage())
    /// The last write that failed as any would.
    private let failedWrite = Mutex<(text: String, at: ContinuousClock.Instant)?>(nil)

    /// Begins with nothing found.
    init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    /// Remembers what an error says of the store, and logs damage once.
    ///
    /// - Returns: the error.
    func note(_ error: StoreError, isWrite: Bool = false) -> StoreError {
        if isWrite, error.isOfWholeStore, !error.isFull { failedWrite.withLock { $0 = (error.message, .now) } }
        guard error.isDamage else { return error }
        let text = "The file \(path) is damaged (\(error.message)); other data may still be served. Restore a backup."
        let isNew = damage.withLock { damage in
            defer { damage.text = text }
            return damage.text == nil
        }
        if isNew { logger.critical("Store is damaged", metadata: ["error": "\(text)"]) }
        return error
    }

    /// The last write that failed as any would, a moment ago.
    var failedWriteText: String? {
        guard let failed = failedWrite.withLock({ $0 }), .now - failed.at < Self.failureMemory else { return nil }
        return failed.text
    }

    /// The damage that was found.
    var damageText: String? { damage.withLock { $0.text } }

    /// Whether a search for damage is to begin: none is going on, and the last one was not a moment ago. It ends with
    /// ``endExamination(isSound:)``.
    func beginExamination() -> Bool {
        let now = ContinuousClock.now
        return damage.withLock { damage in
            guard !damage.isExamined, damage.examinedAt.map({ now - $0 > Self.examinationInterval }) ?? true else {
                return false
            }
            damage.isExamined = true
            return true
        }
    }

    /// Forgets the damage if the file is sound.
    func endExamination(isSound: Bool) {
        damage.withLock { $0 = Damage(text: isSound ? nil : $0.text, examinedAt: .now) }
        if isSound { logger.notice("Store is sound") }
    }
}
