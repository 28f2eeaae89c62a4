import Logging
package import Store

extension SQLStore: StoreAdministration {
    /// Whether a write goes through right now, and what is wrong with the store.
    ///
    /// A full disk or a read-only file system is found by the write, and forgotten as soon as one goes through. What else
    /// the engine remembers, it looks at anew beside the callers.
    package func state() async -> StoreState {
        var failure: StoreError?
        do {
            try await write(.probe) { db in
                try db.post("UPDATE meta SET value = value + 1 WHERE name = 'write_probe'")
            }
        } catch {
            logger.warning("Store is not writable", metadata: ["error": "\(error.message)"])
            failure = error
        }
        return engine.state(failure)
    }
}
