import NIOCore

/// Apple's checks of a device push, in the order in which a sender would want to hear of them: method, path, device
/// token, repeated headers, provider token, push type and topic, the other headers, the body.
///
/// Apple documents no reason for a body that is not a JSON object; it is answered like an empty one, `PayloadEmpty`,
/// so that no reason is made up. A topic whose suffix belongs to another push type is `BadTopic`; one that only a
/// certificate may push to is `TopicDisallowed`. What APNs leaves to the device is not looked at: a Live Activity
/// without its keys is accepted here as there.
struct RequestChecks: Sendable {
    let verifier: ProviderTokenVerifier

    /// Throws what Apple would answer unless everything is in order.
    func check(
        _ request: PushRequest, on credentials: inout ConnectionCredentials, now: Int64
    ) throws(Refusal) {
        guard request.method == "POST" else { throw .methodNotAllowed }
        guard let deviceToken = request.deviceToken else { throw .badPath }
        try checkDeviceToken(deviceToken)
        guard !request.repeatsHeader else { throw .duplicateHeaders }
        let sender = try sender(of: request, on: &credentials, now: now)
        let pushType = request.headers["apns-push-type"] ?? "alert"
        guard let rule = PushTypeRule.byName[pushType] else { throw .invalidPushType }
        try checkTopic(request.headers["apns-topic"], rule, sender)
        try checkPriority(request.headers["apns-priority"], rule)
        try checkOtherHeaders(request.headers)
        try checkBody(request, rule)
    }

    /// Who pushes.
    private enum Sender {
        case token(ProviderToken)
        case certificate(PushCertificate)
    }

    /// With a certificate a token is not looked at (Apple, "Sending notification requests to APNs").
    private func sender(
        of request: PushRequest, on credentials: inout ConnectionCredentials, now: Int64
    ) throws(Refusal) -> Sender {
        if let certificate = credentials.certificate {
            guard !certificate.topics.isEmpty else { throw .badCertificate }
            return .certificate(certificate)
        }
        let token = try verifier.verify(
            authorization: request.authorization, known: credentials.token, now: now)
        try credentials.admit(token, now: now)
        return .token(token)
    }

    private func checkDeviceToken(_ token: String) throws(Refusal) {
        guard !token.isEmpty else { throw .missingDeviceToken }
        guard token.utf8.count.isMultiple(of: 2), token.utf8.allSatisfy({ hexadecimalValue($0) != nil }) else {
            throw .badDeviceToken
        }
    }

    private func checkTopic(
        _ given: String?, _ rule: PushTypeRule, _ sender: Sender
    ) throws(Refusal) {
        var topic = given ?? ""
        if topic.isEmpty, case .certificate(let certificate) = sender, certificate.topics.count == 1 {
            topic = certificate.topics[0]
        }
        guard !topic.isEmpty else { throw .missingTopic }
        let isWellFormed = topic.utf8.allSatisfy { byte in
            isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard isWellFormed, let bundleID = rule.bundleID(of: topic) else { throw .badTopic }
        let isAllowed =
            switch sender {
            case .token(let token):
                !rule.needsCertificate && (token.topics.isEmpty || token.topics.contains(String(bundleID)))
            case .certificate(let certificate):
                switch rule.certificate {
                case .ofApp: certificate.topics.contains(String(bundleID))
                case .ofTopic: certificate.topics.contains(topic)
                case .none: false
                }
            }
        guard isAllowed else { throw .topicDisallowed }
    }

    private func checkPriority(_ priority: String?, _ rule: PushTypeRule) throws(Refusal) {
        guard let priority else { return }
        guard ["1", "5", "10"].contains(priority), !(rule.refusesImmediate && priority == "10") else {
            throw .badPriority
        }
    }

    private func checkOtherHeaders(_ headers: [String: String]) throws(Refusal) {
        if let expiration = headers["apns-expiration"] {
            guard expiration.utf8.allSatisfy(isDigit), let time = Int64(expiration), time >= 0 else {
                throw .badExpirationDate
            }
        }
        if let id = headers["apns-id"] {
            guard isCanonicalUUID(id) else { throw .badMessageID }
        }
        if let collapseID = headers["apns-collapse-id"] {
            guard collapseID.utf8.count <= 64 else { throw .badCollapseID }
        }
    }

    private func checkBody(_ request: PushRequest, _ rule: PushTypeRule) throws(Refusal) {
        guard request.bodyBytes <= rule.payloadLimitBytes else { throw .payloadTooLarge }
        let bytes = Array(request.body.readableBytesView)
        guard !bytes.isEmpty, String(validating: bytes, as: UTF8.self) != nil,
            let payload = JSON.read(bytes), case .object = payload
        else { throw .payloadEmpty }
        guard rule.isSilent else { return }
        // An empty text or dictionary is an old way to say "nothing".
        let shown = ["alert", "badge", "sound"].compactMap { payload["aps"]?[$0] }
        guard payload["aps"]?["content-available"]?.integer == 1,
            shown.allSatisfy({ $0 == .string("") || $0 == .object([]) })
        else { throw .invalidPushType }
    }
}

private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
}

/// Whether `text` is a UUID in Apple's canonical form: 32 lower-case digits, 8-4-4-4-12.
func isCanonicalUUID(_ text: String) -> Bool {
    var position = 0
    for byte in text.utf8 {
        switch position {
        case 8, 13, 18, 23:
            guard byte == UInt8(ascii: "-") else { return false }
        default:
            guard isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) else { return false }
        }
        position += 1
    }
    return position == 36
}
