import Dispatch
import Foundation
import Logging
import SQLiteStorage
import Store

/// A store that was opened.
struct OpenedStore: Sendable {
    /// The store.
    var store: any AdministeredStore
    /// The gateways that share it; `nil`: only one can have it.
    var nodes: (any NodeStore)?
    /// The projects of these gateways, where they are stored; `nil`: it keeps none.
    var projects: (any ProjectStore)?
}

// The only place that names the embedded storage; ``SharedStore`` names the other one.
extension GatewayConfiguration {
    /// Opens the store of this configuration; makes it if there is none. On a thread that may block: opening waits for
    /// files, for servers, and for the locks of other processes.
    ///
    /// - Parameters:
    ///   - holder: what a second gateway is told about this one.
    ///   - logger: `nil`: a command's, which says what is wrong by itself.
    func openStore(
        as role: StoreRole, holder: GatewayHolder? = nil, logger: Logger? = nil
    ) async throws(StoreError) -> any AdministeredStore {
        try await openStoreWithNodes(as: role, holder: holder, logger: logger).store
    }

    /// As ``openStore(as:holder:logger:)``, with the gateways that share it.
    func openStoreWithNodes(
        as role: StoreRole, holder: GatewayHolder? = nil, logger: Logger? = nil
    ) async throws(StoreError) -> OpenedStore {
        let logger = logger ?? Logger(label: "store", factory: { _ in SwiftLogNoOpLogHandler() })
        let opened: Result<OpenedStore, StoreError> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [database, dataDirectory] in
                continuation.resume(
                    returning: Result { () throws(StoreError) in
                        if let database { return try SharedStore.open(database, as: role, logger: logger) }
                        return OpenedStore(
                            store: try SQLiteStore(
                                directory: dataDirectory, role: role, holder: holder, logger: logger))
                    })
            }
        }
        return try opened.get()
    }

    /// The file that is there when a store was made.
    private var storeFile: String { SQLiteStore.file(in: dataDirectory) }

    /// Whether there is a store, as far as that shows without asking a server.
    var hasStore: Bool { database != nil || FileManager.default.fileExists(atPath: storeFile) }

    /// Where the store is, for people.
    var storeName: String { database?.name ?? storeFile }

    /// What says where the store is.
    var storeSetting: Setting { database == nil ? .data : .storeURL }
}
