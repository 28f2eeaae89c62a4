import Metrics
package import PushModel
import Store
import Traces

/// Why a message to an address that no registration has was not accepted. Nothing was kept.
package enum AdoptionRefusal: Error, Sendable {
    /// Not sent: as for any other message.
    case refused(SubmissionRefusal)
    /// What the push service answered; never ``Outcome/accepted``.
    case answered(Outcome)
    /// No answer came in time. The push may have arrived.
    case unanswered
}

// Messages that go to a push service before anything of them is kept.
extension MessageAcceptor {
    /// How long a push service has for its answer.
    package static let answerLimit: Duration = .seconds(10)

    /// Sends a message to an address that no registration has, and waits for the answer. When the push service takes it,
    /// `adoption` makes the registration, and the message is committed with its delivery, which ends as accepted like any
    /// other. Otherwise nothing is kept.
    ///
    /// A gateway that is killed between the answer and the commit has kept nothing either: the sender has no answer then, and
    /// sends again.
    ///
    /// - Parameters:
    ///   - submission: its recipient is a registration that is not in the store.
    ///   - adoption: gives the one that is.
    package func accept(
        _ submission: Submission, adopting adoption: RegistrationAdoption
    ) async throws(AdoptionRefusal) -> AcceptedMessage {
        guard let runner else { throw .refused(count(.stopping)) }
        let prepared: PreparedSubmission
        do throws(SubmissionRefusal) {
            prepared = try admit(submission)
        } catch {
            throw .refused(count(error))
        }
        defer { admission.leave(prepared.message.project, bytes: prepared.bytes) }
        // In flight from now on, by the one that will record its end.
        guard let reservation = await runner.room(for: prepared.message.project, in: prepared.message.lane) else {
            let reason = StoreError(.unavailable, "Too many pushes are in flight.")
            throw .refused(count(.store(reason)))
        }
        do throws(AdoptionRefusal) {
            return try await keep(prepared, submission, in: reservation, runner, adoption)
        } catch {
            runner.release(reservation)
            throw error
        }
    }

    /// Asks the push service of one registration whether it would take a message, without delivering it.
    ///
    /// - Parameter submission: its recipient is one registration.
    /// - Returns: what it answered; `nil`: nothing in time.
    /// - Throws: why the message can't be sent at all.
    package func ask(_ submission: Submission) async throws(SubmissionRefusal) -> Outcome? {
        guard let runner else { throw count(.stopping) }
        var submission = submission
        submission.isDryRun = true
        let prepared = try prepare(submission)
        guard let push = prepared.push(of: submission) else { return .notSent(.noRoute) }
        return await runner.answer(to: push, within: Self.answerLimit)?.outcome
    }

    private func keep(
        _ prepared: PreparedSubmission, _ submission: Submission, in reservation: Reservation,
        _ runner: DeliveryRunner, _ adoption: RegistrationAdoption
    ) async throws(AdoptionRefusal) -> AcceptedMessage {
        guard let push = prepared.push(of: submission) else { throw .answered(.notSent(.noRoute)) }
        guard let report = await runner.answer(to: push, within: Self.answerLimit) else { throw .unanswered }
        guard report.outcome == .accepted else { throw .answered(report.outcome) }
        let start = tracer?.now
        let answers: [AcceptResult]
        do throws(StoreError) {
            let registration = try await adoption.make(wallTime())
            prepared.message.recipient = .registration(registration.key)
            prepared.message.registration = registration.id
            prepared.message.isSentAtOnce = true
            answers = try await store.accept([prepared.message], claimedBy: reservation.worker)
        } catch {
            if error.isOutcomeUnknown { runner.giveUp(reservation.worker) }
            throw .refused(count(.store(error)))
        }
        if let start, let answer = answers.first { trace(prepared, answer, from: start) }
        var claims: [DirectClaims] = []
        let result = answers.first.map { self.result($0, of: prepared, claims: &claims) } ?? .failure(.stopping)
        do throws(SubmissionRefusal) {
            let taken = try result.get()
            if let claim = claims.first?.deliveries.first {
                runner.record(report, of: claim, reserved: reservation)
            } else {
                // A repeat of a request, or the worker was taken over and the delivery is open.
                runner.release(reservation)
            }
            if !taken.isRepeat { accepted.increment() }
            return taken
        } catch {
            throw .refused(error)
        }
    }
}

extension PreparedSubmission {
    /// The push to the one registration; `nil`: nothing is sent to its app.
    fileprivate func push(of submission: Submission) -> Push? {
        guard case .registration(let registration) = submission.recipient, let route = routes.first,
            let content = pushes[registration.appKey]
        else { return nil }
        return Push(
            route: route, lane: message.lane, address: registration.address, isProven: registration.isProven,
            isAwaited: true, content: content,
            payload: content.isPersonal ? content.payload(for: registration.id) : content.payload,
            id: message.content.pushID ?? PushID(message: message.id, registration: registration.key))
    }
}
