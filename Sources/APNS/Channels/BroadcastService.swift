import FCMWire
import PushModel
import Signing
import Upstream

/// APNs as an upstream of broadcasts sees it, for one credential: a publication is one request to the app's path, with
/// the channel in a header (Apple, "Sending broadcast push notification requests to APNs").
///
/// It is an upstream of its own beside that of device pushes: a capability that is switched off, or a rest that APNs
/// asks for, holds back no device.
struct BroadcastService: PushService {
    let credential: UpstreamKey.Credential
    /// The most publications to one channel within a minute: how many APNs takes it does not say.
    let addressLimit: Int?

    var name: String { "APNs" }

    func requests(for indices: [Int], of batch: [Push]) -> PushRequests {
        var requests = PushRequests(capacity: indices.count)
        for index in indices { Self.append(batch[index], to: &requests) }
        return requests
    }

    private static func append(_ push: Push, to requests: inout PushRequests) {
        // The route is one of broadcasts, and so are its address and its content.
        guard case .broadcast(let address) = push.address, let content = push.content as? ApplePush else {
            preconditionFailure("a push to another service")
        }
        var fields = PushRequestFields("apns-push-type", content.pushType.rawValue)
        fields.append("apns-priority", String(content.priority.rawValue))
        // What nothing is stored for can't be kept: APNs takes nothing but 0 then.
        let expiration = address.storagePolicy == .none ? APNSExpiration.once : content.expiration
        fields.append("apns-expiration", RequestBuilder.text(of: expiration), indexing: .name)
        var own = PushRequestFields("apns-channel-id", address.id.rawValue)
        own.append("apns-request-id", push.id.rawValue, indexing: .name)
        requests.append(
            head: PushRequestHead(fields), path: "/4/broadcasts/apps/\(push.route.app.rawValue)", fields: own,
            body: push.payload, isUrgent: push.lane == .interactive)
    }

    func topic(of push: Push) -> String { push.route.app.rawValue }

    /// With a certificate of another app APNs would say `TopicMismatch`, and hold it against the connection.
    func refusedPushes(among indices: [Int], of batch: [Push]) -> [Int: Refusal] {
        switch credential {
        case .providerKey: return [:]
        case .certificate(let certificate, _):
            let refused = indices.filter { !certificate.topics.contains(batch[$0].route.app.rawValue) }
            return Dictionary(uniqueKeysWithValues: refused.map { ($0, Refusal(.topicMismatch, .topic)) })
        }
    }

    /// By the one table, but for a 429: there is no device that it could be about, so all broadcasts rest.
    func refusal(status: Int, body: [UInt8]) -> Refusal {
        let error = ErrorBody(body)
        let refusal = Refusal(apnsStatus: status, reason: error.reason, timestamp: error.timestamp)
        guard status == 429, case .load = refusal.scope else { return refusal }
        return Refusal(refusal.reason, .load(.service), label: refusal.label)
    }

    func meaning(of reason: Reason) -> String? { APNSReasonTable.catalog[reason]?.meaning }

    var overload: Refusal { Refusal(.serviceUnavailable, .load(.service)) }
    var addressOverload: Refusal { Refusal(.tooManyRequests, .load(.address)) }
    var addressDoubt: Refusal { Refusal(.badDeviceToken, .addressDoubtful) }
}
