import Delivery
import FCMWire
import Hummingbird
import JSON
import PushModel
import Store

/// `POST /fcm/send`, FCM's HTTP API before v1 (fcm.md §3). What it says becomes v1 messages; only questions and answers have
/// another form.
///
/// Once a message of a call is kept the answer is 200, and what was not kept stands in it as an error of its own: senders
/// repeat whole calls after a 5xx, and some after any `Retry-After`.
enum LegacySend {
    /// Where it is.
    static let path = "/fcm/send"

    // Room for a message and 1000 tokens, six times as long as ours.
    static let all = [
        Route(method: .post, path: path, scope: .keyProject(.send, respond)).limited(toBytes: 1 << 20).brief
    ]

    @Sendable private static func respond(_ call: ProjectCall) async throws -> Response {
        let request = try LegacySendRequest(await call.body(), at: call.now)
        switch request.recipient {
        case .missing: return LegacyAnswer([.failed(.missingRegistration)]).response
        case .one(let name):
            if let key = NotificationKey(rawValue: name), let members = try await call.members(of: key) {
                return try await LegacyGroupSend(call: call, request: request).answer(to: members)
            }
            return try await LegacyTokenSend(call: call, request: request).answer(to: [name])
        case .many(let names): return try await LegacyTokenSend(call: call, request: request).answer(to: names)
        case .topic(let topic): return try await broadcast(call, request, to: .topic(topic))
        case .condition(let condition): return try await broadcast(call, request, to: .condition(condition))
        }
    }

    /// Sends to a topic or a condition: the answer has a number for an id.
    private static func broadcast(
        _ call: ProjectCall, _ request: LegacySendRequest, to recipient: Recipient<Registration, [Addressee]>
    ) async throws(FCMError) -> Response {
        guard !call.project.apps.isEmpty else {
            throw .invalidParameters(FCMError(.badRequest, "The project \(call.project.id) has no apps to send to."))
        }
        let content: FCMMessage
        switch request.content {
        case .success(let valid): content = valid
        case .failure(let error): return Response(json: .object([.init("error", .string(error.rawValue))]))
        }
        var submission = try await call.tracked(
            Submission(
                project: call.project, recipient: recipient, content: content, credential: call.credential,
                origin: call.trace),
            saying: content)
        submission.isNumbered = true
        switch await call.legacySend([submission], isDryRun: request.isDryRun).first {
        case .success(let id)?:
            return Response(json: .object([.init("message_id", .number(id.rawValue))]))
        case .failure(let refusal)?:
            var error = LegacyError(refusal)
            if case .full = refusal { error = .topicsMessageRateExceeded }
            var response = Response(json: .object([.init("error", .string(error.rawValue))]))
            if error.isTemporary { response.askToComeBack(after: FCMError(refusal, project: call.project)) }
            return response
        case nil: throw FCMError(.internal)
        }
    }
}

/// One message to tokens: each token has a message of its own, with an id of its own.
struct LegacyTokenSend {
    let call: ProjectCall
    let request: LegacySendRequest

    /// Sends, and answers with a result for each token, in order.
    ///
    /// - Throws: UNAVAILABLE when the registrations can't be looked up; nothing was kept.
    func answer(to names: [String]) async throws(FCMError) -> Response {
        let prepared = try await submissions(to: names)
        // Errors are answered below.
        let submissions = prepared.compactMap {
            if case .success(.known(let submission)) = $0 { submission } else { nil }
        }
        let relayed = await relay(prepared)
        var sent = await call.legacySend(submissions, isDryRun: request.isDryRun).makeIterator()
        var temporary: SubmissionRefusal?
        let results = prepared.enumerated().map { place, item in
            switch item {
            case .failure(let error): return LegacyAnswer.Item.failed(error)
            case .success(.relayed):
                switch relayed[place] {
                case .success(let id)?: return .sent(id)
                case .failure(let error)?: return .failed(LegacyError(relayed: error))
                case nil: return .failed(.internalServerError)
                }
            case .success(.known):
                switch sent.next() {
                case .success(let id)?: return .sent(id)
                case .failure(let refusal)?:
                    let error = LegacyError(refusal)
                    if error.isTemporary { temporary = refusal }
                    return .failed(error)
                case nil: return .failed(.internalServerError)
                }
            }
        }
        let answer = LegacyAnswer(results)
        var response = answer.response
        // A sender that is told to come back sends everything again.
        if let temporary, answer.successes == 0 {
            response.askToComeBack(after: FCMError(temporary, project: call.project))
        }
        return response
    }

