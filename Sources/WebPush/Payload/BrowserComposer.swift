import FCMWire
package import PushModel

/// Composes FCM messages for browsers.
package struct BrowserComposer: PushComposer {
    /// Makes a composer; it has no state.
    package init() {}

    package func content(stored bytes: [UInt8]) throws(UnreadableContent) -> any MessageContent {
        try FCMMessage.content(of: .stored(bytes))
    }

    package func compose(
        _ content: any MessageContent, in context: PushContext
    ) throws(InvalidMessage) -> any ComposedPush {
        let message: FCMMessage
        do throws(UnreadableContent) {
            message = try FCMMessage.content(of: .decoded(content))
        } catch {
            throw InvalidMessage([FieldViolation(field: "message", description: "The message can't be read.")])
        }
        return try BrowserPush(message, in: context)
    }
}
