import Delivery
import Hummingbird
import JSON
import PushModel
import Store

/// `POST /v1/projects/{p}/messages:batchSend`: many messages, or one message to many tokens, in one request.
///
/// Answers 200 with a result for each item in order; an error for the whole request only when nothing of it was looked
/// at. Messages are taken in chunks, each one transaction: what one chunk is refused for does not touch the others.
enum BatchSend {
    static func respond(to call: ProjectCall) async throws -> Response {
        let key = try IdempotencyHeader.key(in: call.headers)
        let body = try await call.body()
        let idempotency = key.map {
            IdempotencyKey(
                key: $0, digest: body.digest(for: "messages:batchSend"),
                lifetime: call.project.retention.idempotencyKeys)
        }
        // Of the whole request; messages of a batch have keys of their own besides.
        let use = try await call.uses(of: [idempotency].compactMap(\.self)).first ?? .unused
        let request = try BatchSendRequest(
            body.json(), at: try await call.time(of: use), to: call.project.servedPlatforms)
        switch request.batch {
        case .messages(let messages):
            if use == .other, !request.validatesOnly { throw FCMError(.idempotencyConflict) }
            let batch = MessageBatch(call: call, validatesOnly: request.validatesOnly, idempotency: idempotency)
            return Response(json: .object([.init("responses", .array(try await batch.results(of: messages)))]))
        case .multicast(let item, let tokens):
            let multicast = Multicast(call: call, item: item, idempotency: idempotency, use: use)
            return Response(
                json: .object(try await multicast.answer(to: tokens, validatesOnly: request.validatesOnly)))
        }
    }
}

/// Messages of their own.
private struct MessageBatch {
    let call: ProjectCall
    let validatesOnly: Bool
    let idempotency: IdempotencyKey?

    func results(of messages: [JSONValue]) async throws -> [JSONValue] {
        var results: [JSONValue] = []
        results.reserveCapacity(messages.count)
        // What is only validated takes no turn: audiences are counted, which may take long.
        let isLarge = messages.count > NewMessage.smallListLimit && !validatesOnly
        while results.count < messages.count {
            let part = messages[results.count..<min(results.count + MessageAcceptor.chunkSize, messages.count)]
            guard isLarge else {
                results += await chunk(part, isOfLarge: false)
                continue
            }
            results += await call.services.acceptor.inTurn { await chunk(part, isOfLarge: true) }
        }
        return results
    }

    /// A chunk's results; its indices are the messages' places in the batch.
    private func chunk(_ messages: ArraySlice<JSONValue>, isOfLarge: Bool) async -> [JSONValue] {
        let uses: [IdempotencyUse]
        do throws(FCMError) {
            uses = try await self.uses(of: messages)
        } catch {
            return messages.map { _ in error.result }
        }
        let items = zip(messages, uses).map { message, use in
            Result { () throws(FCMError) in try item(message, use) }
        }
        let prepared = await resolve(items, from: messages.startIndex)
        guard !validatesOnly else {
            var results: [JSONValue] = []
            for (submission, item) in zip(prepared, items) {
                results.append(await preflight(submission, of: item))
            }
            return results
        }
        var submissions = prepared.compactMap { try? $0.get() }  // Errors are answered below.
        for place in submissions.indices { submissions[place].isOfLargeBatch = isOfLarge }
        var accepted = await call.services.acceptor.accept(submissions).makeIterator()
        return zip(zip(prepared, items), uses).map { entry, use in
            let (submission, item) = entry
            if case .same(let id) = use { return .object([.init("name", .string(call.name(of: id)))]) }
            switch submission {
            case .failure(let error): return error.result
            case .success:
                switch accepted.next() {
                case .success(let taken)?:
                    call.log(taken)
                    return .object(
                        [.init("name", .string(call.name(of: taken.id)))] + item.warningMembers(in: call.project))
                case .failure(let refusal)?: return FCMError(refusal, project: call.project).result
                case nil: return FCMError(.internal).result
                }
            }
        }
    }

