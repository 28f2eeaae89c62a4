import Foundation

extension Messaging {
    /// A message came in: the gateway hears of it, unless ``isReceiptReportingEnabled`` is off. Call it in
    /// `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)` and
    /// `userNotificationCenter(_:willPresent:)`; nothing calls it by itself.
    @discardableResult
    public func appDidReceiveMessage(_ message: [AnyHashable: Any]) -> MessagingMessageInfo {
        let payload = MessagePayload(message)
        guard let id = payload.messageID else { return MessagingMessageInfo(status: .unknown) }
        let isNew = state.withLock { state in state.core?.see(id) ?? true }
        report(payload, .received)
        return MessagingMessageInfo(status: isNew ? .new : .unknown)
    }

    /// The user opened a message. Call it in `userNotificationCenter(_:didReceive:)`.
    public func appDidOpenMessage(_ message: [AnyHashable: Any]) { report(MessagePayload(message), .opened) }

    /// A message was shown while the app was in the foreground.
    public func appDidShowMessage(_ message: [AnyHashable: Any]) {
        report(MessagePayload(message), .impression)
    }

    /// The app came to the foreground: what failed for want of a network is tried again at once, and receipts of the service
    /// extension are taken over.
    public func appDidBecomeActive() { change { $0.retryNow() } }

    private func report(_ payload: MessagePayload, _ kind: MessagingReceipt.Kind) {
        guard let message = payload.reportedID else { return }
        let receipt = MessagingReceipt(message: message, kind: kind, time: clock.now())
        change { $0.add(receipt) }
    }
}