    /// The submission for each token, or why there is none.
    private func submissions(
        to names: [String]
    ) async throws(FCMError) -> [Result<Addressed, LegacyError>] {
        // Looked at once: each message gets links of its own.
        var tracker: LinkTracker?
        if case .success(let content) = request.content { tracker = try await LinkTracker(content, in: call) }
        var addressed: [Result<Addressed, LegacyError>] = []
        addressed.reserveCapacity(names.count)
        for (name, named) in zip(names, try await call.named(texts: names, isFresh: false)) {
            guard let named else {
                addressed.append(.failure(name.isEmpty ? .missingRegistration : .invalidRegistration))
                continue
            }
            let (meant, token) = try await relayed(named, as: name)
            addressed.append(
                Result { [tracker] () throws(LegacyError) in
                    let submission = try submission(to: meant)
                    let tracked = tracker?.tracked(submission) ?? submission
                    return token.map { .relayed($0, tracked) } ?? .known(tracked)
                })
        }
        return addressed
    }

    /// A message to a token.
    private enum Addressed: Sendable {
        /// A registration's.
        case known(Submission)
        /// One that only Google may know.
        case relayed(RelayedToken, Submission)
    }

    /// What a token means in a project that lets Google's through: another registration than it names, or what stands for
    /// one until Google has taken the message.
    private func relayed(
        _ named: NamedRegistration, as name: String
    ) async throws(FCMError) -> (NamedRegistration, RelayedToken?) {
        guard let app = call.project.relayApp, let reference = RegistrationReference(rawValue: name) else {
            return (named, nil)
        }
        let relaying: ProjectCall.Relaying
        do throws(StoreError) {
            relaying = try await call.relaying(named, as: reference, app)
        } catch {
            throw FCMError(error)
        }
        switch relaying {
        case .holder(let registration): return (.known(registration), nil)
        case .relayed(let token): return (.known(try token.registration(in: call.project, at: call.now)), token)
        case .none: return (named, nil)
        }
    }

