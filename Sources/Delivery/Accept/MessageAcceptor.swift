import Metrics
package import PushModel
package import Store
import Synchronization
package import Traces
import Tracing

/// Takes messages in: checks the finished bytes, commits, hands what was claimed in the same step to its lane.
///
/// Safe to share and to call from any number of requests at once; their commits join in the store.
package final class MessageAcceptor: Sendable {
    /// When a caller that found no place should come back: long enough to settle thousands of deliveries.
    private static let retryAfter: Duration = .seconds(5)
    /// The same when the disk is nearly full: somebody has to make room.
    private static let retryAfterDisk: Duration = .seconds(60)
    /// Messages that share a transaction, at most.
    package static let chunkSize = 100

    let store: any MessageStore
    private let composer: any PushComposer
    let admission: Admission
    let runner: DeliveryRunner?
    private let disk: DiskSpace?
    let wallTime: WallTime
    private let random: @Sendable () -> UInt64
    /// `nil`: nothing is traced.
    let tracer: StepTracer?
    private let isStopped = Atomic(false)
    private let turns = AsyncSemaphore(places: 2)
    let accepted = Counter(label: MetricName.messagesAccepted.rawValue)

    /// Prepares an acceptor.
    ///
    /// - Parameters:
    ///   - composer: makes the finished bytes; the same as the runner's.
    ///   - admission: what waits, and its limits, beyond which new messages are refused.
    ///   - runner: who sends what is accepted: it is woken after each commit, and single deliveries that it has room for
    ///     go to it directly. `nil`: this process sends nothing.
    ///   - disk: refuses new messages while it is nearly full; `nil`: nothing looks at the disk.
    ///   - random: 64 bits for each message id.
    ///   - tracer: decides which messages are traced, and records their accepts; `nil`: nothing is traced.
    package init(
        store: any MessageStore, composer: any PushComposer, admission: Admission, runner: DeliveryRunner?,
        disk: DiskSpace? = nil, wallTime: @escaping WallTime,
        random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }, tracer: StepTracer? = nil
    ) {
        self.tracer = tracer
        self.store = store
        self.composer = composer
        self.admission = admission
        self.runner = runner
        self.disk = disk
        self.wallTime = wallTime
        self.random = random
    }

    /// Accepts a message: when this returns, it is committed.
    package func accept(_ submission: Submission) async throws(SubmissionRefusal) -> AcceptedMessage {
        let prepared: PreparedSubmission
        do throws(SubmissionRefusal) {
            prepared = try admit(submission)
        } catch {
            throw count(error)
        }
        let results = await commit([prepared], isClaimed: !isHeld(prepared))
        // One result for each message.
        guard let result = results.first else { throw .stopping }
        return try result.get()
    }

    /// Accepts a message to one registration and waits for the end of its delivery. Others are only accepted.
    ///
    /// A rejected end is final: nothing of the message is sent any more. That includes a delivery that would be tried
    /// again if no caller waited, because the credential is refused.
    ///
    /// - Parameter limit: how long to wait after the commit.
    /// - Returns: what was accepted, and how the delivery ended; `nil`: not yet, or the request came before.
    package func accept(
        _ submission: Submission, waitingAtMost limit: Duration
    ) async throws(SubmissionRefusal) -> (accepted: AcceptedMessage, end: DeliveryEnd?) {
        var submission = submission
        if case .registration = submission.recipient { submission.isAwaited = true }
        let accepted = try await accept(submission)
        guard !accepted.isRepeat else { return (accepted, nil) }
        return (accepted, await runner?.end(of: accepted.id, atMost: limit))
    }

    /// Accepts messages, each for itself: one that is refused does not stop the others. When this returns, those that
    /// were taken are committed; up to ``chunkSize`` share a transaction, and with it its failure.
    ///
    /// - Returns: a result for each submission, in their order.
    package func accept(_ submissions: [Submission]) async -> [Result<AcceptedMessage, SubmissionRefusal>] {
        var results: [Result<AcceptedMessage, SubmissionRefusal>] = []
        results.reserveCapacity(submissions.count)
        var rest = submissions[...]
        while !rest.isEmpty {
            results += await acceptChunk(rest.prefix(Self.chunkSize))
            rest = rest.dropFirst(Self.chunkSize)
        }
        return results
    }

    /// Does a part of a large batch when its turn comes: two at a time, in the order of their coming. A part works for
    /// milliseconds without a pause, and a single message that comes meanwhile should wait for few of them, however many
    /// callers send batches. A part must not wait for another's turn.
    package func inTurn<Value>(_ part: () async -> Value) async -> Value {
        await turns.enter()
        defer { turns.leave() }
        return await part()
    }

    /// Says what would become of a submission, without keeping anything: whom it would reach, how large it is, how long
    /// it would take, why it would be refused.
    ///
    /// - Parameter isEstimate: whether the audience is the most that it can be, from counts that are kept, instead of counted.
    /// - Throws: ``SubmissionRefusal/store(_:)`` when the audience can't be counted, and ``SubmissionRefusal/stopping``.
    package func preflight(
        _ submission: Submission, isEstimate: Bool = false
    ) async throws(SubmissionRefusal) -> Preflight {
        guard !isStopped.load(ordering: .acquiring) else { throw count(.stopping) }
        let now = wallTime()
        let plan = plan(submission, at: now)
        var refusals = plan.violations.map(SubmissionRefusal.invalid)
        if disk?.isLow == true { refusals.append(.diskLow(retryAfter: Self.retryAfterDisk)) }
        if let limit = admission.full(submission.project.id, bytes: plan.bytes) {
            refusals.append(.full(limit, retryAfter: Self.retryAfter))
        }
        let audience: Int
        do throws(StoreError) {
            audience =
                isEstimate
                ? try await store.audienceBound(of: plan.recipient, in: submission.project.id)
                : try await store.audience(of: plan.recipient, in: submission.project.id)
        } catch {
            throw count(.store(error))
        }
        return Preflight(
            id: plan.id, audience: audience, payloadBytes: plan.pushes.mapValues(\.payload.count),
            expectedDuration: duration(of: audience, submission.options, at: now), refusals: refusals)
    }

    /// Whether ``stop()`` was called.
    package var isStopping: Bool { isStopped.load(ordering: .acquiring) }

    /// Refuses everything from now on; callers that wait for an end are released.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        runner?.waiters.stop()
    }

    private func duration(of audience: Int, _ options: DeliveryOptions, at now: Timestamp) -> Duration? {
        if let rate = options.rate { return .seconds(Double(audience) / Double(max(1, rate))) }
        if let end = options.finishBy { return max(.zero, end - now) }
        return runner?.recentRate.map { .seconds(Double(audience) / $0) }
    }

    func count(_ refusal: SubmissionRefusal) -> SubmissionRefusal {
        Counter(label: MetricName.messagesRefused.rawValue, dimensions: [("reason", refusal.label)]).increment()
        return refusal
    }
}

