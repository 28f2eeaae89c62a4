import Foundation
import NIOCore
import NIOHTTP2
import NIOSSL
package import PushModel
import Synchronization

/// Why the listener's certificate or key can't be used; names the file.
struct ListenerCertificateError: Error, CustomStringConvertible {
    let description: String
}

/// Certificate and key of a listener, TLS 1.2 or later: read at the start, and again when asked. A connection keeps the
/// certificate that it began with. Safe to use from any task.
package final class ListenerCertificate: Sendable {
    private struct State {
        var content: Content
        /// How the files were when they were last read, in vain or not.
        var seen: [FileStamp]
    }

    /// What the files hold.
    private struct Content {
        var context: NIOSSLContext
        var validUntil: Timestamp
        var names: CertificateNames
        /// Chain and key, for the handshakes of another certificate's context.
        var pair: NIOSSLContextConfigurationOverride
    }

    /// The PEM chain.
    package let certificateFile: String
    /// The PEM key.
    package let keyFile: String
    /// What stands in for this one in handshakes for their names.
    private let others: [ListenerCertificate]
    private let state: Mutex<State>

    /// Reads chain and key, and tries whether they fit together.
    ///
    /// - Parameter others: take this one's place in handshakes of clients that ask for a name which is theirs and not of
    ///   this one (SNI, RFC 6066 §3).
    /// - Throws: an error whose description names the file that can't be used.
    package init(certificateFile: String, keyFile: String, others: [ListenerCertificate] = []) throws {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.others = others
        let seen = [FileStamp(certificateFile), FileStamp(keyFile)]
        let content = try Self.read(certificateFile: certificateFile, keyFile: keyFile, others: others)
        state = Mutex(State(content: content, seen: seen))
    }

    /// When the certificate in force ends.
    package var validUntil: Timestamp { state.withLock { $0.content.validUntil } }

    /// What new connections use.
    var context: NIOSSLContext { state.withLock { $0.content.context } }

    /// Chain and key when the certificate is for a host.
    fileprivate func pair(for host: String) -> NIOSSLContextConfigurationOverride? {
        state.withLock { $0.content.names.contain(host) ? $0.content.pair : nil }
    }

    /// Reads both files again and puts both in force, or neither.
    ///
    /// - Throws: an error whose description names the file that can't be used; the certificate in force stays.
    package func reload() throws {
        let seen = [FileStamp(certificateFile), FileStamp(keyFile)]
        state.withLock { $0.seen = seen }
        let content = try Self.read(certificateFile: certificateFile, keyFile: keyFile, others: others)
        state.withLock { $0.content = content }
    }

    /// Reads the files again if one of them is another one than at the last look, whether that one could be used or not.
    ///
    /// - Returns: whether they were read.
    /// - Throws: as ``reload()``.
    package func reloadIfChanged() throws -> Bool {
        let current = [FileStamp(certificateFile), FileStamp(keyFile)]
        guard state.withLock({ $0.seen != current }) else { return false }
        try reload()
        return true
    }

    /// Which file stands at a path, symbolic links followed, as far as that can be seen without reading it.
    private struct FileStamp: Equatable {
        private var number: UInt64?
        private var size: UInt64?
        private var time: Date?

        init(_ path: String) {
            let target = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
            // A file that is away for a moment differs from the one that comes back.
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: target) else { return }
            number = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
            size = (attributes[.size] as? NSNumber)?.uint64Value
            time = attributes[.modificationDate] as? Date
        }
    }

    private static func read(
        certificateFile: String, keyFile: String, others: [ListenerCertificate]
    ) throws -> Content {
        let chain = try read(certificateFile, "certificate") { try NIOSSLCertificate.fromPEMFile($0) }
        guard let leaf = chain.first else {
            throw ListenerCertificateError(
                description: "The certificate file \(certificateFile) holds no PEM certificate.")
        }
        let key = try read(keyFile, "key") { try NIOSSLPrivateKey(file: $0, format: .pem) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        // RFC 8996: what is older is not used any more.
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
        let names = CertificateNames(of: leaf)
        if !others.isEmpty { configuration.sslContextCallback = Self.choice(among: others, instead: names) }
        var pair = NIOSSLContextConfigurationOverride()
        pair.certificateChain = configuration.certificateChain
        pair.privateKey = configuration.privateKey
        do {
            return Content(
                context: try NIOSSLContext(configuration: configuration),
                validUntil: Timestamp(seconds: Int64(leaf.notValidAfter)), names: names, pair: pair)
        } catch {
            throw ListenerCertificateError(
                description: "The certificate file \(certificateFile) and the key file \(keyFile) don't fit together.")
        }
    }

    /// Takes the first of the others that is for the host, unless the certificate itself is.
    private static func choice(
        among others: [ListenerCertificate], instead names: CertificateNames
    ) -> NIOSSLContextCallback {
        { values, promise in
            let host = values.serverHostname.flatMap { names.contain($0) ? nil : $0 }
            promise.succeed(host.flatMap { host in others.lazy.compactMap { $0.pair(for: host) }.first } ?? .noChanges)
        }
    }

    private static func read<Part>(_ file: String, _ what: String, _ body: (String) throws -> Part) throws -> Part {
        // The library does not say it of a certificate.
        let unreadable =
            if !FileManager.default.fileExists(atPath: file) {
                "no such file"
            } else {
                FileManager.default.isReadableFile(atPath: file) ? nil : "this user may not read it"
            }
        if let unreadable {
            throw ListenerCertificateError(description: "The \(what) file \(file) can't be read: \(unreadable)")
        }
        do {
            return try body(file)
        } catch {
            // The library's text may quote the file, which can be a private key: not repeated.
            throw ListenerCertificateError(
                description: "The \(what) file \(file) is not a PEM \(what) that can be used.")
        }
    }
}
