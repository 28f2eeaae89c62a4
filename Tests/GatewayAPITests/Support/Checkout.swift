import Foundation

/// Files of the checkout that tests read: documents and FCM's own schemas.
enum Checkout {
    /// The text of a file, by its path from the top of the checkout.
    static func text(_ path: String) throws -> String {
        let support = URL(filePath: #filePath).deletingLastPathComponent()
        return try String(contentsOf: support.appending(path: "../../../" + path).standardized, encoding: .utf8)
    }
}
