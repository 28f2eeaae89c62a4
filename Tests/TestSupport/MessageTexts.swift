import FCMWire
package import JSON
package import PushModel

/// The hex digits of a Live Activity token, 32 bytes.
package let activityToken = String(repeating: "0a", count: 32)

/// Reads JSON.
package func json(_ text: String) throws -> JSONValue {
    try JSONValue(parsing: text.utf8)
}

/// The refusal of a message, `nil` when it is taken.
package func refusal(of text: String) throws -> InvalidMessage? {
    do {
        _ = try FCMMessage(source: json(text))
        return nil
    } catch let error as InvalidMessage {
        return error
    }
}
