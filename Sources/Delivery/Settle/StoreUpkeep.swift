import Logging
import PushModel
import Store

/// The store's work beside the lanes: books what was cancelled, ends pauses, mends times that a wrong clock wrote, tells it
/// the figures of charts, and keeps the gauges that only the store knows.
struct StoreUpkeep: Sendable {
    let store: any MessageStore & DeliveryStore & EventStore
    let gates: [LaneGate]
    let admission: Admission
    let metrics: DeliveryMetrics
    let clock: any Clock<Duration>
    let wallTime: WallTime
    let random: @Sendable () -> Double
    let logger: Logger
    /// Raised when there may be something to book as cancelled.
    let cancelled = AutoResetEvent()

    /// How often the gauges of the store are read, and it is told the figures of charts.
    private static let gaugeInterval: Duration = .seconds(15)
    /// Deliveries that are changed in one step.
    private static let step = 5000

    /// Works until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.observe() }
            group.addTask { await self.observeLoad() }
            group.addTask { await self.bookCancelled() }
        }
    }

    /// Tells the store what is left, when nothing else is recorded by this process.
    func finish() async {
        await countOwnEnds()
        await writeTraffic()
    }

    /// Adds what was counted since the last time; what the store does not take is kept for the next time. What it may have
    /// taken is not: charts rather lack a few ends than have them twice.
    private func writeTraffic() async {
        let counts = metrics.beginWritingTraffic(at: wallTime())
        do throws(StoreError) {
            try await store.add(counts)
            metrics.endWritingTraffic(isWritten: true)
        } catch {
            metrics.endWritingTraffic(isWritten: error.isOutcomeUnknown)
            logger.warning(
                error.isOutcomeUnknown ? "figures of charts may be lost" : "figures of charts wait",
                metadata: ["rows": "\(counts.count)", "error": "\(error)"])
        }
    }

    /// Books what cancelled messages have left: at the start, after each cancellation here, and now and then what another
    /// gateway cancelled that ended before it had booked all.
    private func bookCancelled() async {
        var failures = 0
        while !Task.isCancelled {
            do throws(StoreError) {
                let count = try await store.bookCancelled(limit: Self.step, at: wallTime())
                failures = 0
                await countOwnEnds()
                if count < Self.step { await cancelled.wait() }
            } catch {
                if Task.isCancelled { return }
                failures += 1
                logger.warning("cancelled deliveries can't be booked", metadata: ["error": "\(error)"])
                await clock.pause(StoreBackoff.delay(failures: failures, random: random()))
            }
        }
    }

    /// Shows what waits after each change of it.
    private func observeLoad() async {
        // Before the first look: nothing that is committed after it goes unseen.
        var changes = store.changes.makeAsyncIterator()
        admission.record()
        while let change = await changes.next() {
            if change.contains(.projects) { admission.record() }
        }
    }

    private func observe() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                metrics.backlog(try await store.backlog())
                try await store.clampTimes(to: wallTime())
                if try await store.endExpiredPauses(limit: Self.step, at: wallTime()) > 0 {
                    for gate in gates { gate.wake() }
                }
                try await bookExpired()
                cancelled.raise()
                try await bringForward()
                await countOwnEnds()
            } catch {
                if Task.isCancelled { return }
                logger.warning("the store's gauges can't be read", metadata: ["error": "\(error)"])
            }
            await writeTraffic()
            await clock.pause(Self.gaugeInterval)
        }
    }

    /// What the store ended by itself counts like what was settled, also what it ended within claims and settlements.
    private func countOwnEnds() async {
        metrics.count(await store.takeOwnEnds(), at: wallTime())
    }

    /// Ends what no claim comes to before its time has run out: its route is held, or its message has a pace.
    private func bookExpired() async throws(StoreError) {
        var total = 0
        while !Task.isCancelled {
            let count = try await store.bookExpired(limit: Self.step, at: wallTime())
            total += count
            if count < Self.step { break }
        }
        guard total > 0 else { return }
        logger.warning("deliveries expired before an attempt", metadata: ["count": "\(total)"])
    }

    /// Makes due what waits longer than any back-off lasts: from an earlier run, or since a step of the clock was undone.
    private func bringForward() async throws(StoreError) {
        var total = 0
        while !Task.isCancelled {
            let now = wallTime()
            let count = try await store.bringForward(
                waitingBeyond: now + RetryBounds.longestWait, to: now, count: Self.step)
            total += count
            if count < Self.step { break }
        }
        guard total > 0 else { return }
        logger.warning(
            "deliveries that a wrong clock made wait for long are due now", metadata: ["count": "\(total)"])
        for gate in gates { gate.wake() }
    }
}
