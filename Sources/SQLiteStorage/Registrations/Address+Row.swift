import Foundation
import GRDB
import PushModel
import Store

extension Address {
    /// What ``init(channel:bytes:webKeys:)`` takes, as the columns `address`, `channel` and `web_keys`.
    var columns: (bytes: Data, channel: Int, webKeys: Data?) {
        (Data(identity), channel.code, webKeys.map { Data($0) })
    }

    /// The column `web_keys`.
    var webKeys: [UInt8]? {
        webSubscription.map { $0.key + $0.secret + ($0.applicationKey ?? []) }
    }

    /// Reads an address from its columns.
    ///
    /// - Parameter webKeys: a browser's P-256 key (65 bytes), its secret (16 bytes) and the application's key (65 bytes),
    ///   if there is one, behind each other; asked for a browser only.
    init(channel: Int, bytes: [UInt8], webKeys: () -> Data?) throws {
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
            self = .android(token)
        case .webPush:
            let keys = webKeys().map { [UInt8]($0) } ?? []
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
