import Foundation
import GRDBSQLite
import Synchronization

/// Makes SQLite's syncs of the files in a directory fail when it is told to, as a disk does that reports an error once.
///
/// It is the default VFS of the process from the first ``install()`` on and passes everything on to the one before, but
/// for the syncs of directories that ``fail(in:times:)`` names (sqlite.org/vfs.html).
enum FailingSync {
    private struct State {
        /// Syncs of logs that are still to fail, by directory.
        var failures: [String: Int] = [:]
        /// The directories of open logs, by the address of their file.
        var logs: [UInt: String] = [:]
    }

    private static let state = Mutex(State())
    /// Set once, before the VFS is registered, and only read after that.
    private nonisolated(unsafe) static var original: UnsafeMutablePointer<sqlite3_vfs>?
    private nonisolated(unsafe) static var originalMethods: UnsafePointer<sqlite3_io_methods>?
    private static let installed: Bool = {
        guard let found = unsafe sqlite3_vfs_find(nil) else { return false }
        unsafe original = found
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe vfs.initialize(to: found.pointee)
        let name = unsafe strdup("failing-sync")
        unsafe vfs.pointee.zName = UnsafePointer(name)
        unsafe vfs.pointee.pNext = nil
        unsafe vfs.pointee.xOpen = { _, path, file, flags, outFlags in
            unsafe FailingSync.open(path, file, flags, outFlags)
        }
        return unsafe sqlite3_vfs_register(vfs, 1) == SQLITE_OK
    }()

    /// Stores that are opened from now on go through it.
    static func install() -> Bool { installed }

    /// Has the next syncs of the log in `directory` fail.
    static func fail(in directory: String, times: Int) {
        state.withLock { $0.failures[directory] = times }
    }

    private static func open(
        _ path: sqlite3_filename?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let original = unsafe original, let file = unsafe file,
            let code = unsafe original.pointee.xOpen?(original, path, file, flags, outFlags)
        else { return SQLITE_MISUSE }
        guard code == SQLITE_OK, flags & SQLITE_OPEN_WAL != 0, let path = unsafe path,
            let methods = unsafe file.pointee.pMethods
        else { return code }
        let directory = URL(filePath: unsafe String(cString: path)).deletingLastPathComponent().path()
        let address = UInt(bitPattern: file)
        state.withLock { $0.logs[address] = directory }
        let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        unsafe copy.initialize(to: methods.pointee)
        unsafe originalMethods = methods
        unsafe copy.pointee.xSync = { file, flags in unsafe FailingSync.sync(file, flags) }
        unsafe file.pointee.pMethods = UnsafePointer(copy)
        return code
    }

    private static func sync(_ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32) -> Int32 {
        let address = UInt(bitPattern: file)
        let fails = state.withLock { state in
            guard let directory = state.logs[address],
                let key = state.failures.keys.first(where: { directory.hasPrefix($0) }),
                let left = state.failures[key], left > 0
            else { return false }
            state.failures[key] = left - 1
            return true
        }
        guard !fails else { return SQLITE_IOERR | 4 << 8 }
        return unsafe originalMethods?.pointee.xSync?(file, flags) ?? SQLITE_MISUSE
    }
}
