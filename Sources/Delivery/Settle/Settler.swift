import Logging
import PushModel
import Store
import Traces

/// Records results: takes what has come in, decides each delivery's settlement and writes them in one transaction.
///
/// It does not wait for a batch to fill: while one transaction is being written the next batch gathers by itself, so
/// batches are small when little is going on and grow with the load. Only a few results wait for others: those of single
/// sends, whose transaction and its sync would cost more than they do, just when the next send is to be committed. Those of
/// pages wait longer while many others are out, since each transaction writes a page and the sums of a message anew. When the
/// store refuses a batch, the lanes are held and the same batch is written again: nothing is dropped. A batch that is refused time and again is cut in halves, and
/// a single result that is still refused is set aside and tried from time to time, so that it does not hold the rest.
///
/// A gateway that stops does not wait for the store to take what leaves a delivery open: the next run takes such a
/// delivery up in any case.
///
/// Only what belongs to a worker that was fenced is dropped: its deliveries were given back, and others send and settle
/// them.
struct Settler: Sendable {
    let answers: AnswerBuffer
    let gates: [Lane: LaneGate]
    let lease: WorkerLease
    let waiters: EndWaiters
    let awaited: AwaitedResults
    let store: any DeliveryStore
    let metrics: DeliveryMetrics
    /// `nil`: nothing is traced.
    let tracer: StepTracer?
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double
    let logger: Logger
    /// How long a few results wait for others: see ``DeliveryLimits/gathering``.
    let gathering: Duration
    /// Raised when the settler is to give up waiting for a failing store.
    let finishing = AutoResetEvent()

    /// So many results wait for no others.
    static let gatheringLimit = 250
    /// So many results of pages wait for no others.
    private static let pageGatheringLimit = 1000
    /// After how many turns of ``gathering`` results of single sends wait for no others, while no caller waits for an outcome.
    private static let singleGatheringTurns = 4
    /// The part of a lane's room that results of pages keep while they wait for others.
    private static let pageGatheringShare = 16
    /// After how many turns of two times ``gathering`` results of pages wait for no others.
    private static let pageGatheringTurns = 4
    /// Results for one transaction, at most but for the last page of it.
    private static let batchSize = 5000
    /// After so many failures a batch is cut, or a single result set aside.
    private static let patience = 5
    /// How often what was set aside is tried, when nothing else is to do.
    private static let asideInterval: Duration = .seconds(30)
    /// After so many transactions what was set aside is tried, when there is always something to do.
    private static let asideTurns = 100

    /// Records until ``finish()`` was called and nothing is left, or the task is cancelled.
    func run() async {
        var aside: [ResultBatch] = []
        var hasWaited = false
        var turns = 0
        while !Task.isCancelled {
            var entries = answers.take()[...]
            if !entries.isEmpty {
                hasWaited = false
                var waits = 0
                while aside.isEmpty, let time = gatheringTime(of: entries, after: waits) {
                    await finishing.wait(atMost: time, on: clock)
                    entries += answers.take()
                    waits += 1
                }
                while !entries.isEmpty {
                    for batch in takeBatches(from: &entries) {
                        guard await record(batch, aside: &aside) else { return }
                    }
                    turns += 1
                }
                if turns >= Self.asideTurns {
                    turns = 0
                    await tryAgain(&aside)
                }
            } else if answers.isFinishing || hasWaited {
                hasWaited = false
                await tryAgain(&aside)
                if answers.isFinishing { return }
            } else {
                await answers.changed.wait(atMost: aside.isEmpty ? nil : Self.asideInterval, on: clock)
                hasWaited = true
            }
        }
    }

    /// The gateway stops: from now on only ends are worth a second write. One that waits for the store tries at once.
    func stop() {
        answers.stop()
        finishing.raise()
    }

    /// Tells ``run()`` to record what has come in and return.
    func finish() {
        answers.finish()
        finishing.raise()
    }

    /// How long results wait for others now; `nil`: no longer. Those of single sends wait once, and again as long as no caller
    /// waits for an outcome. Those of pages wait until there are many of them, or they take much of their lane's room, or no
    /// more than they are still out: a small fan-out is complete as soon as it can be.
    ///
    /// - Parameter turns: how often they waited.
    private func gatheringTime(of entries: ArraySlice<AnswerBuffer.Entry>, after turns: Int) -> Duration? {
        guard gathering > .zero, !answers.isStopping, !answers.isFinishing else { return nil }
        var (singles, ofPages) = (0, 0)
        for entry in entries {
            switch entry {
            case .answered(let sent):
                if sent.deliveries.isOfPage { ofPages += sent.answered } else { singles += sent.answered }
            case .decided(let settlements, _, _) where settlements.first?.delivery.page == nil:
                singles += settlements.count
            case .decided, .dropped: return nil
            }
        }
        let most =
            switch (singles, ofPages) {
            case (_, 0): waiters.isEmpty ? Self.singleGatheringTurns : 1
            case (0, _): Self.pageGatheringTurns
            default: 1
            }
        guard singles < Self.gatheringLimit, turns < most else { return nil }
        guard ofPages > 0 else { return gathering }
        let waits = gates[.bulk]?.read { Self.waits(withPages: ofPages, inFlight: $0.inFlight, room: $0.room) }
        return waits ?? false ? gathering * 2 : nil
    }

