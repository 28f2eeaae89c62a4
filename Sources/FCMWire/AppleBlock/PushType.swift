package import PushModel

/// Values of `apns-push-type` (Apple, "Sending notification requests to APNs").
package enum PushType: String, Hashable, Sendable, CaseIterable {
    /// Anything that the user notices, badge and sound included.
    case alert
    /// Content for the app, nothing for the user; priority 5 only.
    case background
    /// A VoIP call.
    case voip
    /// A watchOS complication.
    case complication
    /// A File Provider change.
    case fileprovider
    /// A device-management wake-up.
    case mdm
    /// A Live Activity start, update or end.
    case liveactivity
    /// A location query.
    case location
    /// A Push to Talk session.
    case pushtotalk
    /// A widget reload.
    case widgets
    /// A control reload.
    case controls

    /// What the topic carries behind the bundle id.
    package var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .location: ".location-query"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// The largest payload in bytes.
    package var payloadLimitBytes: Int {
        self == .voip ? 5120 : 4096
    }

    /// The largest payload of a publication to a broadcast channel in bytes.
    package static let broadcastLimitBytes = 5120

    /// The values of `apns-priority` that Apple takes for this push type.
    ///
    /// APNs refuses another one for ``background``; for ``liveactivity`` and ``location`` Apple's pages name the two.
    package var allowedPriorities: [PushPriority] {
        switch self {
        case .background: [.conserving]
        case .liveactivity, .location: [.conserving, .immediate]
        case .alert, .voip, .complication, .fileprovider, .mdm, .pushtotalk, .widgets, .controls: PushPriority.allCases
        }
    }

    /// The `apns-priority` of a push whose sender named none: APNs' own default where it is allowed.
    package var defaultPriority: PushPriority {
        self == .background ? .conserving : .immediate
    }

    /// The `apns-expiration` of a push whose sender named none; `nil`: as long as the message lives.
    ///
    /// A voice that is late is noise (Apple, WWDC22 "Enhance voice communication with Push to Talk").
    package var defaultExpiration: APNSExpiration? {
        self == .pushtotalk ? .once : nil
    }

    /// Whether APNs takes this push type only with a provider token, never over a connection with a certificate.
    package var requiresProviderToken: Bool {
        switch self {
        case .fileprovider, .location, .widgets, .controls: true
        case .alert, .background, .voip, .complication, .mdm, .liveactivity, .pushtotalk: false
        }
    }

    /// Whether APNs takes this push type only over a connection with a certificate: the topic of device management is
    /// a certificate's user ID, which no provider key may push to.
    package var requiresCertificate: Bool { self == .mdm }
}

/// The value of `apns-expiration`.
package enum APNSExpiration: Hashable, Sendable {
    /// `0`: one attempt, not stored.
    case once
    /// Stored and tried until then.
    case until(Timestamp)
}
