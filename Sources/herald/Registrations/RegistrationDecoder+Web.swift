import JSON
import PushModel
import Signing
import Store

extension RegistrationDecoder {
    /// The subscription of a browser: `endpoint`, `p256dh` and `auth`, and perhaps the key that it was made with.
    func subscription(
        _ fields: [RegistrationColumn: Field], of app: App
    ) throws(LineProblem) -> WebSubscription {
        guard let endpoint = try Self.text(fields, .endpoint) else { throw Self.problem(.endpoint, "missing") }
        guard let key = try Self.bytes(fields, .p256dh) else { throw Self.problem(.p256dh, "missing") }
        guard let secret = try Self.bytes(fields, .auth) else { throw Self.problem(.auth, "missing") }
        let applicationKey = try Self.bytes(fields, .applicationKey)
        do {
            _ = try SubscriptionKeys(publicKey: key, secret: secret)
        } catch {
            let column: RegistrationColumn = secret.count == SubscriptionKeys.secretLength ? .p256dh : .auth
            throw Self.wrong(column, error.message)
        }
        guard applicationKey.map({ $0.count == SubscriptionKeys.publicKeyLength }) ?? true else {
            throw Self.wrong(.applicationKey, "must be 65 bytes in base64url")
        }
        guard
            let subscription = WebSubscription(
                endpoint: endpoint, key: key, secret: secret,
                applicationKey: applicationKey ?? app.browserService?.publicKeys.first)
        else {
            throw Self.wrong(.endpoint, "must be an https URL of at most \(WebSubscription.endpointLimit) bytes")
        }
        guard app.browserService?.allows(endpoint: endpoint) ?? true else {
            throw Self.wrong(
                .endpoint, "is of no push service that is sent to; webPush.services of the app may name its host")
        }
        return subscription
    }

    /// Base64 of either alphabet, padded or not: lists of other senders differ.
    private static func bytes(
        _ fields: [RegistrationColumn: Field], _ column: RegistrationColumn
    ) throws(LineProblem) -> [UInt8]? {
        guard let text = try text(fields, column) else { return nil }
        var plain = text.replacing("+", with: "-").replacing("/", with: "_")
        while plain.hasSuffix("=") { plain.removeLast() }
        guard let bytes = Base64URL.bytes(plain) else { throw wrong(column, "must be base64url") }
        return bytes
    }

    /// A line that can be read, whose registration can't be taken.
    private static func wrong(_ column: RegistrationColumn, _ reason: String) -> LineProblem {
        var problem = problem(column, reason)
        problem.isOfRegistration = true
        return problem
    }
}