    /// Whether so many results of pages wait for others.
    ///
    /// - Parameters:
    ///   - inFlight: deliveries of their lane that are not settled, they among them.
    ///   - room: how many the lane has room for.
    static func waits(withPages count: Int, inFlight: Int, room: Int) -> Bool {
        count < min(pageGatheringLimit, room / pageGatheringShare) && inFlight > 2 * count
    }

    /// Takes the results for the next transaction out of `entries`: a batch for each worker, which is one, or two after
    /// a takeover.
    private func takeBatches(from entries: inout ArraySlice<AnswerBuffer.Entry>) -> [ResultBatch] {
        var batches: [ResultBatch] = []
        var attempts = AttemptCounts()
        func place(_ worker: WorkerID, _ count: Int) -> Int {
            let place = batches.firstIndex { $0.worker == worker } ?? batches.count
            if place == batches.count { batches.append(ResultBatch(of: worker)) }
            batches[place].reserve(count)
            return place
        }
        while (batches.first?.count ?? 0) < Self.batchSize, let entry = entries.popFirst() {
            switch entry {
            case .answered(let sent):
                let found = sent.take()
                let place = place(sent.worker, found.count)
                let start = batches[place].count
                for answer in found {
                    let delivery = sent.deliveries.delivery(answer.index, lane: sent.lane)
                    let (result, end) = awaited.settlement(of: delivery, answer, random: random())
                    batches[place].append(
                        Settlement(delivery: delivery.claim, result: result), in: sent.lane, orEnd: end)
                    if answer.isAttempt { attempts.add(answer.outcome, on: delivery.channel.platform) }
                }
                if let trace = sent.trace { batches[place].note(trace, from: start) }
            case .decided(let settlements, let lane, let worker):
                let place = place(worker, settlements.count)
                for settlement in settlements { batches[place].append(settlement, in: lane) }
                if tracer != nil { batches[place].noteTraced(among: settlements) }
            case .dropped(let count, let project, let lane):
                gates[lane]?.vacate([project: count])
            }
        }
        metrics.count(attempts)
        return batches
    }

    /// Records results, however long the store takes to accept them; what it refuses for good goes to `aside`.
    ///
    /// - Returns: `false` when the gateway stopped first: these deliveries stay claimed and the next run rescues them.
    private func record(_ results: ResultBatch, aside: inout [ResultBatch]) async -> Bool {
        var batches = [results]
        var failures = 0
        while var batch = batches.popLast() {
            guard lease.maySettle(batch.worker) else {
                drop(batch)
                continue
            }
            do throws(StoreError) {
                try await write(batch)
                if failures > 0 { hold(false) }
                failures = 0
                continue
            } catch {
                if error.isConflict {
                    fenced(batch)
                    continue
                }
                failures += 1
                // What no write passes says nothing about this one.
                if !error.isOfWholeStore { batch.failures += 1 }
                let delay = StoreBackoff.delay(failures: failures, random: random())
                tell(error, of: batch, retry: delay)
                hold(true)
                if answers.isStopping { leaveOpenWork(of: &batch) }
                guard batch.count > 0 else { continue }
                batches.append(batch)
                if answers.isFinishing || Task.isCancelled {
                    let left = batches.reduce(0) { $0 + $1.count }
                    logger.error("results are left to the next run", metadata: ["count": "\(left)"])
                    return false
                }
                await finishing.wait(atMost: delay, on: clock)
            }
            if batch.failures >= Self.patience { cut(&batches, aside: &aside) }
        }
        // Set aside at the end: the lanes go on without it. Not otherwise, because it wakes the workers.
        if failures > 0 { hold(false) }
        return true
    }

    /// Leaves to the next run what does not end a delivery, and gives its room back: nothing of it is lost.
    private func leaveOpenWork(of batch: inout ResultBatch) {
        let left = batch.takeOpen()
        guard left.count > 0 else { return }
        logger.warning("results are left to the next run", metadata: ["count": "\(left.count)"])
        giveBack(left)
    }

