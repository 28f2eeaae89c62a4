import PushModel
import Store

/// What a project knows of a registration that a caller names (fcm.md §10.7).
enum NamedRegistration: Sendable {
    /// A registration of the project, also an ended one.
    case known(Registration)
    /// A full token of another project of this gateway. A FID, which is no secret, and a token whose secret part is wrong
    /// are unknown instead.
    case ofOtherProject
    /// No registration.
    case unknown
}

extension ProjectCall {
    /// Looks up one registration.
    ///
    /// - Parameter isFresh: whether its times have to be those of now, too.
    func named(
        _ reference: RegistrationReference, isFresh: Bool = true
    ) async throws(StoreError) -> NamedRegistration {
        let found =
            isFresh
            ? try await reference.find(in: project, services.store)
            : try await services.store.addressee(reference, in: project.id)
        if let found { return .known(found) }
        return try await elsewhere([reference])[0]
    }

    /// Looks up many registrations, in their order.
    ///
    /// - Parameter isFresh: whether their times have to be those of now, too.
    func named(
        _ references: [RegistrationReference], isFresh: Bool = true
    ) async throws(StoreError) -> [NamedRegistration] {
        if !isFresh, references.count == 1 { return [try await named(references[0], isFresh: false)] }
        let registrations = try await services.store.registrations(named: references, in: project.id)
        let missing = zip(references, registrations).compactMap { $1 == nil ? $0 : nil }
        guard !missing.isEmpty else { return registrations.map { $0.map(NamedRegistration.known) ?? .unknown } }
        var others = try await elsewhere(missing).makeIterator()
        return registrations.map { $0.map(NamedRegistration.known) ?? others.next() ?? .unknown }
    }

    /// Looks up what texts name, in their order; `nil`: a text is neither a token nor a FID.
    func named(texts: some Sequence<String>, isFresh: Bool = true) async throws(FCMError) -> [NamedRegistration?] {
        let references = texts.map { RegistrationReference(rawValue: $0) }
        do throws(StoreError) {
            var found = try await named(references.compactMap { $0 }, isFresh: isFresh).makeIterator()
            return references.map { $0 == nil ? nil : found.next() ?? .unknown }
        } catch {
            throw FCMError(error)
        }
    }

    /// What names that the project does not have are in the other projects.
    private func elsewhere(_ references: [RegistrationReference]) async throws(StoreError) -> [NamedRegistration] {
        let tokens = references.compactMap(\.token)
        guard !tokens.isEmpty else { return references.map { _ in .unknown } }
        var projects = try await services.store.projects(of: tokens).makeIterator()
        return references.map { reference in
            guard reference.token != nil, let other = projects.next() ?? nil else { return .unknown }
            // One that registered since the first look is this project's: it is known the next time.
            return other == project.id ? .unknown : .ofOtherProject
        }
    }

    /// A registration that a message to it alone is taken for.
    ///
    /// - Throws: SENDER_ID_MISMATCH for another project's, UNREGISTERED for an unknown or ended one. An unknown one that may
    ///   be Google's is no such thing in a project that relays: its sender would forget it.
    func addressable(
        _ named: NamedRegistration, as reference: RegistrationReference
    ) throws(FCMError) -> Registration {
        switch named {
        case .known(let registration) where registration.isAddressable(at: now): return registration
        case .known(let registration): throw .unregistered(registration)
        case .ofOtherProject: throw .tokenOfOtherProject
        case .unknown where project.relayApp != nil && reference.token?.isRelayable == true: throw .tokenNotRelayed
        case .unknown: throw .unregistered(nil).hinting(reference.token.flatMap { SenderHint.unknownToken($0) })
        }
    }
}

extension RegistrationReference {
    /// The token, when it is one.
    var token: RegistrationToken? {
        guard case .token(let token) = self else { return nil }
        return token
    }

    /// The registration, also an ended one.
    func find(
        in project: Project, _ store: any RegistrationStore
    ) async throws(StoreError) -> Registration? {
        switch self {
        case .id(let id): try await store.registration(id, in: project.id)
        case .token(let token): try await store.registration(token: token, in: project.id)
        }
    }
}

extension FCMError {
    /// A token that Google may know, in a request that asks Google about none.
    static var tokenNotRelayed: FCMError {
        FCMError(
            .failedPrecondition,
            "The token is not known here yet. A message that messages:send sends to it alone goes to Google, and makes it known.",
            reason: .tokenNotRelayed)
    }

    /// A full token of another project. UNREGISTERED would make a backend with the wrong project delete its users.
    static var tokenOfOtherProject: FCMError {
        FCMError(.senderIDMismatch, reason: .registrationOfOtherProject)
    }
}