// MARK: - Committing

extension MessageAcceptor {
    private func acceptChunk(_ submissions: ArraySlice<Submission>) async -> [Result<
        AcceptedMessage, SubmissionRefusal
    >] {
        var results: [Result<AcceptedMessage, SubmissionRefusal>] = []
        var admitted: [(place: Int, PreparedSubmission)] = []
        for submission in submissions {
            do throws(SubmissionRefusal) {
                let prepared = try admit(submission)
                admitted.append((results.count, prepared))
                // Overwritten below.
                results.append(.failure(.stopping))
            } catch {
                results.append(.failure(count(error)))
            }
        }
        // What goes to a route that is held is not claimed: it waits in the store.
        let free = admitted.filter { !isHeld($0.1) }
        let held = admitted.filter { isHeld($0.1) }
        for (part, isClaimed) in [(free, true), (held, false)] where !part.isEmpty {
            let outcome = await commit(part.map(\.1), isClaimed: isClaimed)
            for (item, result) in zip(part, outcome) { results[item.place] = result }
        }
        return results
    }

    private func isHeld(_ prepared: PreparedSubmission) -> Bool {
        guard let runner, !prepared.isAwaited else { return false }
        return prepared.routes.contains { runner.isHeld($0, in: prepared.message.lane) }
    }