    /// Cuts the last batch in two, each of which is cut again at its next failure, or sets it aside if it is one result.
    private func cut(_ batches: inout [ResultBatch], aside: inout [ResultBatch]) {
        guard let batch = batches.popLast() else { return }
        guard batch.count > 1 else {
            logger.error(
                "a result can't be recorded and is set aside",
                metadata: batch.settlements.first.map { ["message.id": "\($0.delivery.message)"] })
            aside.append(batch)
            return
        }
        let middle = batch.count / 2
        for half in [middle..<batch.count, 0..<middle] {
            batches.append(batch.part(half, failures: Self.patience - 1))
        }
    }

    /// Tries once what was set aside, one by one.
    private func tryAgain(_ aside: inout [ResultBatch]) async {
        var left: [ResultBatch] = []
        for var batch in aside {
            guard lease.maySettle(batch.worker) else {
                drop(batch)
                continue
            }
            do throws(StoreError) {
                try await write(batch)
            } catch {
                if error.isConflict {
                    fenced(batch)
                } else {
                    tell(error, of: batch, retry: Self.asideInterval)
                    if answers.isStopping { leaveOpenWork(of: &batch) }
                    if batch.count > 0 { left.append(batch) }
                }
            }
        }
        aside = left
    }

    /// Writes results in one transaction, and what follows from them.
    private func write(_ results: ResultBatch) async throws(StoreError) {
        var batch = results
        let start = tracer?.now
        let ends = batch.beginWriting(for: waiters)
        do throws(StoreError) {
            let result = try await store.settle(batch.settlements, by: batch.worker)
            // What was not recorded, or goes to another device token, has not ended.
            let open = batch.readdress(result.readdressed).union(result.refused)
            waiters.wrote(ends.filter { !open.contains($0.key) })
            waiters.failedToWrite(ends.filter { open.contains($0.key) })
            let failures = FailureLine.lines(of: batch.settlements)
            if let start { trace(batch, failures, from: start) }
            follow(batch, failures, complete: result.complete)
        } catch {
            waiters.failedToWrite(ends)
            if let start { traceFailure(of: batch, error, from: start) }
            throw error
        }
    }

    private func tell(_ error: StoreError, of batch: ResultBatch, retry: Duration) {
        var metadata: Logger.Metadata = [
            "count": "\(batch.count)", "error": "\(error)", "retry": "\(retry)",
        ]
        if batch.count == 1, let only = batch.settlements.first { metadata["message.id"] = "\(only.delivery.message)" }
        logger.error("recording results failed", metadata: metadata)
    }

    private func hold(_ isHeld: Bool) {
        for gate in gates.values { gate.update { $0.hold(isHeld) } }
    }

    /// The worker is not the owner of these deliveries any more.
    private func fenced(_ batch: ResultBatch) {
        if lease.lose(batch.worker) {
            for gate in gates.values { gate.update { $0.lose(batch.worker) } }
        }
        drop(batch)
    }

    private func drop(_ batch: ResultBatch) {
        logger.warning(
            "results of a worker that was taken over are dropped; others send and record these deliveries",
            metadata: ["count": "\(batch.count)", "worker": "\(batch.worker.rawValue)"])
        giveBack(batch)
    }

    /// What follows from a recorded batch: counts, log lines, room in the lanes.
    private func follow(_ batch: ResultBatch, _ failures: [FailureLine: Int], complete: [MessageID]) {
        metrics.count(batch.settlements)
        let verdicts = VerdictCounts(batch.settlements)
        metrics.count(verdicts)
        verdicts.log(to: logger)
        log(failures)
        for message in complete {
            logger.debug("message complete", metadata: ["message.id": "\(message)"])
        }
        giveBack(batch)
        awaited.expectRetries(of: batch)
    }

    private func giveBack(_ batch: ResultBatch) {
        for (lane, back) in batch.returns() {
            guard let gate = gates[lane] else { continue }
            gate.update { schedule in
                for (project, count) in back.counts { schedule.settled(count, of: project) }
                if let due = back.due { schedule.expect(due) }
            }
            metrics.inFlight(gate.inFlight, in: lane)
        }
    }

    /// One line for each message and reason of a batch, not for each delivery.
    private func log(_ lines: [FailureLine: Int]) {
        for (line, count) in lines {
            logger.warning(
                "deliveries failed",
                metadata: [
                    "message.id": "\(line.message)", "outcome": "\(line.outcome.rawValue)", "reason": "\(line.reason)",
                    "count": "\(count)",
                ])
        }
    }
}
