import COpenSSL
import Glibc

/// The state of the files of a trust source.
struct TrustState: Equatable {
    private let files: [TrustFileState?]

    /// `nil`: none of the files is there.
    init?(of paths: [String]) {
        files = paths.map { TrustFileState($0) }
        if files.allSatisfy({ $0 == nil }) { return nil }
    }

    /// The file and the directories that OpenSSL reads the system's authorities from, as
    /// SSL_CTX_set_default_verify_paths(3) has it. A certificate that comes into a directory, or goes, changes it.
    static let systemPaths: [String] = {
        let file = unsafe value(of: "SSL_CERT_FILE", or: X509_get_default_cert_file())
        let directories = unsafe value(of: "SSL_CERT_DIR", or: X509_get_default_cert_dir())
        return [file] + directories.split(separator: ":").map(String.init)
    }()

    private static func value(of name: String, or standard: UnsafePointer<CChar>?) -> String {
        if let set = unsafe getenv(name) { return unsafe String(cString: set) }
        return unsafe standard.map { unsafe String(cString: $0) } ?? ""
    }
}
