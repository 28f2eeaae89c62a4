/// Where a listener listens, and what its connections may take.
package struct ListenerConfiguration: Sendable {
    /// Host name or address.
    package var host: String
    /// TCP port, 0 for any free one.
    package var port: Int
    /// PEM chain and PEM key files: with them the listener speaks TLS, HTTP/2 and HTTP/1.1 by ALPN.
    package var tls: (certificateFile: String, keyFile: String)?
    /// Further pairs, each for the host names that its certificate has. A client that names none of these gets that of
    /// ``tls``.
    package var otherCertificates: [(certificateFile: String, keyFile: String)] = []
    /// How many connections there may be.
    package var connectionLimits = ConnectionLimits()
    /// How long requests may go on after the start of a graceful shutdown; then their connections are closed.
    package var shutdownLimit: Duration
    /// How long a connection may take to its first byte, its handshake and the preface of HTTP/2; then it is closed.
    package var firstByteLimit: Duration
    /// How long a request may take from its first byte to its last; then it is answered 408.
    package var requestLimit: Duration
    /// How long an answer waits for a peer that does not read; then the connection is closed.
    package var answerLimit: Duration
    /// How long a connection that proved no credential of a backend may stand open without a request; it ends before twice
    /// the time. Others may for ten minutes.
    package var idleLimit = Duration.seconds(30)

    /// Describes a listener; the first byte has as long as a request, until it is set.
    package init(
        host: String, port: Int, tls: (certificateFile: String, keyFile: String)?,
        shutdownLimit: Duration = .seconds(20), requestLimit: Duration = .seconds(30),
        answerLimit: Duration = .seconds(120)
    ) {
        self.shutdownLimit = shutdownLimit
        self.firstByteLimit = requestLimit
        self.requestLimit = requestLimit
        self.answerLimit = answerLimit
        self.host = host
        self.port = port
        self.tls = tls
    }
}
