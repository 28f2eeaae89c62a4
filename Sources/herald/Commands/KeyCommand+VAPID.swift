import ArgumentParser
import Foundation
import JSON
import Signing

extension KeyCommand {
    /// `herald key vapid`.
    struct VAPID: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "vapid", abstract: "Make a key for Web Push; its public half is alone on the last line.",
            discussion: """
                Writes a P-256 key in PEM that only its owner can read, for webPush.key of a web app. Pages subscribe with \
                the public half: pushManager.subscribe({userVisibleOnly: true, applicationServerKey: …}).
                """)

        @Option(name: .customLong("out"), help: "The file to write.") var path: String
        @Flag(help: "Replace a file that is there. Subscriptions made with its key are lost.") var force = false
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            guard force || !FileManager.default.fileExists(atPath: path) else {
                throw Failure(.inputOutput, "\(path) is there; remove it, or use --force to replace it")
            }
            let (pem, key) = try Self.made()
            try await PrivateFile(path: path).write(
                Data(pem.utf8), replaces: force,
                failure: { Failure(.inputOutput, "\(path): can't be written: \($0.localizedDescription)") },
                after: { () throws(Failure) in })
            if json {
                let answer = JSONValue.object([.init("file", .string(path)), .init("publicKey", .string(key))])
                Terminal.standard.print(String(decoding: answer.bytes, as: UTF8.self))
            } else {
                Terminal.standard.print("Written to \(path). Pages subscribe with this applicationServerKey:")
                Terminal.standard.print(key)
            }
        }

        /// A new key: its file, and its public half as browsers take it.
        private static func made() throws(Failure) -> (pem: String, publicKey: String) {
            do {
                let pem = try ES256PrivateKey.generatedPEM()
                return (pem, Base64URL.text(try ES256PrivateKey(pem: pem).publicPoint))
            } catch {
                throw Failure(.software, "no key can be made: \(error.message)")
            }
        }
    }
}
