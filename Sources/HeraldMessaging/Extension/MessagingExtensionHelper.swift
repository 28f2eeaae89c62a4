import Foundation

/// What a notification service extension does with a message: adds its image, and says that it came.
///
/// The extension is a process of its own. With an app group (``HeraldOptions/appGroup``) it lays the receipt where the app
/// finds it, and sends it by itself when the app's registration can be used; without one it can do neither.
public final class MessagingExtensionHelper: Sendable {
    private let options: HeraldOptions?
    private let transport: any MessagingTransport
    private let storage: (any MessagingStorage)?
    private let clock: MessagingClock

    /// Takes the options of the configured app of a name, or else these.
    convenience init(name: String, options: HeraldOptions?) {
        let options = HeraldApp.app(name: name)?.options ?? options
        let storage = options.flatMap { options in
            options.appGroup.map { _ in FileMessagingStorage(name: name, options: options) }
        }
        self.init(options: options, transport: URLSessionMessagingTransport(), storage: storage)
    }

    package init(
        options: HeraldOptions?, transport: any MessagingTransport, storage: (any MessagingStorage)?,
        clock: MessagingClock = .system
    ) {
        self.options = options
        self.transport = transport
        self.storage = storage
        self.clock = clock
    }

    /// Has the gateway hear that a message came, for its report and its export. Call it in
    /// `didReceive(_:withContentHandler:)`.
    ///
    /// The receipt is laid aside before this returns: the system may end the extension at any time after.
    public func exportDeliveryMetricsToBigQuery(withMessageInfo info: [AnyHashable: Any]) {
        guard let laid = lay(info) else { return }
        Task { await send(laid) }
    }

    /// The same, and returns when the gateway has answered or can't be reached.
    public func exportDeliveryMetrics(withMessageInfo info: [AnyHashable: Any]) async {
        if let laid = lay(info) { await send(laid) }
    }

    /// A receipt that lies where the app finds it.
    private struct Laid: Sendable {
        let receipt: MessagingReceipt
        let record: MessagingRecord
        let options: HeraldOptions
        let storage: any MessagingStorage
    }

    /// Lays the receipt of a message aside; `nil`: there is no receipt, or no place for it.
    private func lay(_ info: [AnyHashable: Any]) -> Laid? {
        let payload = MessagePayload(info)
        guard let id = payload.reportedID, let storage, let options, payload.isOf(options) else { return nil }
        let receipt = MessagingReceipt(message: id, kind: .received, time: clock.now())
        do {
            guard let record = try record(in: storage), record.place == MessagingRecord.Place(options),
                record.isReceiptReportingEnabled ?? options.isReceiptReportingEnabled
            else { return nil }
            try storage.lay(try JSONEncoder().encode(receipt), named: receipt.fileName)
            return Laid(receipt: receipt, record: record, options: options, storage: storage)
        } catch {
            // A file that can't be written or read now: the receipt is lost, the message is not.
            return nil
        }
    }

    /// Sends a receipt with the app's auth token, and removes it when the gateway took it. Renewing a token, and trying
    /// again, is the app's own.
    private func send(_ laid: Laid) async {
        guard case .registered(let installation, _) = laid.record.stage, installation.auth.isUsable(at: clock.now())
        else { return }
        let gateway = MessagingGateway(options: laid.options, transport: transport)
        let request = MessagingRequest.report(
            installation, [laid.receipt], clockOffset: laid.record.clockOffset)
        guard await gateway.send(request).answer == .done else { return }
        do {
            try laid.storage.removeReceipt(named: laid.receipt.fileName)
        } catch {
            // The app sends it once more, which counts once.
        }
    }

    private func record(in storage: any MessagingStorage) throws -> MessagingRecord? {
        try storage.read().map { try JSONDecoder().decode(MessagingRecord.self, from: $0) }
    }
}
