import Delivery
import FCMWire
import PushModel
import Store

/// What a push service's refusal is for a sender who waited for the outcome: the one table that says so.
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

    /// The answer for a refusal, by what it is about.
    ///
    /// - Parameter platform: of the registration.
    init(_ scope: Refusal.Scope, on platform: Platform) {
        self =
            switch scope {
            case .addressDead: Rejection(.unregistered, .deviceUnregistered, .registration)
            case .addressDoubtful, .push(.address): Rejection(.invalidArgument, .deviceTokenRefused, .registration)
            case .push(.payloadSize): Rejection(.invalidArgument, .payloadTooLarge, .field("message"))
            case .push(.payload): Rejection(.invalidArgument, .payloadRefused, .field("message"))
            case .push(.header(let name)):
                Rejection(.invalidArgument, .headerRefused, .field("message.apns.headers.\(name)"))
            // The topic is the app's own, which its credential has to have.
            case .topic, .credential, .connection(.tokenExpired), .connection(.credential):
                .credential(on: platform)
            case .push(.request), .push(.unspecified), .push(.timeToLive), .connection, .load: .other
            }
    }

    /// Every refusal that nothing is known of.
    static let other = Rejection(.invalidArgument, .pushRefused, .gateway)

    /// The app has no upstream.
    private static let noUpstream = Rejection(.thirdPartyAuthError, .noUpstream, .gateway)

    /// The credential is refused: that of the gateway, or the one that Google has for the app.
    private static func credential(on platform: Platform) -> Rejection {
        let reason: ErrorReason = platform == .apple ? .apnsCredentialRefused : .upstreamCredentialRefused
        return Rejection(.thirdPartyAuthError, reason, .gateway)
    }

    /// The answer for an end with this reason.
    ///
    /// - Parameter platform: of the registration.
    static func of(_ reason: String, on platform: Platform, _ refusals: RefusalCatalog) -> Rejection {
        if reason == TransportCause.noRoute.rawValue { return noUpstream }
        // Google's words that are FCM's own codes.
        if platform == .android, reason == FCMError.Code.senderIDMismatch.errorCode {
            return Rejection(.senderIDMismatch, .registrationOfOtherProject, .registration)
        }
        if platform == .android, reason == FCMError.Code.thirdPartyAuthError.errorCode {
            return credential(on: platform)
        }
        return refusals[reason].map { Rejection($0.refusal.scope, on: platform) } ?? other
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
    ///   - platform: that of the registration.
    ///   - name: the message's resource name, under which its report is.
    ///   - refusals: what reasons stand for.
    init?(
        _ end: DeliveryEnd, of item: SendItem, on platform: Platform, name: String, _ refusals: RefusalCatalog
    ) {
        guard end.outcome == .rejected, end.reason != DeliveryEnd.unregisteredEarlier else { return nil }
        let reason = end.reason ?? ""
        let rejection = Rejection.of(reason, on: platform, refusals)
        let text = refusals[reason]?.meaning ?? "The push was refused: \(reason.excerpt)."
        var field: String?
        switch rejection.subject {
        case .registration where item.content.apns.liveActivityToken != nil:
            // Of the registration that says nothing: a sender who is told UNREGISTERED forgets it.
            self.init(
                .invalidArgument, "APNs refused the token of the Live Activity. \(text)", reason: .activityTokenRefused)
            field = "message.apns.live_activity_token"
        case .registration where item.isForChannel:
            self.init(.failedPrecondition, "\(text) Make the channel anew.", reason: .channelUnusable)
            field = "target.channel"
        case .registration:
            let isGone = rejection.code == .unregistered
            self.init(rejection.code, isGone ? nil : text, reason: rejection.reason)
            field = rejection.code == .invalidArgument ? item.targetField : nil
        case .field(let path):
            self.init(rejection.code, text, reason: rejection.reason)
            field = path
        case .gateway:
            // FCM's own text of that error is about Apple and browsers.
            let isTold = rejection.code != .thirdPartyAuthError || rejection.reason == .upstreamCredentialRefused
            self.init(rejection.code, isTold ? text : nil, reason: rejection.reason)
        }
        if let field { violations = [FieldViolation(field: field, description: message)] }
        metadata = ["message": name, platform.reasonName: reason.excerpt]
    }
}

extension Platform {
    /// The name of an error's metadata for a word of the push service.
    var reasonName: String { self == .apple ? "apnsReason" : "upstreamReason" }
}

extension SendItem {
    /// Whether it is a publication to a broadcast channel.
    fileprivate var isForChannel: Bool {
        if case .channel = target { true } else { false }
    }

    /// The field that names the registration.
    var targetField: String {
        if case .registration = target { "message.fid" } else { "message.token" }
    }
}
