package import PushModel

/// What Google answers, with what it means and what it is about (fcm-relay.md §4): the one place that says so.
package enum FCMRelayReasonTable {
    /// One reason.
    struct Row: Sendable {
        let reason: Reason
        /// What it means, a sentence for operators.
        let meaning: String
        /// What it is about.
        let scope: Refusal.Scope
        /// How long the push waits at first.
        let wait: Duration?

        /// The refusal.
        var refusal: Refusal { Refusal(reason, scope, firstWait: wait) }
    }

    /// The table.
    static let rows: [Row] = [
        row(
            .unregistered, .addressDead(since: nil),
            "The app is not installed any more, or it has another token."),
        // Doubtful, not dead: a wrong project or a proxy that rewrites makes a whole user base look like this.
        row(.invalidToken, .addressDoubtful, "The token is no registration token of Google's."),
        row(
            .senderMismatch, .addressDoubtful, "The token belongs to another Firebase project than the service account."
        ),
        row(.invalidArgument, .push(.payload), "Google does not take the message."),
        row(.tooLarge, .push(.payloadSize), "The message is larger than Google takes."),
        // Of tokens of Apple's devices and browsers: those of Android, among which they stand, have another topic.
        row(
            .thirdParty, .topic,
            "What Google holds for Apple's or the browsers' push service is wrong: see the Firebase project's settings."
        ),
        row(.unauthenticated, .connection(.tokenExpired), "Google does not take the access token."),
        row(
            .permissionDenied, .credential,
            "The service account may not send: the permission cloudmessaging.messages.create, the API or billing is missing."
        ),
        row(.notFound, .credential, "There is no such Firebase project, or no FCM at this address."),
        row(.quotaExceeded, .load(.service), "The project sends more than its quota.", wait: .seconds(60)),
        row(
            .deviceQuotaExceeded, .load(.address), "The device gets more messages than Google allows.",
            wait: .seconds(60)),
        row(.topicQuotaExceeded, .load(.unspecified), "A topic of Google's gets too much.", wait: .seconds(60)),
        // Of this message, whatever becomes of others.
        row(.internalError, .load(.unspecified), "Google failed at this message.", wait: .seconds(10)),
        row(.unavailable, .load(.service), "Google is overloaded or down.", wait: .seconds(10)),
        row(.timeToLiveOver, .push(.timeToLive), "The ttl of the message's android block is over: it was not sent."),
        row(
            .tokenRefused, .credential, "Google gives the service account no access token: its key is wrong or revoked."
        ),
        row(.clockSkew, .credential, "Google gives no access token because the gateway's clock is wrong."),
        row(.tokenUnavailable, .load(.service), "Where Google gives access tokens does not answer."),
    ]

    private static func row(
        _ reason: Reason, _ scope: Refusal.Scope, _ meaning: String, wait: Duration? = nil
    ) -> Row {
        Row(reason: reason, meaning: meaning, scope: scope, wait: wait)
    }

    /// The table's reasons by their words.
    package static let catalog = RefusalCatalog(
        rows.map { RefusalCatalog.Entry($0.refusal, meaning: $0.meaning) })

    private static let byReason = Dictionary(rows.map { ($0.reason, $0) }, uniquingKeysWith: { first, _ in first })

    /// The refusal of a reason that the table has.
    static func refusal(_ reason: Reason) -> Refusal {
        guard let row = byReason[reason] else { preconditionFailure("\(reason) has no row") }
        return row.refusal
    }

    /// Reads an answer that does not accept its push: the error code wherever it stands in the details, then Google's
    /// canonical status, then that of HTTP.
    ///
    /// - Parameter isOfDevice: whether a 429 that does not say whose quota it is counts for the device alone.
    static func refusal(status: Int, body: [UInt8], isOfDevice: () -> Bool) -> Refusal {
        let error = GoogleError(body)
        guard let reason = reason(code: error.code, error) ?? reason(status: status, error) else {
            let scope: Refusal.Scope =
                switch status {
                case 400...499: .push(.unspecified)
                case 500...: .load(.service)
                default: .connection(.misdirected)
                }
            return Refusal(Reason(rawValue: "HTTP\(status)"), scope, label: Refusal.unknownLabel)
        }
        guard reason == .quotaExceeded else { return refusal(reason) }
        switch error.quota {
        case .device: return refusal(.deviceQuotaExceeded)
        case .topic: return refusal(.topicQuotaExceeded)
        case .project: return refusal(.quotaExceeded)
        case nil: return refusal(isOfDevice() ? .deviceQuotaExceeded : .quotaExceeded)
        }
    }

    private static func reason(code: String?, _ error: GoogleError) -> Reason? {
        switch code {
        case "UNREGISTERED"?: .unregistered
        case "SENDER_ID_MISMATCH"?: .senderMismatch
        case "THIRD_PARTY_AUTH_ERROR"?, "APNS_AUTH_ERROR"?: .thirdParty
        case "INVALID_ARGUMENT"?: error.isAboutToken ? .invalidToken : .invalidArgument
        case "QUOTA_EXCEEDED"?: .quotaExceeded
        case "INTERNAL"?: .internalError
        case "UNAVAILABLE"?: .unavailable
        default: nil
        }
    }

    private static func reason(status: Int, _ error: GoogleError) -> Reason? {
        switch error.status {
        case "INVALID_ARGUMENT"?, "FAILED_PRECONDITION"?, "OUT_OF_RANGE"?:
            return error.isAboutToken ? .invalidToken : .invalidArgument
        case "UNAUTHENTICATED"?: return .unauthenticated
        case "PERMISSION_DENIED"?: return .permissionDenied
        case "NOT_FOUND"?: return .notFound
        case "RESOURCE_EXHAUSTED"?: return .quotaExceeded
        case "INTERNAL"?, "UNKNOWN"?, "ABORTED"?, "CANCELLED"?: return .internalError
        case "UNAVAILABLE"?, "DEADLINE_EXCEEDED"?: return .unavailable
        default: break
        }
        switch status {
        case 400: return error.isAboutToken ? .invalidToken : .invalidArgument
        case 401: return .unauthenticated
        case 403: return .permissionDenied
        case 404: return .notFound
        // Of a front end or a proxy, about the exchange and not about the message.
        case 408, 409, 421, 425, 499: return .internalError
        case 413: return .tooLarge
        case 429: return .quotaExceeded
        case 500: return .internalError
        case 501...599: return .unavailable
        default: return nil
        }
    }
}
