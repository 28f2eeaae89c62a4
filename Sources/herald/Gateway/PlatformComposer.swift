import APNS
import FCMRelay
import FCMWire
import PushModel
import WebPush

/// Composes each message for what the app is reached by.
struct PlatformComposer: FCMComposer {
    func push(of message: FCMMessage, in context: PushContext) throws(InvalidMessage) -> any ComposedPush {
        switch context.app.platform {
        case .apple: try ApplePush(message, in: context)
        case .web: try BrowserPush(message, in: context)
        case .android: try AndroidPush(message, in: context, isDryRun: context.isDryRun)
        }
    }
}
