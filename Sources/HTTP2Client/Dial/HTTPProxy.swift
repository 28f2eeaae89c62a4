import COpenSSL

/// An HTTP proxy that opens tunnels (CONNECT, RFC 9110 §9.3.6). The way to the proxy itself is in the clear.
package struct HTTPProxy: Sendable, Hashable, CustomStringConvertible {
    /// Host name or IP address.
    package var host: String
    /// TCP port.
    package var port: Int
    /// What the proxy wants to see, if anything.
    package var credentials: Credentials?

    /// Names a proxy.
    package init(host: String, port: Int, credentials: Credentials? = nil) {
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// `host:port`, without the credentials.
    package var description: String { authorityForm(host: host, port: port) }
}

extension HTTPProxy {
    /// User and password for the Basic scheme (RFC 7617).
    package struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The user, without a colon.
        package var user: String
        /// The password.
        package var password: String

        /// Takes user and password.
        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }

        /// Tells nothing: neither logs nor errors shall hold a password.
        package var description: String { "credentials" }

        /// Tells nothing, for the same reason.
        package var customMirror: Mirror { Mirror(self, children: []) }

        /// `Basic …`.
        var authorization: String {
            let plain = Array("\(user):\(password)".utf8)
            // Four characters for each three bytes begun, and a NUL.
            var encoded = [UInt8](repeating: 0, count: (plain.count + 2) / 3 * 4 + 1)
            let count = unsafe EVP_EncodeBlock(&encoded, plain, Int32(plain.count))
            return "Basic " + String(decoding: encoded.prefix(Int(count)), as: UTF8.self)
        }
    }

    /// What is wrong with the fields, if anything: they go into a request head, whose lines they must not break.
    func problem(target: String) -> String? {
        if [host, target].contains(where: { $0.isEmpty || $0.utf8.contains { $0 <= 0x20 || $0 >= 0x7F } }) {
            return "a host name for the proxy must be printable ASCII without spaces"
        }
        // RFC 7617 §2: no colon in the user, no control characters in either.
        guard let credentials else { return nil }
        if credentials.user.utf8.contains(UInt8(ascii: ":")) { return "the proxy's user must not contain a colon" }
        let isControlled = (credentials.user + credentials.password).utf8.contains { $0 < 0x20 || $0 == 0x7F }
        return isControlled ? "the proxy's user and password must not contain control characters" : nil
    }
}

/// `host:port` with an IPv6 address in brackets (RFC 3986 §3.2.2).
func authorityForm(host: String, port: Int) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
}