    /// Sends to the tokens that only Google may know, all at once; by place. A dry run asks Google as well.
    private func relay(_ items: [Result<Addressed, LegacyError>]) async -> [Int: Result<MessageID, FCMError>] {
        await withTaskGroup(of: (Int, Result<MessageID, FCMError>).self) { tasks in
            for (place, item) in items.enumerated() {
                guard case .success(.relayed(let token, let submission)) = item else { continue }
                tasks.addTask { [call, request] in
                    do throws(FCMError) {
                        return (place, .success(try await call.legacyRelay(submission, token, request.isDryRun)))
                    } catch {
                        return (place, .failure(error))
                    }
                }
            }
            return await tasks.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func submission(
        to named: NamedRegistration
    ) throws(LegacyError) -> Submission {
        if case .ofOtherProject = named { throw .mismatchSenderID }
        guard case .known(let registration) = named, registration.isAddressable(at: call.now) else {
            throw .notRegistered
        }
        guard call.project.apps[registration.appKey] != nil else { throw .mismatchSenderID }
        guard request.isFor(registration.app) else { throw .invalidPackageName }
        return Submission(
            project: call.project, recipient: .registration(registration), content: try request.content.get(),
            credential: call.credential, origin: call.trace)
    }
}

/// One message to the members of a device group (fcm.md §3, §6).
struct LegacyGroupSend {
    let call: ProjectCall
    let request: LegacySendRequest

    /// Sends to those of `members` that can be sent to, and answers how many these are.
    func answer(to members: [Registration]) async throws(FCMError) -> Response {
        let content: FCMMessage
        switch request.content {
        case .success(let valid): content = valid
        case .failure(let error): return Response(json: .object([.init("error", .string(error.rawValue))]))
        }
        let addressees = call.addressees(among: members.filter { request.isFor($0.app) })
        let keys = Set(addressees.map(\.key))
        let others = members.filter { !keys.contains($0.key) }
        // A group may have no members any more, and a member a token that can't be sent to.
        guard !addressees.isEmpty else { return response(sent: 0, failed: others) }
        let submission = try await call.tracked(
            Submission(
                project: call.project, recipient: .list(addressees), content: content, credential: call.credential,
                origin: call.trace),
            saying: content)
        switch await call.legacySend([submission], isDryRun: request.isDryRun).first {
        case .success(let id)?:
            return response(sent: addressees.count, failed: others, name: call.name(of: id))
        case .failure(let refusal)?:
            let error = LegacyError(refusal)
            guard error.isTemporary else {
                return Response(json: .object([.init("error", .string(error.rawValue))]))
            }
            var answer = response(sent: 0, failed: members)
            answer.askToComeBack(after: FCMError(refusal, project: call.project))
            return answer
        case nil: throw FCMError(.internal)
        }
    }

    /// - Parameter name: of the message, which FCM does not tell here.
    private func response(sent: Int, failed: [Registration], name: String? = nil) -> Response {
        var members: [JSONValue.Member] = [
            .init("success", .integer(sent)), .init("failure", .integer(failed.count)),
        ]
        if !failed.isEmpty {
            members.append(.init("failed_registration_ids", .array(failed.map { .string(self.name(of: $0)) })))
        }
        if let name { members.append(.init("name", .string(name))) }
        return Response(json: .object(members))
    }

    /// What a member is called: its FID, which can be sent to as well. Its token belongs to the app, and a sender that put
    /// the member into the group by its FID never had it; an admin reads tokens elsewhere too.
    private func name(of member: Registration) -> String {
        call.caller.role == .admin ? member.token.rawValue : member.id.rawValue
    }
}

/// What the legacy API answers when tokens were named.
struct LegacyAnswer {
    /// What became of one token.
    enum Item: Hashable, Sendable {
        /// It has a message of this id.
        case sent(MessageID)
        /// It has none.
        case failed(LegacyError)
    }

    /// In the order of the request.
    let items: [Item]

    init(_ items: [Item]) {
        self.items = items
    }

    /// How many have a message.
    var successes: Int {
        items.count { if case .sent = $0 { true } else { false } }
    }

    /// The answer. A registration has one token as long as it lives: none has a newer one to tell.
    var response: Response {
        let results = items.map { item in
            switch item {
            case .sent(let id): JSONValue.object([.init("message_id", .string(id.rawValue))])
            case .failed(let error): JSONValue.object([.init("error", .string(error.rawValue))])
            }
        }
        return Response(
            json: .object([
                .init("multicast_id", .number(String(Int64.random(in: 1 ... .max)))),
                .init("success", .integer(successes)), .init("failure", .integer(items.count - successes)),
                .init("canonical_ids", .integer(0)), .init("results", .array(results)),
            ]))
    }
}

extension LegacySendRequest {
    /// Whether it may go to this app.
    fileprivate func isFor(_ app: AppID) -> Bool {
        restrictedPackageName.map { $0 == app.rawValue } ?? true
    }
}

extension ProjectCall {
    /// Has Google take a message, or check it only; the message's id, or of none.
    fileprivate func legacyRelay(
        _ submission: Submission, _ token: RelayedToken, _ isDryRun: Bool
    ) async throws(FCMError) -> MessageID {
        guard isDryRun else { return try await accept(submission, adopting: token, of: nil).id }
        try await askUpstream(submission, field: "message.token")
        return MessageID(acceptedAt: now, random: .random(in: .min ... .max))
    }

    /// Accepts messages, or says what their ids would look like.
    fileprivate func legacySend(
        _ submissions: [Submission], isDryRun: Bool
    ) async -> [Result<MessageID, SubmissionRefusal>] {
        guard isDryRun else {
            var submissions = submissions
            let isLarge = submissions.count > NewMessage.smallListLimit
            for place in submissions.indices { submissions[place].isOfLargeBatch = isLarge }
            let acceptor = services.acceptor
            let results =
                isLarge
                ? await acceptor.inTurn { await acceptor.accept(submissions) } : await acceptor.accept(submissions)
            return results.map { result in
                result.map { accepted in
                    log(accepted)
                    return accepted.id
                }
            }
        }
        var results: [Result<MessageID, SubmissionRefusal>] = []
        for submission in submissions {
            do throws(SubmissionRefusal) {
                let preflight = try await services.acceptor.preflight(submission)
                results.append(preflight.refusals.first.map { .failure($0) } ?? .success(preflight.id))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}

extension Response {
    /// Says when to try again after an error of which nothing was kept.
    fileprivate mutating func askToComeBack(after error: FCMError) {
        guard let seconds = error.retryAfterSeconds ?? error.code.retryAfterSeconds else { return }
        headers[.retryAfter] = String(max(1, seconds))
    }
}
