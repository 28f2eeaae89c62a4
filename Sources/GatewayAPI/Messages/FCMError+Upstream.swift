import Delivery
import FCMWire
import PushModel
import Store

extension FCMError {
    /// The error for a message that a push service was asked about before anything of it was kept, so that one of 429, 500
    /// and more is right, too: the sender sends again.
    ///
    /// What is one of FCM's own codes is answered as such, whatever sends it. UNREGISTERED is for that word alone.
    ///
    /// - Parameters:
    ///   - refusals: what reasons stand for.
    ///   - field: what the request names the device by.
    init(_ refusal: AdoptionRefusal, project: Project, _ refusals: RefusalCatalog, field: String) {
        switch refusal {
        case .refused(let refusal): self.init(refusal, project: project)
        case .unanswered:
            self.init(
                .unavailable, "The push service did not answer in time. Nothing was kept.", reason: .upstreamUnavailable
            )
        case .answered(.rejected(let refusal)):
            self.init(refusal, refusals, field: field)
        case .answered(.throttled(let refusal, let after)):
            self.init(later: refusal, after: after, refusals)
        case .answered(.accepted), .answered(.notSent), .answered(.unknown):
            self.init(
                .unavailable, "The push service can't be reached. Nothing was kept.", reason: .upstreamUnavailable)
        }
    }

    /// A refusal for good.
    private init(_ refusal: Refusal, _ refusals: RefusalCatalog, field: String) {
        let text = refusals[refusal.reason.rawValue]?.meaning
        switch refusal.scope {
        case .addressDead: self.init(.unregistered, reason: .deviceUnregistered)
        case .addressDoubtful where refusal.reason.rawValue == Code.senderIDMismatch.errorCode,
            .push(.address) where refusal.reason.rawValue == Code.senderIDMismatch.errorCode:
            self.init(.senderIDMismatch, text, reason: .registrationOfOtherProject)
        case .addressDoubtful, .push(.address):
            self = .invalid(field, text ?? Code.invalidArgument.message, reason: .deviceTokenRefused)
        case .push(.payloadSize):
            self = .invalid("message", text ?? Code.invalidArgument.message, reason: .payloadTooLarge)
        case .push(.payload), .push(.header):
            self = .invalid("message", text ?? Code.invalidArgument.message, reason: .payloadRefused)
        case .topic: self.init(.thirdPartyAuthError, text)
        case .push(.request), .push(.unspecified), .push(.timeToLive):
            self.init(.invalidArgument, text, reason: .pushRefused)
        case .credential, .connection, .load: self.init(later: refusal, after: nil, refusals)
        }
        metadata["upstreamReason"] = refusal.reason.rawValue.excerpt
    }

    /// A refusal that may pass. The gateway's own credential is its operator's matter: the sender's tokens are good.
    private init(later refusal: Refusal, after: Duration?, _ refusals: RefusalCatalog) {
        let text = refusals[refusal.reason.rawValue]?.meaning
        switch refusal.scope {
        case .load where refusal.reason.rawValue == Code.internal.errorCode:
            self.init(.internal, text, reason: .upstreamUnavailable)
        case .load(.address):
            self.init(.quotaExceeded, text, reason: .limitReached)
            quotaSubject = "device"
        case .load where refusal.reason.rawValue == Code.quotaExceeded.errorCode:
            self.init(.quotaExceeded, text, reason: .limitReached)
            quotaSubject = "upstream"
        case .topic: self.init(.thirdPartyAuthError, text)
        case .load, .credential, .connection, .push, .addressDead, .addressDoubtful:
            self.init(.unavailable, text.map { "\($0) Nothing was kept." }, reason: .upstreamUnavailable)
        }
        if let after = after ?? refusal.firstWait {
            retryAfterSeconds = max(1, Int(clamping: (after.wholeMilliseconds + 999) / 1000))
        }
        metadata["upstreamReason"] = refusal.reason.rawValue.excerpt
    }
}
