import PushModel

extension WebSubscription {
    /// The subscription as an app takes it: of a push service that may be sent to, with the key that it was made with. One
    /// that does not say was made with the present key; that is kept, because a subscription stays with its key.
    ///
    /// - Parameters:
    ///   - app: a web app; one that is not reached takes any.
    ///   - path: what stands before the fields' names, as `web.`.
    /// - Throws: 400 with the field that does not fit.
    func taken(by app: App, at path: String) throws(FCMError) -> WebSubscription {
        guard let service = app.browserService else { return self }
        guard service.allows(endpoint: endpoint) else {
            throw .badRequest(
                "\(path)endpoint",
                "\(host) is no push service that the gateway sends to; webPush.services of the app may name it.")
        }
        guard let applicationKey else { return made(with: service.publicKeys.first) }
        guard service.publicKeys.contains(applicationKey) else {
            throw .badRequest(
                "\(path)application_pub_key",
                "The page subscribed with a key that the app does not have; it has to subscribe with the present one.")
        }
        return self
    }

    private func made(with key: [UInt8]?) -> WebSubscription {
        // All other parts were checked.
        WebSubscription(endpoint: endpoint, key: self.key, secret: secret, applicationKey: key) ?? self
    }
}
