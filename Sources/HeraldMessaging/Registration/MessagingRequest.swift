import Foundation

/// What is asked of the gateway, one at a time.
enum MessagingRequest: Hashable, Sendable {
    /// An installation, with its first auth token.
    case install
    /// Another auth token.
    case renew(Installation)
    /// A registration, or what has changed about it.
    case register(Installation, RegistrationFacts, UserChange?)
    /// A topic joined or left.
    case changeTopic(Installation, registration: String, TopicChange)
    /// Receipts taken, which are by the device's clock, and what to add for the gateway's.
    case report(Installation, [MessagingReceipt], clockOffset: TimeInterval)
    /// The registration ended.
    case unregister(Installation, registration: String)
    /// The installation forgotten.
    case uninstall(Installation)

    /// The installation whose auth token goes with it.
    var prover: Installation? {
        switch self {
        case .install, .renew, .uninstall: nil
        case .register(let installation, _, _), .changeTopic(let installation, _, _),
            .report(let installation, _, _), .unregister(let installation, _):
            installation
        }
    }
}

/// What came of a request.
enum MessagingAnswer: Hashable, Sendable {
    case installed(id: String, refreshToken: String, auth: String, lifetime: TimeInterval)
    case renewed(auth: String, lifetime: TimeInterval)
    case registered(id: String, token: String)
    case done
    /// The gateway said no.
    case refused(GatewayRefusal)
    /// There was no answer, or none that can be read.
    case unanswered(MessagingError)
}

/// An error answer of the gateway.
struct GatewayRefusal: Hashable, Sendable {
    let status: Int
    /// The gateway's precise word, as `INVALID_CREDENTIAL`; `nil`: it is no answer of the gateway.
    let reason: String?
    let message: String
    /// `Retry-After`, in seconds.
    let retryAfter: TimeInterval?

    /// What is to be done about it.
    enum Remedy: Hashable, Sendable {
        /// Ask again later: 408, 429 and 5xx, and a 404 that is not the gateway's word on what was asked for.
        case later
        /// Another auth token.
        case renewal
        /// Register again: what the request named is not there, or is another installation's.
        case registration
        /// The key is wrong, revoked, or of another role or project: nothing works before that changes.
        case credential
        /// Ask the backend for another proof of the user.
        case userProof
        /// Do not ask again: it would be refused the same way.
        case none
    }

    /// The one table of it.
    var remedy: Remedy {
        switch (status, reason) {
        case (401, "INSTALLATION_INVALID"): .renewal
        case (_, "USER_NOT_PROVEN"): .userProof
        // Of a proxy, of a wrong path, or while the gateway does not have the project: none says what is there.
        case (404, nil), (404, "UNKNOWN_PATH"), (404, "PROJECT_NOT_CONFIGURED"): .later
        case (404, _), (_, "INSTALLATION_REQUIRED"): .registration
        case (429, "TOO_MANY_TOPICS"), (429, "TOO_MANY_PROJECT_TOPICS"), (403, "TOPIC_NOT_ALLOWED"): .none
        case (408, _), (429, _), (500..., _): .later
        case (401, _), (403, _): .credential
        default: .none
        }
    }

    /// As an app sees it.
    var error: MessagingError {
        let code: MessagingError.Code =
            switch status {
            case 400: .invalidRequest
            case 401: .authentication
            case 403: .noAccess
            case 408: .timeout
            default: .unknown
            }
        return MessagingError(code, message, reason: reason)
    }
}
