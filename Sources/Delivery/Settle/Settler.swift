import Logging
import PushModel
import Store

/// Records findings: takes what has come in, decides each delivery's settlement and writes them in one transaction.
///
/// It never waits for a batch to fill: while one transaction is being written the next batch gathers by itself, so
/// batches are small when little is going on and grow with the load. When the store refuses a batch, the lanes are held
/// and the same batch is written again until the store takes it: nothing is dropped.
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

    /// Records until ``finish()`` was called and nothing is left, or the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let findings = answers.take(atLeast: Self.batchSize)
            if findings.isEmpty {
                if answers.isFinishing { return }
                await answers.changed.wait()
            } else if await !record(findings) {
                return
            }
        }
    }

    /// Tells ``run()`` to record what has come in and return.
    func finish() {
        answers.finish()
        finishing.raise()
    }

    /// Writes one batch, however long the store takes to accept it.
    ///
    /// - Returns: `false` when the gateway stopped first: these deliveries stay claimed and the next run rescues them.
    private func record(_ findings: [Finding]) async -> Bool {
        let settlements = findings.map(settlement)
        var failures = 0
        while true {
            do throws(StoreError) {
                let complete = try await store.settle(settlements)
                if failures > 0 { hold(false) }
                follow(findings, settlements, complete: complete)
                return true
            } catch {
                failures += 1
                let delay = StoreBackoff.delay(failures: failures, random: random())
                logger.error(
                    "recording results failed",
                    metadata: ["count": "\(settlements.count)", "error": "\(error)", "retry": "\(delay)"])
                hold(true)
                if answers.isFinishing || Task.isCancelled {
                    logger.error(
                        "results are left to the next run", metadata: ["count": "\(settlements.count)"])
                    return false
                }
                await finishing.wait(atMost: delay, on: clock)
            }
        }
    }

    private func settlement(of finding: Finding) -> Settlement {
        switch finding {
        case .answered(let delivery, let outcome, let time):
            Settlement(
                delivery: delivery.claim, result: delivery.settlement(of: outcome, at: time, random: random()))
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
        log(settlements)
        for message in complete {
            logger.debug("message complete", metadata: ["message.id": "\(message)"])
        }
        activeMessages.completed(complete.count)
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
