import Dispatch
import Logging
import SQLiteStorage
import Store

// The only place that names the storage.
extension GatewayConfiguration {
    /// Opens the store of this configuration; makes it if there is none. On a thread that may block: opening waits for
    /// files, and for the locks of other processes.
    ///
    /// - Parameters:
    ///   - holder: what a second gateway is told about this one.
    ///   - logger: `nil`: a command's, which says what is wrong by itself.
    func openStore(
        as role: StoreRole, holder: GatewayHolder? = nil, logger: Logger? = nil
    ) async throws(StoreError) -> any AdministeredStore {
        let logger = logger ?? Logger(label: "store", factory: { _ in SwiftLogNoOpLogHandler() })
        let opened: Result<any AdministeredStore, StoreError> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [dataDirectory] in
                continuation.resume(
                    returning: Result { () throws(StoreError) in
                        try SQLiteStore(directory: dataDirectory, role: role, holder: holder, logger: logger)
                    })
            }
        }
        return try opened.get()
    }

    /// The file that is there when a store was made.
    var storeFile: String { SQLiteStore.file(in: dataDirectory) }
}
