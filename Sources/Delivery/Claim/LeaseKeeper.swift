import Logging
import PushModel
import Store

/// Keeps this run enrolled as a worker of the store: renews its lease, takes over from workers that are gone, and enrols
/// anew when the own one was taken over.
struct LeaseKeeper: Sendable {
    /// Names the workers for operators.
    let name: String
    let store: any DeliveryStore
    let lease: WorkerLease
    let gates: [LaneGate]
    let clock: any Clock<Duration>
    let wallTime: WallTime
    let random: @Sendable () -> Double
    let logger: Logger
    /// A worker was enrolled.
    let onEnrollment: @Sendable () -> Void
    /// Deliveries of another worker were taken over.
    let onTakeover: @Sendable () -> Void

    /// Enrols a worker: from now on claims begin.
    func enroll() async throws(StoreError) {
        // One lane found the lapse; the other must not go on claiming while the store is slow.
        for worker in lease.lapsed { for gate in gates { gate.update { $0.lose(worker) } } }
        let asked = lease.now
        let worker = try await store.enroll(name, for: WorkerLease.length)
        lease.begin(worker, asked: asked)
        for gate in gates { gate.update { $0.use(worker) } }
        onEnrollment()
    }

    /// Keeps the lease until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await lease.changed.wait(atMost: WorkerLease.interval, on: clock)
            guard !Task.isCancelled else { return }
            do throws(StoreError) {
                if let worker = lease.worker { try await renew(worker) }
                if lease.worker == nil {
                    try await enroll()
                    logger.notice("a new worker was enrolled in place of one whose lease is over or that was given up")
                }
                try await takeOver()
            } catch {
                logger.warning("the worker's lease can't be renewed", metadata: ["error": "\(error)"])
                // Asked again soon if there is no worker, otherwise with the next renewal.
                if lease.worker == nil { await clock.pause(StoreBackoff.delay(failures: 4, random: random())) }
                if lease.worker == nil { lease.changed.raise() }
            }
        }
    }

    private func renew(_ worker: WorkerID) async throws(StoreError) {
        let asked = lease.now
        do throws(StoreError) {
            try await store.renew(worker, for: WorkerLease.length)
            lease.renew(worker, asked: asked)
        } catch {
            guard error.isConflict else { throw error }
            if lease.lose(worker) {
                logger.warning("the worker's lease was taken over", metadata: ["worker": "\(worker.rawValue)"])
            }
            for gate in gates { gate.update { $0.lose(worker) } }
        }
    }

    private func takeOver() async throws(StoreError) {
        do throws(StoreError) {
            let count = try await store.takeOver(at: wallTime())
            guard count > 0 else { return }
            logger.notice("took over deliveries of a worker that is gone", metadata: ["count": "\(count)"])
            tookOver()
        } catch {
            if error.isOutcomeUnknown { tookOver() }
            throw error
        }
    }

    private func tookOver() {
        for gate in gates { gate.wake() }
        onTakeover()
    }
}