    func admit(_ submission: Submission) throws(SubmissionRefusal) -> PreparedSubmission {
        var prepared = try prepare(submission)
        // Before the commit: the end may come before the commit returns.
        if prepared.isAwaited, runner?.waiters.enter(prepared.message.id) == false {
            var unawaited = submission
            unawaited.isAwaited = false
            prepared = try prepare(unawaited)
            prepared.isWaitRefused = true
        }
        if let limit = admission.enter(submission.project.id, bytes: prepared.bytes) {
            if prepared.isAwaited { runner?.waiters.leave(prepared.message.id) }
            throw .full(limit, retryAfter: Self.retryAfter)
        }
        return prepared
    }

    /// Commits admitted messages in one transaction.
    private func commit(_ admitted: [PreparedSubmission], isClaimed: Bool) async -> [Result<
        AcceptedMessage, SubmissionRefusal
    >] {
        defer { for item in admitted { admission.leave(item.message.project, bytes: item.bytes) } }
        let start = tracer?.now
        let reservations = isClaimed ? reserve(for: admitted) : []
        let answers: [AcceptResult]
        do throws(StoreError) {
            answers = try await store.accept(admitted.map(\.message), claimedBy: reservations.first?.worker)
        } catch {
            for reservation in reservations { runner?.release(reservation) }
            if error.isOutcomeUnknown, let worker = reservations.first?.worker { runner?.giveUp(worker) }
            for item in admitted where item.isAwaited { runner?.waiters.leave(item.message.id) }
            return admitted.map { _ in .failure(count(.store(error))) }
        }
        var results: [Result<AcceptedMessage, SubmissionRefusal>] = []
        results.reserveCapacity(admitted.count)
        var claims: [DirectClaims] = []
        for (item, answer) in zip(admitted, answers) {
            if let start { trace(item, answer, from: start) }
            let result = result(answer, of: item, claims: &claims)
            if item.isAwaited, !result.isNew { runner?.waiters.leave(item.message.id) }
            results.append(result)
        }
        for reservation in reservations {
            runner?.deliver(claims.filter { $0.message.lane == reservation.lane }, reserved: reservation)
        }
        accepted.increment(by: results.count(where: \.isNew))
        return results
    }

    /// What a message's sender is told; what was claimed of it goes to `claims`.
    func result(
        _ answer: AcceptResult, of item: PreparedSubmission, claims: inout [DirectClaims]
    ) -> Result<AcceptedMessage, SubmissionRefusal> {
        switch answer {
        case .accepted(let message, let claimed):
            if !claimed.isEmpty {
                claims.append(
                    DirectClaims(
                        message: message, content: item.message.content, pushes: item.pushes, deliveries: claimed,
                        committedAt: message.id.isTraced ? tracer?.now : nil))
            }
            wake(item, message, claimed: claimed.count)
            return .success(
                AcceptedMessage(
                    id: message.id, lane: message.lane, message: message, isWaitRefused: item.isWaitRefused))
        case .repeated(let id):
            return .success(AcceptedMessage(id: id, lane: item.message.lane, message: nil))
        case .conflict:
            return .failure(count(.conflict))
        case .noRegistration:
            // It was there a moment ago, when the sender's token was looked up; who tries again is told for good.
            let reason = StoreError(.unavailable, "The registration went away while the message was accepted.")
            return .failure(count(.store(reason)))
        }
    }

