/// The precise cause of an error answer, for programs: what FCM's codes leave open. Names are stable; new ones are
/// added, none is given another meaning. The article Errors has a line for each.
enum ErrorReason: String, CaseIterable, Sendable {
    // The request.

    /// Not JSON.
    case malformedJSON = "MALFORMED_JSON"
    /// A name that the schema does not have.
    case unknownField = "UNKNOWN_FIELD"
    /// A value of the wrong type.
    case wrongType = "WRONG_TYPE"
    /// A value that a rule forbids, in the body, the query or a header; `field` names it.
    case invalidField = "INVALID_FIELD"
    /// A page token that is none of the list's.
    case invalidPageToken = "INVALID_PAGE_TOKEN"
    /// The number of an event that is not kept any more, or was never given.
    case outOfRange = "OUT_OF_RANGE"
    /// Rows of an export's window that are not kept any more.
    case exportRemoved = "EXPORT_REMOVED"
    /// The body is over the limit.
    case bodyTooLarge = "BODY_TOO_LARGE"
    /// The body's `Content-Encoding` is not gzip.
    case unsupportedEncoding = "UNSUPPORTED_ENCODING"
    /// The body is not what its `Content-Encoding` says.
    case malformedEncoding = "MALFORMED_ENCODING"
    /// A parameter that the method does not have.
    case unknownParameter = "UNKNOWN_PARAMETER"
    /// The header fields are over the limit.
    case headerTooLarge = "HEADER_TOO_LARGE"
    /// The body was not there in time.
    case requestTimeout = "REQUEST_TIMEOUT"
    /// The body ended early, or is not HTTP.
    case incompleteRequest = "INCOMPLETE_REQUEST"
    /// No such path.
    case unknownPath = "UNKNOWN_PATH"
    /// The path has no such method.
    case methodNotAllowed = "METHOD_NOT_ALLOWED"

    // Who asks.

    /// No credential.
    case missingCredential = "MISSING_CREDENTIAL"
    /// A credential that is unknown or revoked.
    case invalidCredential = "INVALID_CREDENTIAL"
    /// An access token that does not work any more, or a JWT that is over.
    case accessTokenExpired = "ACCESS_TOKEN_EXPIRED"
    /// The service account is disabled, or the key of the JWT was revoked.
    case accountUnusable = "ACCOUNT_STATE_INVALID"
    /// A JWT that proves no service account.
    case jwtUnusable = "ACCESS_TOKEN_TYPE_UNSUPPORTED"
    /// The credential's role may not do this.
    case roleNotAllowed = "ROLE_NOT_ALLOWED"
    /// The credential is of another project than the path.
    case otherProject = "OTHER_PROJECT"
    /// The credential's project has no file on this gateway.
    case projectNotConfigured = "PROJECT_NOT_CONFIGURED"
    /// A client's request that needs the auth token of an installation, or that of another one.
    case installationRequired = "INSTALLATION_REQUIRED"
    /// The auth token or the refresh token of an installation is unknown or expired.
    case installationInvalid = "INSTALLATION_INVALID"
    /// A client says a user without proof, or with one that does not count.
    case userNotProven = "USER_NOT_PROVEN"

    /// A topic that is not there and whose name clients may not make.
    case topicNotAllowed = "TOPIC_NOT_ALLOWED"

    // Whom it is for.

    /// The request names no target.
    case missingTarget = "MISSING_TARGET"
    /// A token or FID that has not the form of one.
    case malformedToken = "MALFORMED_TOKEN"
    /// A topic that has not the form of one.
    case malformedTopic = "MALFORMED_TOPIC"
    /// A condition that can't be read.
    case malformedCondition = "MALFORMED_CONDITION"
    /// The project has no such registration.
    case registrationUnknown = "REGISTRATION_UNKNOWN"
    /// The token is of another project.
    case registrationOfOtherProject = "REGISTRATION_OF_OTHER_PROJECT"
    /// The registration has ended: replaced, deleted, or its push service said so.
    case registrationEnded = "REGISTRATION_ENDED"
    /// The push service refused the registration's address everywhere, a week ago or longer.
    case registrationQuarantined = "REGISTRATION_QUARANTINED"
    /// The token may be Google's, and what it was sent with relays none: `messages:send` does.
    case tokenNotRelayed = "TOKEN_NOT_RELAYED"
    /// The user has no registration to send to.
    case userUnknown = "USER_UNKNOWN"

