import Foundation
import Logging
import SQLStorage
import SQLiteStorage
import Store

/// A directory for a store, removed with the value.
final class StoreFolder {
    let path: String

    init(in directory: String) {
        path = directory + "/herald-bench-\(UUID().uuidString)"
        Cleanup.add(folder: path)
    }

    deinit { Cleanup.remove(folder: path) }

    /// The store in it.
    func open() throws -> SQLiteStore {
        try SQLiteStore(directory: path, role: .gateway, logger: Logger(label: "herald-bench"))
    }

    /// Of all files; exact once the store is closed.
    var bytes: Int {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: path).reduce(0) { sum, file in
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(file)")
                return sum + (attributes[.size] as? Int ?? 0)
            }
        }
    }
}
