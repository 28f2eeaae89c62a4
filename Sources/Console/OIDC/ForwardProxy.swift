/// An HTTP proxy through which a request goes.
package struct ForwardProxy: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
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

    /// The proxy for a host and port; `nil`: the way is direct.
    package typealias Choice = @Sendable (_ host: String, _ port: Int) -> ForwardProxy?

    /// `host:port`: the password is in no log.
    package var description: String { "\(host):\(port)" }

    /// `host:port`, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
