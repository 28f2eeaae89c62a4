import HTTP2Client

/// How an upstream is reached.
package struct UpstreamConfiguration: Sendable {
    /// The upstream's name for operators; no secret in it.
    package var name: String
    /// Host and port.
    package var endpoint: UpstreamEndpoint
    /// The certificate authorities to trust; `nil`: the system's.
    package var trustFile: String?
    /// The proxy that leads there; `nil`: the way is direct.
    package var proxy: UpstreamProxy?
    /// The certificate that TLS shows; `nil`: none.
    package var identity: UpstreamIdentity?
    /// The most streams used on one connection, whatever the service allows; `nil`: 1000.
    package var streamLimit: Int?
    /// Silence after which a PING shows whether a connection still works; `nil`: 20 s.
    package var pingInterval: Duration?
    /// The names of further header fields that its service reads in answers, in lower case.
    package var answerFields: [String] = []
    /// Whether the endpoint was named by somebody who must not choose what this machine connects to: only addresses of the
    /// Internet are dialed then.
    package var isNamedByOthers = false

    /// Describes the way to an upstream.
    package init(
        name: String, endpoint: UpstreamEndpoint, trustFile: String? = nil, proxy: UpstreamProxy? = nil,
        identity: UpstreamIdentity? = nil
    ) {
        self.name = name
        self.endpoint = endpoint
        self.trustFile = trustFile
        self.proxy = proxy
        self.identity = identity
    }

    /// The pool's configuration.
    var poolConfiguration: PoolConfiguration {
        var configuration = PoolConfiguration(host: endpoint.host, port: endpoint.port)
        if let trustFile { configuration.trust = .file(trustFile) }
        configuration.proxy = proxy?.forPool
        configuration.identity = identity?.forPool
        if let streamLimit { configuration.streamLimit = streamLimit }
        if let pingInterval { configuration.pingInterval = pingInterval }
        configuration.addresses = isNamedByOthers ? .publicOnly : .any
        // The only fields that are read; the others would be kept for nothing. One `date` of many shows the clock.
        configuration.responseFields = ["retry-after"] + answerFields
        configuration.sampledFields = ["date"]
        return configuration
    }
}

/// Host and port of a push service.
package struct UpstreamEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// Host name or address.
    package var host: String
    /// TCP port.
    package var port: Int

    /// Names an endpoint.
    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// `host:port`.
    package var description: String { "\(host):\(port)" }
}

/// A client certificate with its private key.
package struct UpstreamIdentity: Sendable {
    let forPool: TLSIdentity

    /// Describes an identity.
    ///
    /// - Parameters:
    ///   - certificateChain: the client's certificate, then those of its authorities, each in DER.
    ///   - withPrivateKey: calls `body` once with the key, PKCS#8 and not encrypted.
    package init(
        certificateChain: [[UInt8]], withPrivateKey: @escaping @Sendable (_ body: (Span<UInt8>) -> Void) -> Void
    ) {
        forPool = TLSIdentity(certificateChain: certificateChain, withPrivateKey: withPrivateKey)
    }
}

/// A configuration that can't be used.
package struct UpstreamConfigurationError: Error, Hashable, Sendable {
    /// The part of the configuration that is wrong.
    package enum Part: Hashable, Sendable {
        case endpoint, proxy, trustFile, identity
    }

    /// The part that is wrong.
    package let part: Part
    /// What is wrong with it, in words.
    package let message: String

    init(_ failure: TransportFailure, in configuration: UpstreamConfiguration) {
        message = failure.message
        if failure.message.hasPrefix(TLSIdentity.failurePrefix) {
            part = .identity
        } else if failure.kind == .tlsFailed, configuration.trustFile != nil {
            part = .trustFile
        } else {
            part = configuration.proxy == nil ? .endpoint : .proxy
        }
    }
}
