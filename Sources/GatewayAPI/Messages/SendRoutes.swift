import Delivery
import Hummingbird
import JSON
import Logging
import PushModel
import Store

/// `POST /v1/projects/{p}/messages:send`, as FCM has it, and `messages:batchSend` beside it.
enum SendRoutes {
    // FCM's messages end at 4096 bytes of payload for each platform; blocks of other platforms may stand beside.
    static func all(batches: BatchGate) -> [Route] {
        [
            .project(.post, "messages:send", .send, send).limited(toBytes: 64 << 10).brief,
            .project(.post, "messages:batchSend", .send) { call in
                try await batches.withRoom(for: call) { try await BatchSend.respond(to: call) }
            }.forBatches,
        ]
    }

    @Sendable private static func send(_ call: ProjectCall) async throws -> Response {
        let key = try IdempotencyHeader.key(in: call.headers)
        let body = try await call.body()
        let idempotency = key.map {
            IdempotencyKey(
                key: $0, digest: body.digest(for: "messages:send"), lifetime: call.project.retention.idempotencyKeys)
        }
        // Whatever became of the target, the times and the limits since: a repeat has the answer of the first.
        let use = try await call.uses(of: [idempotency].compactMap(\.self)).first ?? .unused
        if case .same(let id) = use { return try await call.respond(toRepeatOf: id, body) }
        let request = try SendRequest(body, at: call.now, to: call.project.servedPlatforms)
        if use == .other, !request.validatesOnly { throw FCMError(.idempotencyConflict) }
        let recipient: Recipient<Registration, [Addressee]>
        switch try await call.sendRecipient(of: request.item.requiredTarget(), isFresh: request.validatesOnly) {
        case .known(let known): recipient = known
        case .relayed(let token): return try await call.respond(to: request, relaying: token, idempotency)
        }
        let submission = try await call.tracked(
            Submission(
                project: call.project, recipient: recipient,
                content: request.item.content, options: request.item.options,
                idempotency: idempotency, credential: call.credential, origin: call.trace), saying: request.item.content
        )
        let wait = try call.wait(of: request, for: submission.recipient)
        guard !request.validatesOnly else {
            let view = try await call.preflight(submission, isEstimate: request.estimatesAudience)
            if request.item.asksUpstream { try await call.checkUpstream(submission, of: request.item) }
            let members = view.members + request.item.warningMembers(of: view)
            return Response(json: .object(try await members + call.standing(of: submission.recipient)))
        }
        if let wait { return try await call.respond(to: submission, of: request, waiting: wait) }
        let accepted = try await call.accept(submission)
        return Response(
            json: .object(
                [.init("name", .string(call.name(of: accepted.id)))]
                    + request.item.warningMembers(in: call.project)))
    }
}

extension ProjectCall {
    /// `projects/<project>/messages/<id>`.
    func name(of message: MessageID) -> String { "\(projectName)/messages/\(message)" }

    /// What is known of idempotency keys, before anything else is looked at.
    func uses(of keys: [IdempotencyKey]) async throws(FCMError) -> [IdempotencyUse] {
        guard !keys.isEmpty else { return [] }
        do throws(StoreError) {
            return try await services.store.uses(of: keys, in: project.id, at: now)
        } catch {
            throw FCMError(error)
        }
    }

    /// Accepts one message.
    func accept(_ submission: Submission) async throws(FCMError) -> AcceptedMessage {
        do throws(SubmissionRefusal) {
            let accepted = try await services.acceptor.accept(submission)
            log(accepted)
            return accepted
        } catch {
            throw FCMError(error, project: project)
        }
    }