    /// What is known of the messages' keys, in one read.
    private func uses(of messages: ArraySlice<JSONValue>) async throws(FCMError) -> [IdempotencyUse] {
        guard let idempotency, !validatesOnly else { return messages.map { _ in .unused } }
        return try await call.uses(of: messages.indices.map { idempotency.item($0) })
    }

    private func item(_ message: JSONValue, _ use: IdempotencyUse) throws(FCMError) -> SendItem {
        // Not taken a second time; a repeat's answer is put in below.
        guard use == .unused else { throw FCMError(.idempotencyConflict) }
        let reader = try ObjectReader(root: message)
        try SendItem.refuseUnknown(in: reader)
        let item = try SendItem(reader, at: call.now, to: call.project.servedPlatforms)
        try item.refuseWait()
        try item.refuseUpstream()
        return item
    }

    private func preflight(
        _ submission: Result<Submission, FCMError>, of item: Result<SendItem, FCMError>
    ) async -> JSONValue {
        do throws(FCMError) {
            let view = try await call.preflight(submission.get())
            return .object(view.members + (try item.get().warningMembers(of: view)))
        } catch {
            return error.result
        }
    }

    /// Finds the registrations of a chunk in one read.
    private func resolve(
        _ items: [Result<SendItem, FCMError>], from start: Int
    ) async -> [Result<Submission, FCMError>] {
        let references = items.compactMap { item in
            if case .success(let item) = item { item.target?.reference } else { nil }
        }
        var found: [RegistrationReference: NamedRegistration] = [:]
        var failure: FCMError?
        do {
            for (reference, named) in zip(references, try await call.named(references)) { found[reference] = named }
        } catch {
            failure = FCMError(error)
        }
        var results: [Result<Submission, FCMError>] = []
        results.reserveCapacity(items.count)
        for (place, item) in zip(start..., items) {
            do throws(FCMError) {
                results.append(.success(try await submission(item.get(), at: place, found, failure)))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    private func submission(
        _ item: SendItem, at place: Int, _ found: [RegistrationReference: NamedRegistration], _ failure: FCMError?
    ) async throws(FCMError) -> Submission {
        let target = try item.requiredTarget()
        let recipient: Recipient<Registration, [Addressee]>
        if let reference = target.reference, target.notificationKey == nil {
            if let failure { throw failure }
            recipient = .registration(try call.addressable(found[reference] ?? .unknown, as: reference))
        } else {
            recipient = try await call.recipient(of: target)
        }
        return try await call.tracked(
            Submission(
                project: call.project, recipient: recipient, content: item.content, options: item.options,
                idempotency: idempotency?.item(place), credential: call.credential, origin: call.trace),
            saying: item.content)
    }
}

/// One message to many tokens.
private struct Multicast {
    let call: ProjectCall
    let item: SendItem
    let idempotency: IdempotencyKey?
    /// What is known of the key.
    let use: IdempotencyUse

    /// A token's own result.
    private enum TokenResult {
        case valid
        case malformed
        /// Malformed, and most likely a device token.
        case deviceToken
        case unknown
        /// Not known here, and perhaps to Google.
        case notRelayed
        case ofOtherProject
        case ended
        case quarantined
    }

    func answer(to tokens: [String], validatesOnly: Bool) async throws(FCMError) -> [JSONValue.Member] {
        if use == .other, !validatesOnly { throw FCMError(.idempotencyConflict) }
        let (addressees, results) = try await resolve(tokens)
        var members: [JSONValue.Member] = []
        if case .same(let id) = use {
            members = [.init("name", .string(call.name(of: id)))]
        } else if !addressees.isEmpty {
            let submission = try await call.tracked(
                Submission(
                    project: call.project, recipient: .list(addressees), content: item.content, options: item.options,
                    idempotency: idempotency, credential: call.credential, origin: call.trace), saying: item.content)
            if validatesOnly {
                let view = try await call.preflight(submission)
                members = view.members + item.warningMembers(of: view)
            } else {
                members =
                    [.init("name", .string(call.name(of: try await call.accept(submission).id)))]
                    + item.warningMembers(in: call.project)
            }
        }
        // One value for all that are alike: there may be a hundred thousand.
        let (valid, malformed) = (JSONValue.object([]), FCMError.malformedToken(nil, field: "tokens").result)
        let deviceToken = FCMError.malformedToken(
            tokens.lazy.map { Target.token($0) }.first { $0.isDeviceToken }, field: "tokens"
        ).result
        let (unknown, ofOther) = (FCMError(.unregistered).result, FCMError.tokenOfOtherProject.result)
        let ended = FCMError(.unregistered, reason: .registrationEnded).result
        let notRelayed = FCMError.tokenNotRelayed.result
        let quarantined = FCMError(.unregistered, reason: .registrationQuarantined).result
        let responses = results.map { result in
            switch result {
            case .valid: valid
            case .malformed: malformed
            case .deviceToken: deviceToken
            case .unknown: unknown
            case .notRelayed: notRelayed
            case .ofOtherProject: ofOther
            case .ended: ended
            case .quarantined: quarantined
            }
        }
        return members + [.init("responses", .array(responses))]
    }

    /// Who is meant, each once, and the result of each token.
    private func resolve(
        _ tokens: [String]
    ) async throws(FCMError) -> (addressees: [Addressee], results: [TokenResult]) {
        var results: [TokenResult] = []
        var addressees: [Addressee] = []
        var seen: Set<RegistrationKey> = []
        results.reserveCapacity(tokens.count)
        while results.count < tokens.count {
            let part = tokens[results.count..<min(results.count + 5000, tokens.count)]
            for (token, named) in zip(part, try await call.named(texts: part)) {
                let (result, addressee) =
                    named.map { self.result($0, of: token) } ?? (
                        Target.token(token).isDeviceToken ? .deviceToken : .malformed, nil
                    )
                results.append(result)
                if let addressee, seen.insert(addressee.key).inserted { addressees.append(addressee) }
            }
        }
        return (addressees, results)
    }

    private func result(_ named: NamedRegistration, of token: String) -> (TokenResult, Addressee?) {
        switch named {
        case .ofOtherProject: return (.ofOtherProject, nil)
        case .unknown:
            guard call.project.relayApp != nil, RegistrationToken(rawValue: token)?.isRelayable == true else {
                return (.unknown, nil)
            }
            return (.notRelayed, nil)
        case .known(let registration):
            guard call.project.apps[registration.appKey] != nil else { return (.unknown, nil) }
            guard registration.isAddressable(at: call.now) else {
                return (registration.isActive ? .quarantined : .ended, nil)
            }
            return (.valid, Addressee(key: registration.key, app: registration.appKey))
        }
    }
}

extension ProjectCall {
    /// The time that a request is judged by: a repeat by that of the first.
    fileprivate func time(of use: IdempotencyUse) async throws(FCMError) -> Timestamp {
        guard case .same(let id) = use else { return now }
        do throws(StoreError) {
            return try await services.store.message(id, in: project.id)?.acceptedAt ?? now
        } catch {
            throw FCMError(error)
        }
    }
}

extension Target {
    /// Whether what stands for a token is one of APNs' device tokens.
    fileprivate var isDeviceToken: Bool {
        guard case .token(let text) = self else { return false }
        return DeviceToken(registering: text) != nil
    }
}

extension Result<SendItem, FCMError> {
    fileprivate func warningMembers(in project: Project) -> [JSONValue.Member] {
        guard case .success(let item) = self else { return [] }
        return item.warningMembers(in: project)
    }
}

extension IdempotencyKey {
    /// The key of one message of a batch: a blank can't stand in a key that a sender chose.
    fileprivate func item(_ place: Int) -> IdempotencyKey {
        IdempotencyKey(key: "\(key) \(place)", digest: digest, batch: key, lifetime: lifetime)
    }
}

extension FCMError {
    /// The error as the result of one item: what `Retry-After` would say stands in it.
    fileprivate var result: JSONValue {
        var error = self
        error.retryAfterSeconds = retryAfterSeconds ?? code.retryAfterSeconds
        return .object([.init("error", error.status)])
    }
}
