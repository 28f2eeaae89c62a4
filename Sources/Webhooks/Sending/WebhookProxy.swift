/// The HTTP proxy through which all requests to webhooks go: it is asked for a tunnel (CONNECT) to the address that was
/// checked, never to a name, so that what it resolves does not matter; and sees nothing of what TLS carries.
package struct WebhookProxy: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Its host.
    package var host: String
    /// Its port.
    package var port: Int
    /// The user that it asks for; `nil`: it asks for none.
    package var user: String?
    /// The user's password.
    package var password: String?

    /// Names a proxy.
    package init(host: String, port: Int, user: String? = nil, password: String? = nil) {
        self.host = host
        self.port = port
        self.user = user
        self.password = password
    }

    /// `host:port`: the password is in no log.
    package var description: String { "\(host):\(port)" }

    /// `host:port`, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
