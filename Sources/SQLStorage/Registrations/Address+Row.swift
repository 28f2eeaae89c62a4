import PushModel
import Store

extension Address {
    /// What ``init(channel:bytes:detail:)`` takes, as the columns `address`, `channel` and `address_detail`.
    var columns: (bytes: [UInt8], channel: Int, detail: [UInt8]?) {
        (identity, channel.code, detail)
    }

    /// What the column `address_detail` holds of a token that was relayed.
    private static let relayedMark: [UInt8] = [1]

    /// The column `address_detail`.
    var detail: [UInt8]? {
        switch self {
        case .web(let subscription): subscription.key + subscription.secret + (subscription.applicationKey ?? [])
        case .relayed: Self.relayedMark
        case .apple, .android, .broadcast: nil
        }
    }

    /// Reads an address from its columns.
    ///
    /// - Parameter detail: a browser's P-256 key (65 bytes), its secret (16 bytes) and the application's key (65 bytes),
    ///   if there is one, behind each other; whether a token of Google's was relayed. Asked for these two only.
    init(channel: Int, bytes: [UInt8], detail: () -> [UInt8]?) throws {
        switch try Channel(stored: channel) {
        case .apns(let environment):
            guard let token = DeviceToken(bytes: bytes) else { throw StoreError.invalid("a device token") }
            self = .apple(token, environment)
        case .broadcast(let environment):
            guard let policy = bytes.first,
                let id = ChannelID(rawValue: String(decoding: bytes.dropFirst(), as: UTF8.self))
            else { throw StoreError.invalid("a broadcast channel") }
            self = .broadcast(
                BroadcastAddress(
                    id: id, environment: environment, storagePolicy: try StoragePolicy(code: Int(policy))))
        case .fcm:
            guard let token = AndroidToken(rawValue: String(decoding: bytes, as: UTF8.self)) else {
                throw StoreError.invalid("an Android token")
            }
            self = detail() == nil ? .android(token) : .relayed(token)
        case .webPush:
            let keys = detail() ?? []
            let (key, secret, application) = (keys.prefix(65), keys.dropFirst(65).prefix(16), keys.dropFirst(81))
            guard
                let subscription = WebSubscription(
                    endpoint: String(decoding: bytes, as: UTF8.self), key: Array(key), secret: Array(secret),
                    applicationKey: application.isEmpty ? nil : Array(application))
            else { throw StoreError.invalid("a web subscription") }
            self = .web(subscription)
        }
    }
}
