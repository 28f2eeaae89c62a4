import Foundation
import Store

/// The directory of a store: the database and the lock that makes a gateway the only one.
///
/// Tokens and payloads lie in it, so what is made here is for its owner only. SQLite gives its journal files the
/// permissions of the database.
struct StoreDirectory {
    let path: String

    /// The database.
    var databasePath: String { path + "/herald.db" }
    /// The file that a gateway holds locked while it runs.
    var lockPath: String { path + "/gateway.lock" }

    /// Makes the directory and an empty database unless they are there.
    func prepare() throws(StoreError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError("The directory \(path) of the store can't be made.", file: error)
        }
        try makeFile(databasePath)
    }

    /// Makes an empty file for its owner only, unless there is one. The exclusive create decides which of two
    /// processes makes it; replacing a file that another has open would give each its own.
    func makeFile(_ file: String) throws(StoreError) {
        guard !FileManager.default.fileExists(atPath: file) else { return }
        do {
            try Data().write(to: URL(filePath: file), options: .withoutOverwriting)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        } catch let error as CocoaError where error.code == .fileWriteFileExists {
            // Another process was faster.
        } catch {
            throw StoreError("The file \(file) of the store can't be made.", file: error)
        }
    }
}
