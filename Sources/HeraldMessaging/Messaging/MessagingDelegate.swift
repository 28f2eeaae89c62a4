/// Hears of the registration. All methods may be left out; they are called on the main actor.
@MainActor
public protocol MessagingDelegate: AnyObject, Sendable {
    /// A registration token is there, or another one than before, or none any more: tell the backend. It is called once in
    /// each launch, and when the token changes.
    func messaging(_ messaging: Messaging, didReceiveRegistrationToken fcmToken: String?)

    /// The same, with the installation id, where ``Messaging/isInstallationIdEnabled``.
    func messaging(_ messaging: Messaging, didReceiveRegistration installationId: String?)

    /// The registration was ended by the app.
    func messaging(_ messaging: Messaging, didUnregister installationId: String)
}

extension MessagingDelegate {
    /// Does nothing.
    public func messaging(_ messaging: Messaging, didReceiveRegistrationToken fcmToken: String?) {}
    /// Does nothing.
    public func messaging(_ messaging: Messaging, didReceiveRegistration installationId: String?) {}
    /// Does nothing.
    public func messaging(_ messaging: Messaging, didUnregister installationId: String) {}
}
