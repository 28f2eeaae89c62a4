package import PushModel

/// A message's content of no form: the store keeps the bytes, whatever they say.
package struct PlainContent: MessageContent {
    package let bytes: [UInt8]
    package let label: AnalyticsLabel? = nil
    package let isDisplayed = true
    package let pushID: PushID?
    package let activityToken: DeviceToken? = nil

    /// Makes a content of `text`, which is JSON.
    package init(_ text: String = #"{"data":{"k":"v"}}"#, pushID: PushID? = nil) {
        bytes = Array(text.utf8)
        self.pushID = pushID
    }

    package func timeToLive(acceptedAt time: Timestamp, on platform: Platform) -> TimeToLive { .standard }
}
