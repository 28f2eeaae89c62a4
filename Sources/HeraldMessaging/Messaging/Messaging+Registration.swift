import Foundation

extension Messaging {
    /// The registration token, once the app is registered. It waits for the device token of APNs; it does not wait for a
    /// gateway that can't be reached: the attempts go on by themselves, and the delegate hears of their end. A token that is
    /// good is answered at once, also when it is time to say that the app is still there, which is then done.
    public func token() async throws(MessagingError) -> String {
        try await registered()
        guard let token = fcmToken else { throw MessagingError(.unknown, "The registration was ended meanwhile.") }
        return token
    }

    /// The same, with a completion on the main actor.
    public func token(completion: @escaping @MainActor @Sendable (String?, (any Error)?) -> Void) {
        Task {
            do throws(MessagingError) {
                let token = try await self.token()
                await completion(token, nil)
            } catch {
                await completion(nil, error)
            }
        }
    }

    /// Registers the app, if it is not registered; the delegate hears of it.
    public func register() async throws(MessagingError) { try await registered() }

    /// The same, with a completion on the main actor.
    public func register(completion: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        complete(completion) { messaging throws(MessagingError) in try await messaging.register() }
    }

    /// Ends the registration: no message reaches the device any more, and its topics are gone. The next launch registers
    /// again if ``isAutoInitEnabled``, ``token()`` and ``register()`` do at once.
    public func deleteToken() async throws(MessagingError) { try await delete(.registration) }

    /// The same, with a completion on the main actor.
    public func deleteToken(completion: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        complete(completion) { messaging throws(MessagingError) in try await messaging.deleteToken() }
    }

    /// Ends the registration, with no answer.
    public func unregister() { unregister { _ in } }

    /// Ends the registration, with a completion on the main actor.
    public func unregister(completion: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        deleteToken(completion: completion)
    }

    /// Ends the registration and has the gateway forget the installation.
    public func deleteData() async throws(MessagingError) { try await delete(.everything) }

    /// The same, with a completion on the main actor.
    public func deleteData(completion: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        complete(completion) { messaging throws(MessagingError) in try await messaging.deleteData() }
    }

    /// The registration token for a sender, which can be the project's own only: another project is another ``HeraldApp``.
    public func retrieveFCMToken(forSenderID senderID: String) async throws(MessagingError) -> String {
        try check(senderID)
        return try await token()
    }

    /// The same, with a completion on the main actor.
    public func retrieveFCMToken(
        forSenderID senderID: String, completion: @escaping @MainActor @Sendable (String?, (any Error)?) -> Void
    ) {
        Task {
            do throws(MessagingError) {
                let token = try await retrieveFCMToken(forSenderID: senderID)
                await completion(token, nil)
            } catch {
                await completion(nil, error)
            }
        }
    }

    /// Ends the registration for a sender, which can be the project's own only.
    public func deleteFCMToken(forSenderID senderID: String) async throws(MessagingError) {
        try check(senderID)
        try await deleteToken()
    }

    /// The same, with a completion on the main actor.
    public func deleteFCMToken(
        forSenderID senderID: String, completion: @escaping @MainActor @Sendable ((any Error)?) -> Void
    ) {
        complete(completion) { messaging throws(MessagingError) in
            try await messaging.deleteFCMToken(forSenderID: senderID)
        }
    }

    /// Says whose the device is, by a custom token that the backend made for the user (`create_custom_token` of Firebase's
    /// Admin SDKs); `nil`: no user. Another user than before gets a registration of its own, and the delegate its token.
    ///
    /// What was asked for before goes to the registration of the user before. It waits for the gateway's answer; an app that
    /// can't wait is done with ``setUser(token:completion:)``. What the
    /// gateway has not heard is kept and said later.
    public func setUser(token: String?) async throws(MessagingError) {
        let change = token.map(UserChange.token) ?? .signedOut
        try await wait(for: .user(change)) { $0.setUser(change) }
    }

    /// The same, with a completion on the main actor.
    public func setUser(token: String?, completion: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        complete(completion) { messaging throws(MessagingError) in try await messaging.setUser(token: token) }
    }

    /// APNs gave no device token: who waits for a registration token gets this error. Call it in
    /// `application(_:didFailToRegisterForRemoteNotificationsWithError:)`.
    public func didFailToRegisterForRemoteNotifications(with error: any Error) {
        let failure = MessagingError(.unknown, "APNs gave no device token.", underlying: error)
        let outcomes = state.withLock { state in
            state.lastError = failure
            return state.waiters.take(.registration)
        }
        for outcome in outcomes { outcome(failure) }
    }

    // MARK: -

    private func registered() async throws(MessagingError) {
        try await wait(for: .registration) { $0.ask() }
    }

    private func check(_ senderID: String) throws(MessagingError) {
        guard let own = options?.senderID, own != senderID else { return }
        throw MessagingError(
            .invalidRequest, "The app is one of the sender \(own). Configure a further HeraldApp for another project.")
    }

    private func delete(_ deletion: RegistrationState.Deletion) async throws(MessagingError) {
        try await wait(for: .deletion) { $0.delete(deletion) }
    }
}
