import Foundation
import Signing
import Synchronization

/// Certificates of authorities that were stored with projects, as files for the TLS library: in a directory that only this
/// process' user enters, made with the first one and removed when the value goes. They are no secret.
///
/// A file bears the digest of its content as its name: the same authorities are the same file, whichever version of the
/// projects names them, so that their connections stay.
final class AuthorityFiles: Sendable {
    private let directory = Mutex<URL?>(nil)

    /// Nothing is written yet.
    init() {}

    /// Writes certificates unless they are there.
    ///
    /// - Returns: the path of the file.
    func write(_ text: String) throws(ConfigurationProblem.Unreadable) -> String {
        let name = Digest.sha256(Array(text.utf8)).map { String(format: "%02x", $0) }.joined() + ".pem"
        do {
            return try directory.withLock { directory in
                let place = try directory ?? Self.makeDirectory()
                directory = place
                let file = place.appending(path: name)
                if !FileManager.default.fileExists(atPath: file.path) {
                    try Data(text.utf8).write(to: file, options: .atomic)
                }
                return file.path
            }
        } catch {
            throw ConfigurationProblem.Unreadable(
                text: "the certificates can't be written to \(FileManager.default.temporaryDirectory.path): "
                    + error.localizedDescription)
        }
    }

    private static func makeDirectory() throws -> URL {
        let place = FileManager.default.temporaryDirectory.appending(path: "herald-trust-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: place, withIntermediateDirectories: false, attributes: [.posixPermissions: NSNumber(value: 0o700)])
        return place
    }

    deinit {
        // What is left in a directory of temporary files does no harm: it is no secret.
        directory.withLock { directory in
            if let directory { try? FileManager.default.removeItem(at: directory) }
        }
    }
}
