#if canImport(ActivityKit)
    public import ActivityKit
    import Foundation

    extension Messaging {
        /// Hands each push token of a Live Activity to the app's own backend, in hex as `apns.live_activity_token` of a message
        /// takes it, for as long as the activity lasts. The gateway keeps no such tokens.
        @available(iOS 16.2, *)
        public func forwardPushTokens<Attributes: ActivityAttributes>(
            of activity: Activity<Attributes>, to backend: (String) async -> Void
        ) async {
            for await token in activity.pushTokenUpdates { await backend(Self.hex(token)) }
        }

        /// The same for the token that starts activities of a kind.
        @available(iOS 17.2, *)
        public func forwardPushToStartTokens<Attributes: ActivityAttributes>(
            of activities: Activity<Attributes>.Type, to backend: (String) async -> Void
        ) async {
            for await token in activities.pushToStartTokenUpdates { await backend(Self.hex(token)) }
        }

        private static func hex(_ token: Data) -> String {
            token.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }
#endif
