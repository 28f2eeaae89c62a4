import GRDB
import Logging
package import Store

extension SQLiteStore: StoreAdministration {
    /// Whether a write goes through right now, and what is wrong with the store.
    ///
    /// A full disk or a read-only file system is found by the write, and forgotten as soon as one goes through. Damage is
    /// remembered from the reads and writes that met it, while other parts may work. A disk that failed to read can look
    /// like damage: so what is remembered is checked against the whole file, beside the callers, and forgotten if it is
    /// sound.
    package func state() async -> StoreState {
        var state = StoreState()
        do {
            try await write(.probe) { db in
                try db.execute(sql: "UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
            }
        } catch {
            logger.warning("Store is not writable", metadata: ["error": "\(error.message)"])
            state.isWritable = false
            if !error.isDamage { state.problems.append(error.message) }
        }
        if state.isWritable, let text = health.failedWriteText {
            state.isWritable = false
            state.problems.append(text)
        }
        if let text = health.damageText {
            state.problems.append(text)
            examine()
        }
        return state
    }

    /// Reads the whole file in search of the damage, unless that is going on or was done a moment ago.
    ///
    /// A task without a parent: who asks for the state has a deadline, and the file may be large.
    private func examine() {
        guard health.beginExamination() else { return }
        Task {
            let isSound: Bool
            do throws(StoreError) {
                isSound = try await read { db in try String.fetchOne(db, sql: "PRAGMA quick_check(1)") == "ok" }
            } catch {
                isSound = false
            }
            health.endExamination(isSound: isSound)
        }
    }
}
