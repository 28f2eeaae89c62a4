import NIOCore

/// Apple's checks of requests about channels, in the order of apns-channels.md §3, and what they do.
struct ChannelChecks: Sendable {
    /// The longest payload of a broadcast.
    static let payloadLimitBytes = 5120

    let verifier: ProviderTokenVerifier
    let book: ChannelBook

    /// What a request that is in order comes to.
    struct Success {
        var status = 200
        /// The id of the channel that was made.
        var channelID: String?
        /// The body of the answer.
        var body: String?
    }

    /// Throws what Apple would answer unless everything is in order.
    func check(
        _ asked: ChannelRequest, _ request: PushRequest, on credentials: inout ConnectionCredentials, now: Int64
    ) throws(Refusal) {
        guard !request.repeatsHeader else { throw .duplicateHeaders }
        try checkSender(of: request, asked.bundleID, on: &credentials, now: now)
        if let id = request.headers["apns-request-id"], !isCanonicalUUID(id) { throw .badMessageID }
        switch asked {
        case .create: _ = try storagePolicy(in: request)
        case .list: break
        case .read(let bundleID), .delete(let bundleID): _ = try channel(of: request, bundleID)
        case .publish(let bundleID): try checkBroadcast(request, bundleID)
        }
    }

    /// Does what a checked request asks for.
    func perform(_ asked: ChannelRequest, _ request: PushRequest) throws(Refusal) -> Success {
        switch asked {
        case .create(let bundleID):
            guard let id = book.make(for: bundleID, storagePolicy: try storagePolicy(in: request)) else {
                throw .cannotCreateChannelConfig
            }
            return Success(status: 201, channelID: id)
        case .list(let bundleID):
            let ids = book.ids(of: bundleID).map(jsonString).joined(separator: ",")
            return Success(body: "{\"channels\":[\(ids)]}")
        case .read(let bundleID):
            let channel = try channel(of: request, bundleID)
            return Success(
                body: "{\"message-storage-policy\":\(channel.storagePolicy),\"push-type\":\"LiveActivity\"}")
        case .delete(let bundleID):
            book.remove(try channel(of: request, bundleID).id, of: bundleID)
            return Success(status: 204)
        case .publish(let bundleID):
            let payload = String(decoding: request.body.readableBytesView, as: UTF8.self)
            book.store(payload, in: try channel(of: request, bundleID).id, of: bundleID)
            return Success()
        }
    }

    private func checkSender(
        of request: PushRequest, _ bundleID: String, on credentials: inout ConnectionCredentials, now: Int64
    ) throws(Refusal) {
        let topics: [String]
        if let certificate = credentials.certificate {
            guard !certificate.topics.isEmpty else { throw .badCertificate }
            topics = certificate.topics
        } else {
            let token = try verifier.verify(
                authorization: request.authorization, known: credentials.token, now: now)
            try credentials.admit(token, now: now)
            topics = Array(token.topics)
        }
        // A bundle id, never a topic with its suffix.
        guard !PushTypeRule.suffixes.contains(where: { bundleID.hasSuffix($0) }) else { throw .topicDisallowed }
        guard topics.isEmpty || topics.contains(bundleID) else { throw .topicMismatch }
        guard book.isEnabled(for: bundleID) else { throw .featureNotEnabled }
    }

    /// `{"message-storage-policy": 0 | 1, "push-type": "LiveActivity"}`.
    private func storagePolicy(in request: PushRequest) throws(Refusal) -> Int {
        let bytes = Array(request.body.readableBytesView)
        guard !bytes.isEmpty, String(validating: bytes, as: UTF8.self) != nil, let body = JSON.read(bytes),
            case .object(let members) = body,
            members.allSatisfy({ ["message-storage-policy", "push-type"].contains($0.key) }),
            body["push-type"]?.text == "LiveActivity", let policy = body["message-storage-policy"]?.integer,
            (0...1).contains(policy)
        else { throw .badRequestPayload }
        return Int(policy)
    }

    private func channel(of request: PushRequest, _ bundleID: String) throws(Refusal) -> ChannelBook.Entry {
        guard let id = request.headers["apns-channel-id"], !id.isEmpty else { throw .missingChannelID }
        guard base64Decoded(id) != nil else { throw .badChannelID }
        guard let channel = book.entry(id, of: bundleID) else { throw .channelNotRegistered }
        return channel
    }

    private func checkBroadcast(_ request: PushRequest, _ bundleID: String) throws(Refusal) {
        let headers = request.headers
        guard let id = headers["apns-channel-id"], !id.isEmpty else { throw .missingChannelID }
        guard let pushType = headers["apns-push-type"] else { throw .missingPushType }
        guard pushType == "liveactivity" else { throw .invalidPushType }
        guard let text = headers["apns-expiration"], let expiration = Int64(text), expiration >= 0 else {
            throw .badExpirationDate
        }
        // What nothing is stored for can't be kept until then.
        if book.entry(id, of: bundleID)?.storagePolicy == 0, expiration != 0 { throw .badExpirationDate }
        guard let priority = headers["apns-priority"], ["1", "5", "10"].contains(priority) else { throw .badPriority }
        _ = try channel(of: request, bundleID)
        let bytes = Array(request.body.readableBytesView)
        guard request.bodyBytes > 0 else { throw .payloadEmpty }
        guard request.bodyBytes <= Self.payloadLimitBytes else { throw .payloadTooLarge }
        guard String(validating: bytes, as: UTF8.self) != nil, let payload = JSON.read(bytes), case .object = payload
        else { throw .payloadEmpty }
    }
}
