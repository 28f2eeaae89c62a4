import JSON
import Signing
package import Upstream

/// A service account of Google's, as its key file describes it (fcm-relay.md §2).
package struct ServiceAccount: Sendable {
    /// `project_id`: whose devices it reaches.
    package let projectID: String
    /// `private_key_id`.
    package let keyID: String
    /// `client_email`.
    package let email: String
    /// `token_uri`: `aud` of an assertion, and where it is exchanged.
    package let tokenURL: String
    /// Host and port of ``tokenURL``.
    package let tokenEndpoint: UpstreamEndpoint
    /// The path of ``tokenURL``.
    let tokenPath: String
    let key: RS256PrivateKey
    /// What tells one key from another, whatever its id says.
    let fingerprint: [UInt8]

    /// Reads a key file.
    ///
    /// - Throws: ``ServiceAccountError`` that names the member which is wrong; never its value.
    package init(json bytes: [UInt8]) throws(ServiceAccountError) {
        let file: JSONValue
        do {
            file = try JSONValue(parsing: bytes)
        } catch {
            throw ServiceAccountError(message: "It is no JSON: \(error.message) at byte \(error.offset).")
        }
        func text(_ name: String) throws(ServiceAccountError) -> String {
            guard let text = file[name]?.stringValue, !text.isEmpty else {
                throw ServiceAccountError(message: "It has no \(name), as the key file of a service account does.")
            }
            return text
        }
        guard try text("type") == "service_account" else {
            throw ServiceAccountError(message: "Its type is not service_account.")
        }
        projectID = try text("project_id")
        keyID = try text("private_key_id")
        email = try text("client_email")
        tokenURL = try text("token_uri")
        guard projectID.utf8.allSatisfy(\.isProjectByte) else {
            throw ServiceAccountError(message: "Its project_id is none.")
        }
        guard let place = Self.place(of: tokenURL) else {
            throw ServiceAccountError(message: "Its token_uri is no https URL.")
        }
        (tokenEndpoint, tokenPath) = place
        let pem = try text("private_key")
        do {
            key = try RS256PrivateKey(pem: pem)
        } catch {
            throw ServiceAccountError(message: "Its private_key can't be used: \(error.message)")
        }
        fingerprint = Digest.sha256(Array(pem.utf8))
    }

    /// Host, port and path of an https URL.
    private static func place(of url: String) -> (UpstreamEndpoint, String)? {
        let scheme = "https://"
        guard url.hasPrefix(scheme), url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count).prefix { $0 != "#" }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, !host.isEmpty, parts.count <= 2, !authority.contains("@") else { return nil }
        guard let port = parts.count == 2 ? Int(parts[1]) : 443, (1...65_535).contains(port) else { return nil }
        return (
            UpstreamEndpoint(host: String(host), port: port), path.hasPrefix("/") ? String(path) : "/" + path
        )
    }
}

/// A key file that can't be used.
package struct ServiceAccountError: Error, Hashable, Sendable {
    /// Why, a sentence without secrets.
    package let message: String
}

extension UInt8 {
    /// What a project id is made of: it stands in the path of each request.
    fileprivate var isProjectByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
