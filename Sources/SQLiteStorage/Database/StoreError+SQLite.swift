import Foundation
import GRDB
import Store

extension StoreError {
    /// What a database error means to the store's callers: the one place where SQLite's codes are read.
    ///
    /// The bound values of the statement (tokens, payloads) are dropped here; SQLite's own texts name tables, columns
    /// and files only.
    init(database error: any Error) {
        switch error {
        case let error as StoreError:
            self = error
        case let error as DatabaseError where error.isClosed:
            self.init(.unavailable, "The store is closed.", isOfWholeStore: true)
        case let error as DatabaseError:
            self.init(
                Code(error.resultCode), Self.text(of: error),
                isOfWholeStore: Self.codesOfWholeStore.contains(error.resultCode),
                mayPass: Self.passingCodes.contains(error.resultCode),
                underlying: DatabaseError(resultCode: error.extendedResultCode, message: error.message))
        case is CancellationError:
            self.init(.failed, "The task that asked the store was cancelled.", underlying: error)
        default:
            self.init(.failed, "The store failed.", underlying: error)
        }
    }

    /// A failure to make or open a file of the store.
    init(_ message: String, file error: any Error) {
        let codes: [CocoaError.Code] = [.fileWriteOutOfSpace, .fileWriteVolumeReadOnly]
        let mayPass = (error as? CocoaError).map { codes.contains($0.code) } ?? false
        self.init(.unavailable, message, mayPass: mayPass, underlying: error)
    }

    /// What may pass by itself.
    private static let passingCodes: [ResultCode] = [
        .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_CORRUPT, .SQLITE_NOTADB,
    ]

    /// What says nothing about the statement that met it.
    private static let codesOfWholeStore: [ResultCode] = [
        .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_READONLY, .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_CANTOPEN, .SQLITE_NOMEM,
    ]

    /// Whether it says that the file is not what SQLite wrote.
    var isDamage: Bool {
        guard let error = underlying as? DatabaseError else { return false }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
    }

    private static func text(of error: DatabaseError) -> String {
        let detail = error.message.map { ": \($0)" } ?? ""
        return switch error.resultCode {
        case .SQLITE_FULL: "The disk of the store is full."
        case .SQLITE_BUSY, .SQLITE_LOCKED: "Another process held the store locked for too long."
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: "The database of the store is damaged\(detail)."
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH:
            "The database of the store can't be opened or written\(detail)."
        case .SQLITE_IOERR: "The disk of the store failed\(detail)."
        default: "The store failed with SQLite error \(error.extendedResultCode.rawValue)\(detail)."
        }
    }
}

extension DatabaseError {
    /// Whether the library refused the call because the connection was closed: it has no code of its own for that.
    fileprivate var isClosed: Bool { resultCode == .SQLITE_MISUSE && message == "Connection is closed" }
}

extension StoreError.Code {
    fileprivate init(_ code: ResultCode) {
        switch code {
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH:
            self = .unavailable
        default: self = .failed
        }
    }
}
