import Delivery
import Foundation
import Logging
import PushModel
import Store

/// Sends one endpoint's events: reads, sends, writes down how far it is, one delivery after the other, until the endpoint is
/// disabled or removed, or the task is cancelled. While a request is under way the next batch is read.
struct EndpointSender {
    /// The rest between two looks at events that found none: endpoints of what is rare are not to read at each commit of a
    /// broadcast.
    private static let readingRest: Duration = .milliseconds(50)
    /// The rest before a store that failed is asked again.
    private static let storeRest: Duration = .seconds(1)
    /// The longest sleep: a clock that was set is seen by then.
    private static let longestSleep: Duration = .seconds(60)
    /// How far what is not for the endpoint may be passed before that is written down, and for how long.
    private static let (unwritten, unwrittenTime): (Int64, Duration) = (20_000, .seconds(60))

    private let services: WebhookServices
    private let signal: WakeSignal
    private var endpoint: WebhookEndpoint
    private var schedule: DeliverySchedule
    private var reader: EndpointReader
    /// What is to be sent; it was read and not taken yet.
    private var current: WebhookDelivery?
    /// What was read while `current` was under way.
    private var following: WebhookDelivery?
    private var writtenAt: Timestamp
    /// Dead letters in a row that failed again.
    private var failedRevivals = 0

    init(_ endpoint: WebhookEndpoint, _ services: WebhookServices, signal: WakeSignal) {
        self.services = services
        self.signal = signal
        self.endpoint = endpoint
        schedule = DeliverySchedule(endpoint.position)
        reader = EndpointReader(endpoint, from: services.store)
        writtenAt = services.wallTime()
    }

    /// Sends until the endpoint is disabled or removed, or the task is cancelled.
    mutating func run() async {
        // Between the list that the endpoint was in and this, it may have been disabled by the sender before.
        var isKnown = false
        while !Task.isCancelled {
            do throws(StoreError) {
                if signal.takeReload() || !isKnown {
                    guard try await reload() else { return }
                    isKnown = true
                }
                guard try await step() else { return }
                await services.budget.rest()
            } catch {
                if Task.isCancelled { return }
                services.logger.warning(
                    "Webhook waits for the store", metadata: ["webhook": "\(endpoint.id)", "error": "\(error)"])
                await pause(Self.storeRest)
            }
        }
    }

    /// Reads the endpoint anew; `false`: there is nothing more to do for it.
    private mutating func reload() async throws(StoreError) -> Bool {
        guard let found = try await services.store.webhook(endpoint.id, in: endpoint.project), found.state == .enabled
        else { return false }
        guard found.revision != endpoint.revision else { return true }
        // What was read goes by earlier settings; it is read again.
        endpoint = found
        schedule = DeliverySchedule(found.position)
        reader = EndpointReader(found, from: services.store)
        (current, following) = (nil, nil)
        return true
    }

    /// One step: something is read, waited for, or sent. `false`: the endpoint is disabled.
    private mutating func step() async throws(StoreError) -> Bool {
        let now = services.wallTime()
        if let time = schedule.nextAttemptAt, now < time {
            await wait(until: time)
            return true
        }
        if current == nil {
            (current, following) = (following, nil)
        }
        if current == nil {
            switch try await read(at: now) {
            case .delivery(let delivery): current = delivery
            case .replayIsOver:
                endReplay()
                try await note(WebhookProgress(revision: endpoint.revision, position: position()))
                return true
            case .scanned:
                try await notePassed(at: now)
                return true
            case .nothing(let end):
                try await notePassed(at: now)
                await wait(until: end)
                await pause(Self.readingRest)
                return true
            }
        }
        guard let delivery = current else { return true }
        if delivery.isClosedByTime, endpoint.position.boundary != delivery.last {
            endpoint.position.boundary = delivery.last
            try await note(WebhookProgress(revision: endpoint.revision, position: position()))
        }
        return try await send(delivery)
    }

    private mutating func read(at now: Timestamp) async throws(StoreError) -> EndpointReader.Finding {
        let start = ContinuousClock.now
        defer { services.budget.spend(ContinuousClock.now - start, behind: reader.lag) }
        return try await reader.next(at: now)
    }

    // MARK: Sending

    private mutating func send(_ delivery: WebhookDelivery) async throws(StoreError) -> Bool {
        let endpoint = endpoint
        let host = URL(string: endpoint.settings.url)?.host() ?? endpoint.settings.url
        guard case .send = schedule.begin(at: services.wallTime()) else { return true }
        let (services, isFailing) = (services, schedule.isFailing)
        // The next batch is read meanwhile, by a reader of its own: what was sent is written down without waiting for it.
        let before = following == nil && !delivery.isDroppable ? reader : nil
        async let ahead = ReadAhead(before, services)
        let sent = await services.slots.run(host: host, isFailing: isFailing) {
            await services.send(delivery, to: endpoint)
        }
        guard let (answer, attempt) = sent, !Task.isCancelled || answer.failure == nil else {
            // The gateway stops: whether the receiver has it is not known, so it is sent again with the same id.
            return false
        }
        services.metrics.count(answer)
        guard try await settle(delivery, answer, attempt) else { return false }
        if let read = await ahead { (reader, following) = (read.reader, read.delivery) }
        return true
    }