    // What it says.

    /// The finished APNs payload is over its limit.
    case payloadTooLarge = "PAYLOAD_TOO_LARGE"
    /// A data key that is reserved.
    case invalidDataKey = "INVALID_DATA_KEY"
    /// An APNs header that APNs would refuse.
    case invalidHeader = "INVALID_APNS_HEADER"
    /// The outcome can't be waited for: the message is not for one registration.
    case waitNotPossible = "WAIT_NOT_POSSIBLE"
    /// The idempotency key stands for another request.
    case idempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED"

    // What the push service answered, when the outcome was waited for.

    /// The app is gone from the device, or the browser's subscription.
    case deviceUnregistered = "DEVICE_UNREGISTERED"
    /// The address is malformed, or of another environment or app.
    case deviceTokenRefused = "DEVICE_TOKEN_REFUSED"
    /// The token of the Live Activity is refused; the registration is not concerned.
    case activityTokenRefused = "ACTIVITY_TOKEN_REFUSED"
    /// The payload is refused.
    case payloadRefused = "PAYLOAD_REFUSED"
    /// A header is refused.
    case headerRefused = "HEADER_REFUSED"
    /// The gateway's credential is refused, or may not push to the app.
    case apnsCredentialRefused = "APNS_CREDENTIAL_REFUSED"
    /// Google or a browser's push service refuses the credential that the gateway has for the app.
    case upstreamCredentialRefused = "UPSTREAM_CREDENTIAL_REFUSED"
    /// The gateway has no way to the push service for the app and its environment.
    case noUpstream = "NO_UPSTREAM"
    /// The push service was asked before anything was kept, and does not take messages now.
    case upstreamUnavailable = "UPSTREAM_UNAVAILABLE"
    /// Refused for another reason.
    case pushRefused = "PUSH_REFUSED"

    // Resources.

    /// No such resource.
    case unknownResource = "UNKNOWN_RESOURCE"
    /// It is there already.
    case alreadyExists = "ALREADY_EXISTS"
    /// The message is complete or cancelled.
    case messageNotActive = "MESSAGE_NOT_ACTIVE"

    /// The broadcast channel is lost at Apple, or still being made.
    case channelUnusable = "CHANNEL_UNUSABLE"
    /// A URL that webhooks may not go to; `rule` names the rule.
    case urlNotAllowed = "URL_NOT_ALLOWED"
    /// A replay to the webhook has not ended.
    case replayUnderWay = "REPLAY_UNDER_WAY"

    // Limits.

    /// `limits.messages`.
    case tooManyMessages = "TOO_MANY_MESSAGES"
    /// `limits.bytes`.
    case tooManyBytes = "TOO_MANY_BYTES"
    /// `limits.projectMessages`.
    case tooManyProjectMessages = "TOO_MANY_PROJECT_MESSAGES"
    /// `limits.projectBytes`.
    case tooManyProjectBytes = "TOO_MANY_PROJECT_BYTES"
    /// More batches are being read than there is memory for.
    case tooManyBatches = "TOO_MANY_BATCHES"
    /// More requests wait for the store than it has places.
    case storeBusy = "STORE_BUSY"
    /// The registration has as many topics as it may have.
    case tooManyTopics = "TOO_MANY_TOPICS"
    /// The project has as many topics as its clients may make.
    case tooManyProjectTopics = "TOO_MANY_PROJECT_TOPICS"
    /// Another limit.
    case limitReached = "LIMIT_REACHED"

    // The gateway.

    /// It is stopping, or has just begun to start.
    case gatewayUnavailable = "GATEWAY_UNAVAILABLE"
    /// The store takes no writes, or can't be read.
    case storeUnavailable = "STORE_UNAVAILABLE"
    /// `limits.freeBytes`: the disk is nearly full.
    case diskSpaceLow = "DISK_SPACE_LOW"
    /// An error of the gateway.
    case gatewayError = "GATEWAY_ERROR"
}

extension ErrorReason {
    /// Whether it is one of Google's own words for tokens (google.api.ErrorReason), which SDKs compare in a
    /// google.rpc.ErrorInfo.
    var isOfToken: Bool {
        switch self {
        case .accessTokenExpired, .accountUnusable, .jwtUnusable: true
        default: false
        }
    }
}
