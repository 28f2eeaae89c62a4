package import PushModel
package import Store
import Synchronization

extension SQLStore: StoreRetention {
    /// Goes through the projects; a step is one transaction, and as large as a few milliseconds of the writer.
    package func remove(
        _ part: RetentionPart, by rules: RetentionRules, at now: Timestamp
    ) async throws(StoreError) -> RetentionProgress {
        guard part != .freePages else { return try await giveBackPages() }
        guard part != .ledgerDays else { return try await keepLedgerDays(by: rules) }
        let projects = try await read { db in try RetentionTable.allProjects(db) }
        while true {
            var pass = removals.withLock { $0[part] ?? RemovalPass() }
            guard let project = projects.first(where: { $0 > pass.doneUpTo }) else {
                pass.restart()
                removals.withLock { $0[part] = pass }
                return RetentionProgress(count: 0, isDone: true)
            }
            let step = RemovalStep(
                part: part, project: project, policy: ProjectID(rawValue: project).map { rules[$0] } ?? rules.standard,
                now: now, after: pass.after, limit: pass.size.rows)
            let (removed, elapsed) = try await write(rows: step.limit) { db in
                let start = ContinuousClock.now
                return (try step.run(db), ContinuousClock.now - start)
            }
            pass.size.adapt(to: elapsed, wasFull: removed.next != nil)
            pass.go(on: removed.next, of: project)
            removals.withLock { $0[part] = pass }
            if removed.count > 0 || removed.next != nil {
                return RetentionProgress(count: removed.count, isDone: false)
            }
        }
    }

    /// Gives days of the ledger back that hold nothing, and prepares those that come.
    private func keepLedgerDays(by rules: RetentionRules) async throws(StoreError) -> RetentionProgress {
        do {
            return RetentionProgress(
                count: try await engine.keepLedgerDays(longest: rules.longestLedgerDays), isDone: true)
        } catch {
            throw engine.note(error, isWrite: true)
        }
    }

    /// Gives pages that hold nothing back to the file system.
    private func giveBackPages() async throws(StoreError) -> RetentionProgress {
        let free = try await read { [engine] db in try engine.spareFilePages(db) }
        var pass = removals.withLock { $0[.freePages] ?? RemovalPass() }
        let count = min(free, pass.size.rows)
        guard count > 0 else { return RetentionProgress(count: 0, isDone: true) }
        let elapsed = try await write(rows: count) { [engine] db in
            let start = ContinuousClock.now
            try engine.releaseFilePages(count, db)
            return ContinuousClock.now - start
        }
        pass.size.adapt(to: elapsed, wasFull: count < free)
        removals.withLock { [pass] in $0[.freePages] = pass }
        return RetentionProgress(count: count, isDone: count == free)
    }
}
