package import PushModel

/// Composes FCM messages. A platform's composer adds the push that it makes of one.
package protocol FCMComposer: PushComposer {
    /// What a message says to the devices of one app.
    ///
    /// - Throws: ``InvalidMessage`` that names the field which does not fit the app, for size both sizes.
    func push(of message: FCMMessage, in context: PushContext) throws(InvalidMessage) -> any ComposedPush
}

extension FCMComposer {
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
        return try push(of: message, in: context)
    }
}
