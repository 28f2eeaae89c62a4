package import FCMWire
package import PushModel

/// Composes FCM messages for Apple's devices.
package struct AppleComposer: FCMComposer {
    /// Makes a composer; it has no state.
    package init() {}

    package func push(of message: FCMMessage, in context: PushContext) throws(InvalidMessage) -> any ComposedPush {
        try ApplePush(message, in: context)
    }
}
