public import Foundation

/// Keeps what an app install must not forget: its installation, its registration, and what is queued for the gateway.
///
/// ``FileMessagingStorage`` is the usual one. What is kept has secrets in it, which belong to this device: a storage of one's
/// own must keep it out of backups. Receipts lie beside it one by one, because an extension is another process than its app.
public protocol MessagingStorage: Sendable {
    /// What was written last; `nil`: nothing yet. It throws when that can't be known now, as before the device is unlocked
    /// for the first time.
    func read() throws -> Data?

    /// Replaces what is kept, in one step.
    func write(_ data: Data) throws

    /// Lays a receipt aside, under a name that is its own: a second one of the name replaces the first.
    func lay(_ receipt: Data, named name: String) throws

    /// The receipts that were laid aside, by their names.
    func laidReceipts() throws -> [String: Data]

    /// Removes a receipt that was laid aside, if it is there.
    func removeReceipt(named name: String) throws
}