    /// Says what would become of a message.
    ///
    /// - Throws: the error for a message that breaks a rule, as accepting it would.
    func preflight(_ submission: Submission, isEstimate: Bool = false) async throws(FCMError) -> PreflightView {
        let preflight: Preflight
        do throws(SubmissionRefusal) {
            preflight = try await services.acceptor.preflight(submission, isEstimate: isEstimate)
        } catch {
            throw FCMError(error, project: project)
        }
        // What the sender has to mend is answered as FCM does; what only waiting helps against is told.
        for refusal in preflight.refusals {
            if case .invalid(let invalid) = refusal { throw FCMError(invalid) }
        }
        return PreflightView(
            name: name(of: preflight.id), preflight: preflight,
            errors: preflight.refusals.map { FCMError($0, project: project) })
    }

    /// Has the push service check a message, which only Google's does.
    ///
    /// - Throws: INVALID_ARGUMENT for any other recipient than one registration that is reached by it; what it answers.
    func checkUpstream(_ submission: Submission, of item: SendItem) async throws(FCMError) {
        guard case .registration(let registration) = submission.recipient, registration.channel == .fcm else {
            throw .upstreamNotPossible
        }
        try await askUpstream(submission, field: item.targetField)
    }

    /// Notes a message that was taken.
    func log(_ accepted: AcceptedMessage) {
        call.logger.debug(
            "Message accepted",
            metadata: [
                "message.id": "\(accepted.id)", "project.id": "\(project.id)", "lane": "\(accepted.lane)",
                "repeat": "\(accepted.isRepeat)",
            ].with(credential))
    }

    /// Whom a target means now.
    ///
    /// - Parameter isFresh: whether the times of a registration are shown, too.
    /// - Throws: INVALID_ARGUMENT for a token that is none, UNREGISTERED for an unknown or ended one, SENDER_ID_MISMATCH
    ///   for another project's.
    func recipient(of target: Target, isFresh: Bool = false) async throws(FCMError) -> Recipient<
        Registration, [Addressee]
    > {
        switch target {
        case .topic(let topic): return .topic(topic)
        case .condition(let condition): return .condition(condition)
        case .user(let user): return .user(user, try await addressees(of: user))
        case .channel(let channel): return .registration(try await channelRegistration(channel))
        case .registration, .token: break
        }
        if let key = target.notificationKey, let members = try await members(of: key) {
            let addressees = addressees(among: members)
            guard !addressees.isEmpty else { throw FCMError(.unregistered) }
            return .list(addressees)
        }
        guard let reference = target.reference else { throw .malformedToken(target, field: "message.token") }
        let named: NamedRegistration
        do throws(StoreError) {
            named = try await self.named(reference, isFresh: isFresh)
        } catch {
            throw FCMError(error)
        }
        return .registration(try addressable(named, as: reference))
    }

    /// The registrations of a user that a message to them is taken for.
    ///
    /// - Throws: UNREGISTERED when there is none.
    private func addressees(of user: UserID) async throws(FCMError) -> [Addressee] {
        let registrations: [Registration]
        do throws(StoreError) {
            registrations = try await services.store.registrations(
                of: user, in: project.id, limit: NewMessage.listLimit)
        } catch {
            throw FCMError(error)
        }
        let addressees = addressees(among: registrations)
        guard !addressees.isEmpty else { throw FCMError(.unregistered, reason: .userUnknown) }
        return addressees
    }
}

extension Target {
    /// The registration that is named, when one is named well.
    var reference: RegistrationReference? {
        switch self {
        case .registration(let id): .id(id)
        case .token(let text): RegistrationReference(rawValue: text)
        case .topic, .condition, .user, .channel: nil
        }
    }

    /// The key of a device group, which stands where a token may.
    var notificationKey: NotificationKey? {
        guard case .token(let text) = self else { return nil }
        return NotificationKey(rawValue: text)
    }
}

extension FCMError {
    /// A token that has not the form of one.
    static func malformedToken(_ target: Target?, field: String) -> FCMError {
        let error = FCMError.invalid(
            field, "The registration token is not a valid FCM registration token", reason: .malformedToken)
        guard case .token(let text)? = target else { return error }
        return error.hinting(SenderHint.malformedToken(text))
    }
}
