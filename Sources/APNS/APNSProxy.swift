import HTTP2Client

/// An HTTP proxy between us and APNs: it opens a tunnel (CONNECT) and sees nothing of what goes through.
public struct APNSProxy: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Host name or address.
    public var host: String
    /// TCP port.
    public var port: Int
    /// User and password, when the proxy wants them.
    public var credentials: Credentials?

    /// User and password (RFC 7617).
    public struct Credentials: Hashable, Sendable {
        /// The user, without a colon.
        public var user: String
        /// The password.
        public var password: String

        /// Takes user and password.
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// Names a proxy.
    public init(host: String, port: Int, credentials: Credentials? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// `host:port`: logs and errors shall not hold a password.
    public var description: String { forPool.description }

    /// `host:port`, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    var forPool: PoolConfiguration.Proxy {
        PoolConfiguration.Proxy(
            host: host, port: port, credentials: credentials.map { .init(user: $0.user, password: $0.password) })
    }
}

extension APNSProxy.Credentials: CustomStringConvertible, CustomReflectable {
    /// Tells nothing.
    public var description: String { "credentials" }

    /// Tells nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