    /// Takes room for the single deliveries of each lane, as far as there is; all of it is claimed by one worker. What has no
    /// room is claimed later.
    private func reserve(for admitted: [PreparedSubmission]) -> [Reservation] {
        guard let runner else { return [] }
        var reservations: [Reservation] = []
        for lane in Lane.allCases {
            var counts: [ProjectID: Int] = [:]
            for item in admitted where item.singles > 0 && item.message.lane == lane {
                counts[item.message.project, default: 0] += item.singles
            }
            guard !counts.isEmpty else { continue }
            var reservation = runner.reserve(counts, in: lane)
            if let taken = reservation, let first = reservations.first, first.worker != taken.worker {
                runner.release(taken)
                reservation = nil
            }
            if let reservation { reservations.append(reservation) }
            for item in admitted where item.message.lane == lane { item.message.isSentAtOnce = reservation != nil }
        }
        return reservations
    }

    /// Tells the lane of what was not claimed with the commit, and gives it what was composed.
    private func wake(_ item: PreparedSubmission, _ message: Message, claimed: Int) {
        guard item.singles == 0 || claimed < item.singles, let runner else { return }
        let composed = item.pushes.compactMap { key, push in item.apps[key].map { ($0, push) } }
        runner.expect(message, item.message.content, Dictionary(uniqueKeysWithValues: composed))
        runner.wake(item.message.lane)
    }
}

// MARK: - Tracing

extension MessageAcceptor {
    /// Records the accept of a message that is traced.
    func trace(_ item: PreparedSubmission, _ answer: AcceptResult, from start: TraceTime) {
        guard let tracer, case .accepted(let message, let claimed) = answer, message.id.isTraced else { return }
        item.origin?.note(message.id)
        tracer.record(
            .accept, of: [message.id], as: message.id.acceptContext, from: start,
            links: item.origin.map { [$0.context] } ?? [],
            [
                "herald.project": .string(message.project.rawValue), "herald.lane": .string(message.lane.rawValue),
                "herald.audience": .int(Int64(message.audience)), "herald.claimed": .int(Int64(claimed.count)),
            ])
    }
}

// MARK: - Building

extension MessageAcceptor {
    private func plan(_ submission: Submission, at now: Timestamp) -> SubmissionPlan {
        SubmissionPlan(
            of: submission, id: submission.newID(at: now, random: idNumber(for: submission)), acceptedAt: now,
            composer: composer)
    }

    /// The random part of a message's id, which says whether it is traced.
    private func idNumber(for submission: Submission) -> UInt64 {
        guard let tracer else { return random() }
        return TraceMark.marked(
            random(), isTraced: tracer.decide(for: submission.origin), isNumbered: submission.isNumbered)
    }

    /// The message as the store takes it, after all checks.
    func prepare(_ submission: Submission) throws(SubmissionRefusal) -> PreparedSubmission {
        guard !isStopping else { throw .stopping }
        guard disk?.isLow != true else { throw .diskLow(retryAfter: Self.retryAfterDisk) }
        let now = wallTime()
        let plan = plan(submission, at: now)
        if let violation = plan.violations.first { throw .invalid(violation) }
        var message = NewMessage(
            id: plan.id, project: submission.project.id, recipient: plan.recipient,
            content: submission.content, options: submission.options, lane: plan.lane, facts: plan.facts,
            acceptedAt: now, expiresAt: plan.life.expiresAt, idempotency: submission.idempotency,
            skipsStaleBefore: submission.project.stale.refreshedSince(at: now), links: submission.links)
        message.platforms = plan.platforms
        if case .registration(let registration) = submission.recipient { message.registration = registration.id }
        return PreparedSubmission(message, plan, of: submission)
    }
}

extension Result where Success == AcceptedMessage {
    /// Whether a message was taken that did not come before.
    fileprivate var isNew: Bool {
        if case .success(let accepted) = self { !accepted.isRepeat } else { false }
    }
}
