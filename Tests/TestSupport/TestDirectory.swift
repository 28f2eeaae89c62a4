import Foundation

/// A directory of its own for one test, removed when the value goes.
package final class TestDirectory: Sendable {
    /// Its path.
    package let path: String

    /// Makes the directory.
    package init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "herald-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path()
    }

    /// The path of `name` in it.
    package func file(_ name: String) -> String {
        path + "/" + name
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            // A left-over directory in /tmp does no harm; a test must not fail for it.
        }
    }
}
