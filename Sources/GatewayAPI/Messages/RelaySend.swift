import Delivery
import Hummingbird
import JSON
import PushModel
import Store

/// A registration token of Google's that nothing has registered here, in a project that lets such tokens through.
struct RelayedToken: Sendable {
    /// Whose account sends, and whose registration it becomes.
    let app: App
    /// What the sender named.
    let token: RegistrationToken
    /// The same, as Google takes it.
    let androidToken: AndroidToken

    /// What stands for the registration until Google has taken a message for it: nothing is in the store.
    func registration(in project: Project, at time: Timestamp) throws(FCMError) -> Registration {
        do {
            return Registration(
                key: RegistrationKey(rawValue: 0), id: try token.id ?? .random(), token: token, project: project.id,
                app: app.id, address: .relayed(androidToken), appVersion: nil, createdAt: time, refreshedAt: time,
                end: nil)
        } catch {
            // No random id was one, which can't be.
            throw FCMError(.internal)
        }
    }
}

/// Whom a message to one target goes to.
enum SendRecipient {
    /// What is known here.
    case known(Recipient<Registration, [Addressee]>)
    /// A token that only Google may know.
    case relayed(RelayedToken)
}

extension ProjectCall {
    /// Whom a target means now, in a project that may let Google's tokens through.
    ///
    /// - Throws: as ``recipient(of:isFresh:)``; nothing is thrown for a token that goes to Google.
    func sendRecipient(of target: Target, isFresh: Bool) async throws(FCMError) -> SendRecipient {
        guard let app = project.relayApp, target.notificationKey == nil, let reference = target.reference,
            reference.token != nil
        else { return .known(try await recipient(of: target, isFresh: isFresh)) }
        let (named, relaying): (NamedRegistration, Relaying)
        do throws(StoreError) {
            named = try await self.named(reference, isFresh: isFresh)
            relaying = try await self.relaying(named, as: reference, app)
        } catch {
            throw FCMError(error)
        }
        switch relaying {
        case .holder(let holder): return .known(.registration(try addressable(.known(holder), as: reference)))
        case .relayed(let token): return .relayed(token)
        case .none: return .known(.registration(try addressable(named, as: reference)))
        }
    }

    /// What to do about a token that is no registration's that can be sent to.
    enum Relaying {
        /// It is the address of another registration, which is meant.
        case holder(Registration)
        /// Google may know it.
        case relayed(RelayedToken)
        /// Nothing: it is answered as in other projects.
        case none
    }

    /// What a token of Google's means that names no registration that can be sent to. One that was relayed and whose device
    /// has registered itself since is the address of its registration now. One of this gateway's own, and one that ended
    /// here, goes nowhere.
    func relaying(
        _ named: NamedRegistration, as reference: RegistrationReference, _ app: App
    ) async throws(StoreError) -> Relaying {
        if case .known(let registration) = named, registration.isAddressable(at: now) { return .none }
        guard let token = reference.token, token.isRelayable, let androidToken = AndroidToken(rawValue: token.rawValue)
        else { return .none }
        if case .ofOtherProject = named { return .none }
        let holder = try await services.store.registration(
            holding: .relayed(androidToken), of: app.id, in: project.id)
        if let holder { return .holder(holder) }
        guard case .unknown = named else { return .none }
        return .relayed(RelayedToken(app: app, token: token, androidToken: androidToken))
    }

    /// Sends a message to a token that only Google may know, and answers what Google said. What it takes is kept, with a
    /// registration for the token; nothing else is.
    func respond(
        to request: SendRequest, relaying relayed: RelayedToken, _ idempotency: IdempotencyKey?
    ) async throws -> Response {
        let submission = try await submission(to: relayed, request.item, idempotency)
        guard !request.validatesOnly else {
            var view = try await preflight(submission)
            // Nothing is in the store that could be counted.
            view.preflight.audience = 1
            try await askUpstream(submission, field: request.item.targetField)
            return Response(json: .object(view.members + request.item.warningMembers(of: view)))
        }
        let wait = try wait(of: request, for: submission.recipient)
        let accepted = try await accept(submission, adopting: relayed, of: request.item)
        var members = [JSONValue.Member("name", .string(name(of: accepted.id)))]
        if wait != nil, !accepted.isRepeat { members.append(.init("outcome", .string("ACCEPTED"))) }
        var response = Response(json: .object(members + request.item.warningMembers(in: project)))
        if let applied = wait?.applied { response.headers[.preferenceApplied] = applied }
        return response
    }

    private func submission(
        to relayed: RelayedToken, _ item: SendItem, _ idempotency: IdempotencyKey?
    ) async throws(FCMError) -> Submission {
        try await tracked(
            Submission(
                project: project, recipient: .registration(relayed.registration(in: project, at: now)),
                content: item.content, options: item.options, idempotency: idempotency, credential: credential,
                origin: trace),
            saying: item.content)
    }

    /// Has Google take a message, and keeps it with a registration for its token.
    ///
    /// - Throws: what Google answered when it does not take it, and UNAVAILABLE when it does not answer.
    func accept(
        _ submission: Submission, adopting relayed: RelayedToken, of item: SendItem?
    ) async throws(FCMError) -> AcceptedMessage {
        let request = RegistrationRequest(
            project: project.id, app: relayed.app.id, address: .relayed(relayed.androidToken), appVersion: nil,
            credential: ProvenCredential(credential))
        do throws(AdoptionRefusal) {
            let adoption = RegistrationAdoption { [store = services.store] time throws(StoreError) in
                try await store.adopt(request, as: relayed.token, at: time)
            }
            let accepted = try await services.acceptor.accept(submission, adopting: adoption)
            log(accepted)
            return accepted
        } catch {
            throw FCMError(error, project: project, services.refusals, field: item?.targetField ?? "message.token")
        }
    }

    /// Asks the push service of the one registration whether it would take the message.
    ///
    /// - Throws: what it answered when it would not, and UNAVAILABLE when it does not answer.
    func askUpstream(_ submission: Submission, field: String) async throws(FCMError) {
        let outcome: Outcome?
        do throws(SubmissionRefusal) {
            outcome = try await services.acceptor.ask(submission)
        } catch {
            throw FCMError(error, project: project)
        }
        guard outcome != .accepted else { return }
        throw FCMError(
            outcome.map(AdoptionRefusal.answered) ?? .unanswered, project: project, services.refusals, field: field)
    }
}

extension RegistrationToken {
    /// Whether Google may have made it.
    var isRelayable: Bool { !isOfGateway }
}
