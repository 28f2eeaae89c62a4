import Foundation
import Store
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

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
            throw StoreError("The file \(directory.lockPath) can't be opened for writing.", file: error)
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
