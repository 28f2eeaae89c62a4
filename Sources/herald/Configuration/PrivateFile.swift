import Foundation

/// A file that only its owner should read.
struct PrivateFile {
    /// Its path.
    let path: String

    /// Whether every user of the machine can read it.
    var isReadableByOthers: Bool {
        do {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
            return (mode?.intValue ?? 0) & 0o004 != 0
        } catch {
            // Whoever reads the file reports it better.
            return false
        }
    }

    /// Replaces the file's content in one step.
    ///
    /// The mode is set after the file is there, so the directory must be its owner's alone
    /// (``makeDirectory(_:)``).
    func write(_ data: Data) throws {
        try data.write(to: URL(filePath: path), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: path)
    }

    /// Makes a directory that only its owner enters, with those above it; one that exists stays as it is.
    static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: NSNumber(value: 0o700)])
    }
}
