import ArgumentParser
import HTTPListener
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The listener that the gateway stands on, with one answer to everything: what redirects could do at best.
struct RedirectCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "redirect", abstract: "Answers every request with the same redirect, over HTTP/2.",
        shouldDisplay: false)

    @Option(help: "A PEM file with the certificate.") var certificate: String
    @Option(help: "A PEM file with its key.") var key: String

    func run() throws {
        try waiting { try await serve() }
    }

    private func serve() async throws {
        var logger = Logger(label: "redirect")
        logger.logLevel = .error
        let listener = try Listener(
            ListenerConfiguration(host: "127.0.0.1", port: 0, tls: (certificateFile: certificate, keyFile: key)),
            name: "redirect", responder: { _ in ConstantResponder() },
            faultAnswer: { _, _ in FaultAnswer(status: .badRequest, contentType: "text/plain", body: ByteBuffer()) },
            logger: logger, onListening: { show(String($0)) })
        try await listener.run()
    }
}

/// A redirect as long as that of a link.
private struct ConstantResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    private static let headers: HTTPFields = [
        .cacheControl: "private, no-store", .vary: "User-Agent", HTTPField.Name("Referrer-Policy")!: "no-referrer",
        HTTPField.Name("X-Robots-Tag")!: "noindex", HTTPField.Name("X-Content-Type-Options")!: "nosniff",
        .location: "https://shop.example/products/123456?ref=mail",
    ]

    func respond(to request: Request, context: Context) async throws -> Response {
        Response(status: .found, headers: Self.headers)
    }
}