    private mutating func settle(
        _ delivery: WebhookDelivery, _ answer: WebhookAnswer, _ attempt: WebhookAttempt
    ) async throws(StoreError) -> Bool {
        let now = services.wallTime()
        var progress = WebhookProgress(revision: endpoint.revision, position: endpoint.position)
        progress.attempt = attempt
        var isOver = false
        if let failure = answer.failure {
            let (verdict, warning) = schedule.failed(
                DeliverySchedule.Failure(retryAfter: answer.honouredRest, isGone: failure == .gone),
                isDroppable: delivery.isDroppable, isRevival: delivery.isRevival, at: now, random: services.random())
            switch verdict {
            case .retry: break
            case .giveUp where delivery.isRevival: fail(delivery)
            case .giveUp:
                progress.deadLetter = WebhookDeadLetter(
                    delivery: delivery.id, type: delivery.type, event: delivery.first, time: now,
                    failure: failure.rawValue, body: delivery.body)
                pass(delivery)
            case .disable: isOver = true
            }
            if let warning {
                progress.notice = WebhookNotice(endpoint: endpoint.id, percent: warning, isGone: failure == .gone)
            }
            log(answer, verdict, attempt)
        } else {
            schedule.succeeded(at: now)
            failedRevivals = 0
            let isEventOfReplay = reader.isReplaying && delivery.isDroppable && !delivery.isGap
            if delivery.isRevival || isEventOfReplay { progress.revived = delivery.first }
            pass(delivery)
        }
        progress.position = position()
        try await write(progress, at: now)
        return !isOver
    }

    /// Writes down what was done until the store takes it: sent once more it would be a repeat.
    private mutating func write(_ progress: WebhookProgress, at now: Timestamp) async throws(StoreError) {
        while true {
            do throws(StoreError) {
                try await note(progress)
                return
            } catch {
                guard !Task.isCancelled else { throw error }
                services.logger.warning(
                    "Webhook not noted", metadata: ["webhook": "\(endpoint.id)", "error": "\(error)"])
                await pause(Self.storeRest)
            }
        }
    }

    /// A dead letter stays one. After some in a row so do those behind it: live events wait for them all.
    private mutating func fail(_ revival: WebhookDelivery) {
        pass(revival)
        failedRevivals += 1
        guard failedRevivals >= DeliverySchedule.failedRevivals else { return }
        endReplay()
    }

    /// The delivery is through.
    private mutating func pass(_ delivery: WebhookDelivery) {
        current = nil
        if endpoint.position.replay != nil {
            endpoint.position.replay?.cursor = delivery.last
        } else {
            endpoint.position.cursor = delivery.last
        }
        endpoint.position.boundary = nil
    }

    // MARK: The place

    /// The place with what the schedule says.
    private func position() -> WebhookPosition {
        var position = endpoint.position
        (position.attempts, position.nextAttemptAt) = (schedule.attempts, schedule.nextAttemptAt)
        (position.failingSince, position.warned) = (schedule.failingSince, schedule.warned)
        return position
    }

    private mutating func note(_ progress: WebhookProgress) async throws(StoreError) {
        try await services.store.note(progress, of: endpoint.id, at: services.wallTime())
        writtenAt = services.wallTime()
    }

    /// Writes down now and then how far events were passed that are not for the endpoint: otherwise retention would seem to
    /// have overtaken it, and they would be read again after a restart.
    private mutating func notePassed(at now: Timestamp) async throws(StoreError) {
        let passed = reader.passed
        let written = endpoint.position.replay?.cursor ?? endpoint.position.cursor
        let isFar = passed.rawValue - written.rawValue >= Self.unwritten
        guard passed > written, isFar || now - writtenAt >= Self.unwrittenTime else { return }
        if endpoint.position.replay != nil {
            endpoint.position.replay?.cursor = passed
        } else {
            endpoint.position.cursor = passed
        }
        try await note(WebhookProgress(revision: endpoint.revision, position: position()))
    }

    private mutating func endReplay() {
        endpoint.position.replay = nil
        endpoint.position.boundary = nil
        failedRevivals = 0
        reader = EndpointReader(endpoint, from: services.store)
    }

    // MARK: Waiting

    private func wait(until time: Timestamp?) async {
        let rest = time.map { max(.zero, min($0 - services.wallTime(), Self.longestSleep)) } ?? Self.longestSleep
        await signal.wait(atMost: rest, on: services.clock)
    }

    private func pause(_ duration: Duration) async {
        await services.clock.pause(duration)
    }

    private func log(_ answer: WebhookAnswer, _ verdict: DeliverySchedule.Verdict, _ attempt: WebhookAttempt) {
        var metadata: Logger.Metadata = [
            "webhook": "\(endpoint.name)", "delivery": "\(attempt.delivery)",
            "failure": "\(answer.failure?.rawValue ?? "")",
        ]
        if let status = answer.status { metadata["status"] = "\(status)" }
        switch verdict {
        case .retry: services.logger.debug("Webhook failed", metadata: metadata)
        case .giveUp: services.logger.warning("Webhook given up", metadata: metadata)
        case .disable: services.logger.warning("Webhook disabled", metadata: metadata)
        }
    }
}
