import Delivery
import PushModel
import Store

/// What APNs' refusal is for a sender who waited for the outcome: the one table that says so.
///
/// None is an error of 500 or more, nor one of 429: SDKs send such a message again, and this one was accepted.
struct Rejection {
    /// Which field a refusal is about.
    enum Subject {
        /// The registration that is named: its token, or its FID.
        case registration
        /// A field of the message.
        case field(String)
        /// None: the gateway or its configuration.
        case gateway
    }

    /// The answer.
    let code: FCMError.Code
    /// The precise cause.
    let reason: ErrorReason
    /// What it is about.
    let subject: Subject

    /// The refusals that are not ``other``. The topic is the app's own, which its credential has to have.
    static let rows: [APNSReason: Rejection] = [
        .unregistered: Rejection(.unregistered, .deviceUnregistered, .registration),
        .expiredToken: Rejection(.unregistered, .deviceUnregistered, .registration),
        .badDeviceToken: Rejection(.invalidArgument, .deviceTokenRefused, .registration),
        .deviceTokenNotForTopic: Rejection(.invalidArgument, .deviceTokenRefused, .registration),
        .missingDeviceToken: Rejection(.invalidArgument, .deviceTokenRefused, .registration),
        .payloadTooLarge: Rejection(.invalidArgument, .payloadTooLarge, .field("message")),
        .payloadEmpty: Rejection(.invalidArgument, .payloadRefused, .field("message")),
        .badCollapseID: header("apns-collapse-id"),
        .badExpirationDate: header("apns-expiration"),
        .badMessageID: header("apns-id"),
        .badPriority: header("apns-priority"),
        .invalidPushType: header("apns-push-type"),
        .badTopic: credential,
        .missingTopic: credential,
        .topicDisallowed: credential,
        .badCertificate: credential,
        .badCertificateEnvironment: credential,
        .forbidden: credential,
        .expiredProviderToken: credential,
        .invalidProviderToken: credential,
        .missingProviderToken: credential,
        .unrelatedKeyIDInToken: credential,
        .badEnvironmentKeyIDInToken: credential,
        APNSReason(rawValue: TransportCause.noRoute.rawValue): Rejection(
            .thirdPartyAuthError, .noUpstream, .gateway),
    ]

    /// Every other refusal.
    static let other = Rejection(.invalidArgument, .pushRefused, .gateway)

    /// The row of a reason in any of its spellings.
    static func of(_ reason: APNSReason) -> Rejection {
        rows[APNSReasonTable.row(of: reason)?.reason ?? reason] ?? other
    }

    private static let credential = Rejection(.thirdPartyAuthError, .apnsCredentialRefused, .gateway)

    private static func header(_ name: String) -> Rejection {
        Rejection(.invalidArgument, .headerRefused, .field("message.apns.headers.\(name)"))
    }

    private init(_ code: FCMError.Code, _ reason: ErrorReason, _ subject: Subject) {
        self.code = code
        self.reason = reason
        self.subject = subject
    }
}

extension FCMError {
    /// The error that the end of a delivery is for who waited for it; `nil`: none. A delivery that expired or was
    /// cancelled was accepted all the same, and may have arrived. A 410 from before the registration's last refresh is none
    /// either: whatever error stood for it, some sender would forget a good token.
    ///
    /// - Parameters:
    ///   - item: what was sent.
    ///   - name: the message's resource name, under which its report is.
    init?(_ end: DeliveryEnd, of item: SendItem, name: String) {
        guard end.outcome == .rejected, end.reason != DeliveryEnd.unregisteredEarlier else { return nil }
        let apnsReason = APNSReason(rawValue: end.reason ?? "")
        let rejection = Rejection.of(apnsReason)
        let text =
            APNSReasonTable.row(of: apnsReason)?.meaning ?? "The push was refused: \(apnsReason.rawValue.excerpt)."
        var field: String?
        switch rejection.subject {
        case .registration where item.content.apns.liveActivityToken != nil:
            // Of the registration that says nothing: a sender who is told UNREGISTERED forgets it.
            self.init(
                .invalidArgument, "APNs refused the token of the Live Activity. \(text)", reason: .activityTokenRefused)
            field = "message.apns.live_activity_token"
        case .registration:
            let isGone = rejection.code == .unregistered
            self.init(rejection.code, isGone ? nil : text, reason: rejection.reason)
            field = isGone ? nil : item.targetField
        case .field(let path):
            self.init(rejection.code, text, reason: rejection.reason)
            field = path
        case .gateway:
            self.init(rejection.code, rejection.code == .thirdPartyAuthError ? nil : text, reason: rejection.reason)
        }
        if let field { violations = [FieldViolation(field: field, description: message)] }
        metadata = ["message": name, "apnsReason": apnsReason.rawValue.excerpt]
    }
}

extension SendItem {
    /// The field that names the registration.
    fileprivate var targetField: String {
        if case .registration = target { "message.fid" } else { "message.token" }
    }
}
