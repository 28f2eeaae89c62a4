import ArgumentParser
import Hummingbird
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL

/// The HTTP server that the gateway stands on, answering without work: what it could do at best.
struct EchoCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "echo", abstract: "Answers every POST with its body, over HTTP/2.", shouldDisplay: false)

    @Option(help: "A PEM file with the certificate.") var certificate: String
    @Option(help: "A PEM file with its key.") var key: String

    private static let bodyLimitBytes = 1 << 20

    func run() throws {
        try waiting { try await serve() }
    }

    private func serve() async throws {
        let tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
        let router = Router()
        router.post("echo") { request, _ -> Response in
            let body = try await request.body.collect(upTo: Self.bodyLimitBytes)
            return Response(
                status: .ok, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: body))
        }
        var logger = Logger(label: "echo")
        logger.logLevel = .error
        let application = Application(
            router: router, server: try .http2Upgrade(tlsConfiguration: tls),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in show(String(channel.localAddress?.port ?? 0)) }, logger: logger)
        try await application.run()
    }
}
