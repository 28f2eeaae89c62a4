/// What people call a link.
package enum LinkName {
    /// The longest in bytes.
    private static let limitBytes = 256

    /// Why a text can't be a name: a sentence without a subject; `nil`: it can.
    package static func problem(_ text: String) -> String? {
        guard text.utf8.count <= limitBytes else {
            return "has \(text.utf8.count) bytes; a name has at most \(limitBytes)"
        }
        let hasControl = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        return hasControl ? "has control characters; a name has none" : nil
    }
}
