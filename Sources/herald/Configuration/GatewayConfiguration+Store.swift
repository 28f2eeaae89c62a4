import Logging
import SQLiteStorage
import Store

// The only place that names the storage.
extension GatewayConfiguration {
    /// Opens the store of this configuration; makes it if there is none.
    ///
    /// - Parameters:
    ///   - holder: what a second gateway is told about this one.
    ///   - logger: `nil`: a command's, which says what is wrong by itself.
    func openStore(
        as role: StoreRole, holder: GatewayHolder? = nil, logger: Logger? = nil
    ) throws(StoreError) -> any AdministeredStore {
        try SQLiteStore(
            directory: dataDirectory, role: role, holder: holder,
            logger: logger ?? Logger(label: "store", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// The file that is there when a store was made.
    var storeFile: String { SQLiteStore.file(in: dataDirectory) }
}
