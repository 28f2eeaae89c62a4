import Logging
import PushModel
import Store

/// Records findings: takes what has come in, decides each delivery's settlement and writes them in one transaction.
///
/// It never waits for a batch to fill: while one transaction is being written the next batch gathers by itself, so
/// batches are small when little is going on and grow with the load. When the store refuses a batch, the lanes are held
/// and the same batch is written again: nothing is dropped. A batch that is refused time and again is cut in halves, and
/// a single result that is still refused is set aside and tried from time to time, so that it does not hold the rest.
struct Settler: Sendable {
    let answers: AnswerBuffer
    let gates: [Lane: LaneGate]
    let store: any DeliveryStore
    let activeMessages: ActiveMessages
    let metrics: DeliveryMetrics
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double
    let logger: Logger
    /// Raised when the settler is to give up waiting for a failing store.
    let finishing = Signal()

    /// Findings for one transaction, more or less.
    private static let batchSize = 1000
    /// After so many failures a batch is cut, or a single result set aside.
    private static let patience = 5
    /// How often what was set aside is tried, when nothing else is to do.
    private static let asideInterval: Duration = .seconds(30)

    /// Findings that are recorded together, and how often the store refused them.
    private struct Batch {
        var findings: [Finding]
        var failures = 0
    }

    /// Records until ``finish()`` was called and nothing is left, or the task is cancelled.
    func run() async {
        var aside: [Finding] = []
        var hasWaited = false
        while !Task.isCancelled {
            let findings = answers.take(atLeast: Self.batchSize)
            if !findings.isEmpty {
                hasWaited = false
                guard await record(findings, aside: &aside) else { return }
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

    /// Tells ``run()`` to record what has come in and return.
    func finish() {
        answers.finish()
        finishing.raise()
    }

    /// Records findings, however long the store takes to accept them; what it refuses for good goes to `aside`.
    ///
    /// - Returns: `false` when the gateway stopped first: these deliveries stay claimed and the next run rescues them.
    private func record(_ findings: [Finding], aside: inout [Finding]) async -> Bool {
        var batches = [Batch(findings: findings)]
        var failures = 0
        while var batch = batches.popLast() {
            do throws(StoreError) {
                try await write(batch.findings)
                if failures > 0 { hold(false) }
                failures = 0
                continue
            } catch {
                failures += 1
                batch.failures += 1
                let delay = StoreBackoff.delay(failures: failures, random: random())
                tell(error, of: batch.findings, retry: delay)
                hold(true)
                batches.append(batch)
                if answers.isFinishing || Task.isCancelled {
                    let left = batches.reduce(0) { $0 + $1.findings.count }
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

    /// Cuts the last batch in two, each of which is cut again at its next failure, or sets it aside if it is one result.
    private func cut(_ batches: inout [Batch], aside: inout [Finding]) {
        guard let batch = batches.popLast() else { return }
        guard batch.findings.count > 1 else {
            logger.error(
                "a result can't be recorded and is set aside",
                metadata: batch.findings.first.map { ["message.id": "\($0.message)"] })
            aside += batch.findings
            return
        }
        let middle = batch.findings.count / 2
        for half in [batch.findings[middle...], batch.findings[..<middle]] {
            batches.append(Batch(findings: Array(half), failures: Self.patience - 1))
        }
    }

    /// Tries once what was set aside, one by one.
    private func tryAgain(_ aside: inout [Finding]) async {
        var left: [Finding] = []
        for finding in aside {
            do throws(StoreError) {
                try await write([finding])
            } catch {
                tell(error, of: [finding], retry: Self.asideInterval)
                left.append(finding)
            }
        }
        aside = left
    }

    /// Writes findings in one transaction, and what follows from them.
    private func write(_ findings: [Finding]) async throws(StoreError) {
        let settlements = findings.map(settlement)
        let complete = try await store.settle(settlements)
        follow(findings, settlements, complete: complete)
    }

    private func tell(_ error: StoreError, of findings: [Finding], retry: Duration) {
        var metadata: Logger.Metadata = [
            "count": "\(findings.count)", "error": "\(error)", "retry": "\(retry)",
        ]
        if findings.count == 1, let finding = findings.first { metadata["message.id"] = "\(finding.message)" }
        logger.error("recording results failed", metadata: metadata)
    }

    private func settlement(of finding: Finding) -> Settlement {
        switch finding {
        case .answered(let delivery, let outcome, let isAttempt, let time):
            Settlement(
                delivery: delivery.claim,
                result: delivery.settlement(of: outcome, isAttempt: isAttempt, at: time, random: random()))
        case .decided(let settlement, _):
            settlement
        }
    }

    private func hold(_ isHeld: Bool) {
        for gate in gates.values { gate.hold(isHeld) }
    }

    /// What follows from a recorded batch: counts, log lines, room in the lanes.
    private func follow(_ findings: [Finding], _ settlements: [Settlement], complete: [MessageID]) {
        metrics.count(findings, settlements)
        let lessons = Lessons(settlements)
        metrics.count(lessons)
        lessons.log(to: logger)
        log(settlements)
        for message in complete {
            logger.debug("message complete", metadata: ["message.id": "\(message)"])
        }
        activeMessages.record()
        for gate in gates.values {
            var count = 0
            var due: Timestamp?
            for (finding, settlement) in zip(findings, settlements) where finding.lane == gate.lane {
                count += 1
                if case .retry(_, let notBefore) = settlement.result { due = min(due ?? notBefore, notBefore) }
            }
            guard count > 0 else { continue }
            gate.settled(count, due: due)
            metrics.inFlight(gate.inFlight, in: gate.lane)
        }
    }

    /// One line for each message and reason of a batch, not for each delivery.
    private func log(_ settlements: [Settlement]) {
        struct Line: Hashable {
            var message: MessageID
            var outcome: LedgerOutcome
            var reason: String
        }
        var lines: [Line: Int] = [:]
        for settlement in settlements {
            guard case .ended(let entry) = settlement.result, entry.outcome != .accepted else { continue }
            let line = Line(
                message: settlement.delivery.message, outcome: entry.outcome, reason: entry.reason ?? "")
            lines[line, default: 0] += 1
        }
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
