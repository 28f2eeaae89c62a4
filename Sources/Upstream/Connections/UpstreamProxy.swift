import HTTP2Client

/// An HTTP proxy between us and a push service: it opens a tunnel (CONNECT) and sees nothing of what goes through.
package struct UpstreamProxy: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Host name or address.
    package var host: String
    /// TCP port.
    package var port: Int
    /// User and password, when the proxy wants them.
    package var credentials: Credentials?

    /// User and password (RFC 7617).
    package struct Credentials: Hashable, Sendable {
        /// The user, without a colon.
        package var user: String
        /// The password.
        package var password: String

        /// Takes user and password.
        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// Names a proxy.
    package init(host: String, port: Int, credentials: Credentials? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// `host:port`: logs and errors shall not hold a password.
    package var description: String { forPool.description }

    /// `host:port`, for the same reason.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    var forPool: HTTPProxy {
        HTTPProxy(
            host: host, port: port, credentials: credentials.map { .init(user: $0.user, password: $0.password) })
    }
}

extension UpstreamProxy.Credentials: CustomStringConvertible, CustomReflectable {
    /// Tells nothing.
    package var description: String { "credentials" }

    /// Tells nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
