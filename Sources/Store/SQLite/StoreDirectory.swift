import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

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
            throw StoreError(.unavailable, "The directory \(path) of the store can't be made.", underlying: error)
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
            throw StoreError(.unavailable, "The file \(file) of the store can't be made.", underlying: error)
        }
    }
}

/// The lock of the one gateway: an flock(2), so it goes with the process however that ends.
final class GatewayLock: Sendable {
    private let file: Mutex<FileHandle?>

    /// Takes the lock; `nil` when another process has it.
    init?(directory: StoreDirectory) throws(StoreError) {
        try directory.makeFile(directory.lockPath)
        guard let handle = FileHandle(forUpdatingAtPath: directory.lockPath) else {
            throw StoreError(.unavailable, "The file \(directory.lockPath) can't be opened for writing.")
        }
        guard flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        file = Mutex(handle)
    }

    /// Gives the lock back. Idempotent.
    func release() {
        file.withLock { handle in
            guard let open = handle else { return }
            handle = nil
            _ = flock(open.fileDescriptor, LOCK_UN)
        }
    }
}
