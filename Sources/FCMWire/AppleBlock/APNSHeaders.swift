package import PushModel

/// APNs request headers that a sender may set, checked (apns.md §2).
package struct APNSHeaders: Hashable, Sendable {
    /// `apns-push-type`.
    package var pushType: PushType?
    /// `apns-topic`.
    package var topic: String?
    /// `apns-priority`.
    package var priority: PushPriority?
    /// `apns-expiration`.
    package var expiration: APNSExpiration?
    /// `apns-collapse-id`, 1 to 64 bytes.
    package var collapseID: String?
    /// `apns-id`, only for a single registration.
    package var id: PushID?

    /// No header set.
    package init() {}
}
