import NIOCore
import NIOSSL

/// Why the listener's certificate or key can't be used; names the file.
struct ListenerCertificateError: Error, CustomStringConvertible {
    let description: String
}

/// The TLS listener: HTTP/2 and HTTP/1.1 by ALPN.
enum TLSListener {
    /// Reads chain and key, and tries whether they fit together.
    static func configuration(certificateFile: String, keyFile: String) throws -> TLSConfiguration {
        let chain = try read(certificateFile, "certificate") { try NIOSSLCertificate.fromPEMFile($0) }
        guard !chain.isEmpty else {
            throw ListenerCertificateError(
                description: "The certificate file \(certificateFile) holds no PEM certificate.")
        }
        let key = try read(keyFile, "key") { try NIOSSLPrivateKey(file: $0, format: .pem) }
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        do {
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw ListenerCertificateError(
                description: "The certificate file \(certificateFile) and the key file \(keyFile) don't fit together.")
        }
        return configuration
    }

    private static func read<Value>(_ file: String, _ what: String, _ body: (String) throws -> Value) throws -> Value {
        do {
            return try body(file)
        } catch let error as IOError {
            throw ListenerCertificateError(description: "The \(what) file \(file) can't be read: \(error)")
        } catch {
            // The library's text may quote the file, which can be a private key: not repeated.
            throw ListenerCertificateError(
                description: "The \(what) file \(file) is not a PEM \(what) that can be used.")
        }
    }
}

/// Flushes and puts a close off by one tick of the loop.
///
/// On graceful shutdown Hummingbird's HTTP/2 connection manager closes the connection in the very step in which the
/// last stream ends, before that stream's last frames were flushed: without this the last answer in flight on each
/// connection is lost.
final class FlushBeforeClose: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.flush()
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.value.eventLoop.execute {
            context.value.flush()
            context.value.close(mode: mode, promise: promise)
        }
    }
}
