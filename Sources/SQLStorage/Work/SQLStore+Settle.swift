import Logging
package import PushModel
package import Store

extension SQLStore: DeliveryStore {
    /// Records results in one transaction; what is not claimed by this worker is refused and changes nothing.
    package func settle(_ settlements: [Settlement], by worker: WorkerID) async throws(StoreError) -> SettleResult {
        guard !settlements.isEmpty else { return SettleResult() }
        let lookUps = LookUps(settling: settlements, worker: worker)
        let (result, ownEnds) = try await writeShared(
            .settlement, rows: settlements.count, lookingUp: lookUps
        ) { transaction in
            guard try transaction.isRunning(worker) else { throw StoreError.fenced(worker) }
            var step = try SettleStep(transaction, worker: worker, newest: Self.newestEnd(of: settlements))
            var readdressed: [Int] = []
            // By index: a copy of a settlement would retain all that it has.
            for place in settlements.indices {
                guard let retry = try step.readdressed(settlements[place]) else {
                    try step.apply(settlements[place])
                    continue
                }
                if try step.apply(retry) { readdressed.append(place) }
            }
            let complete = try step.finish()
            if settlements.contains(where: { $0.result.verdict != nil }) { transaction.forgetRegistrations() }
            return (
                SettleResult(complete: complete, refused: step.refused, readdressed: readdressed), step.ownEnds
            )
        }
        keep(ownEnds)
        if !result.refused.isEmpty {
            logger.warning(
                "Settlements refused: not claimed", metadata: ["store.refused": "\(result.refused.count)"])
        }
        return result
    }

    private static func newestEnd(of settlements: [Settlement]) -> Timestamp? {
        var newest: Timestamp?
        for place in settlements.indices {
            guard let time = settlements[place].result.endTime else { continue }
            newest = max(newest ?? time, time)
        }
        return newest
    }

    /// Sums over indexes that hold open work only.
    package func backlog() async throws(StoreError) -> [Lane: Int] {
        try await read { db in
            let backlog = Backlog(db: db)
            return [.interactive: try backlog.count(.interactive), .bulk: try backlog.count(.bulk)]
        }
    }
}
