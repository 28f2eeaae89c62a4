import Signing
import Upstream

/// What a pool is shared by: requests with the same key may travel on the same connections, others never (Apple binds a
/// connection to a team and a key on its first push).
struct UpstreamKey: Hashable, Sendable {
    let endpoint: UpstreamEndpoint
    let credential: Credential
    let trustFile: String?
    let proxy: UpstreamProxy?
    /// Whether broadcasts go this way, apart from the pushes of devices.
    var isForBroadcasts = false
    /// The most broadcasts to one channel within a minute; `nil`: any number.
    var publicationLimit: Int?

    /// What is shown to APNs, by what can't be the same for two of them: a file that was replaced is another key or
    /// certificate, whatever its name or id says.
    enum Credential: Hashable, Sendable {
        /// A provider key with its public half.
        case providerKey(teamID: String, keyID: String, publicKeyPEM: String)
        /// A client certificate, its digest included, with the chain that TLS shows (DER).
        case certificate(ClientCertificate, chain: [[UInt8]])
    }

    init(_ app: APNSAppConfiguration, endpoint: UpstreamEndpoint, proxy: UpstreamProxy?) {
        self.endpoint = endpoint
        self.credential = Credential(app.credential)
        self.trustFile = app.trustFile
        self.proxy = proxy
    }

    /// `host:port TEAM/KEY` or `host:port certificate com.example.app/0123abcd`, and the proxy if there is one.
    var name: String {
        "\(endpoint) \(credential.name)" + (isForBroadcasts ? " broadcasts" : "") + (proxy.map { " via \($0)" } ?? "")
    }
}
