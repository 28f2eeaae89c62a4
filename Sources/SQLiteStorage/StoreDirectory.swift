import Foundation
package import PushModel
import Store
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
///
/// The file says who has it, for the gateway that comes second. Only the lock itself decides: what a killed gateway left
/// in the file is overwritten by the next one.
final class GatewayLock: Sendable {
    private let file: Mutex<FileHandle?>

    /// Takes the lock; `nil` when another process has it.
    init?(directory: StoreDirectory) throws(StoreError) {
        try directory.makeFile(directory.lockPath)
        let handle: FileHandle
        do {
            handle = try FileHandle(forUpdating: URL(filePath: directory.lockPath))
        } catch {
            throw StoreError(
                .unavailable, "The file \(directory.lockPath) can't be opened for writing.", underlying: error)
        }
        guard flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        Self.write("", to: handle)
        file = Mutex(handle)
    }

    /// Notes who has the lock.
    func note(_ holder: GatewayHolder) {
        file.withLock { handle in
            guard let handle else { return }
            Self.write(holder.text + "\n", to: handle)
        }
    }

    /// Gives the lock back. Idempotent.
    func release() {
        file.withLock { handle in
            guard let open = handle else { return }
            handle = nil
            Self.write("", to: open)
            _ = flock(open.fileDescriptor, LOCK_UN)
        }
    }

    /// Whether some process has the lock. Asks for it for an instant, in common with others that ask.
    static func isHeld(in directory: StoreDirectory) -> Bool {
        guard let handle = FileHandle(forReadingAtPath: directory.lockPath) else { return false }
        guard flock(handle.fileDescriptor, LOCK_SH | LOCK_NB) == 0 else { return true }
        _ = flock(handle.fileDescriptor, LOCK_UN)
        return false
    }

    /// Who has the lock of `directory`, as the holder wrote it down; `nil` when it did not.
    static func holder(of directory: StoreDirectory) -> String? {
        guard let data = FileManager.default.contents(atPath: directory.lockPath), data.count < 1024 else { return nil }
        let text = String(decoding: data, as: UTF8.self).split(separator: "\n").first.map(String.init)
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Replaces the text of the file; it is for people only, so a full disk is no reason not to run.
    private static func write(_ text: String, to handle: FileHandle) {
        do {
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: Data(text.utf8))
        } catch {
            // The second gateway then says that there is another, and not which.
        }
    }
}

/// The gateway that has a store open, as a second one tells it.
package struct GatewayHolder: Hashable, Sendable {
    /// What the process was started as, for example `herald serve`.
    package var command: String
    /// Where it listens, or is about to.
    package var address: String
    /// When it took the store.
    package var since: Timestamp

    /// Describes a gateway of this process.
    package init(command: String, address: String, since: Timestamp) {
        self.command = command
        self.address = address
        self.since = since
    }

    /// One line, with the id of this process.
    var text: String {
        "\(command), process \(ProcessInfo.processInfo.processIdentifier), on \(address), since \(since.rfc3339)"
    }
}
