import PushModel
import Upstream

/// APNs as an upstream sees it, for one credential.
struct APNSService: PushService {
    let credential: UpstreamKey.Credential

    var name: String { "APNs" }

    func requests(for indices: [Int], of batch: [Push]) -> PushRequests {
        var builder = RequestBuilder()
        var requests = PushRequests(capacity: indices.count)
        for index in indices { builder.append(batch[index], to: &requests) }
        return requests
    }

    func topic(of push: Push) -> String { push.content.topic }

    /// Those of another topic than the certificate's are `TopicDisallowed` here: APNs would say the same, and hold it
    /// against the connection.
    func refusedPushes(among indices: [Int], of batch: [Push]) -> [Int: Refusal] {
        switch credential {
        case .providerKey: return [:]
        case .certificate(let certificate, _):
            let refused = indices.filter { !((batch[$0].content as? ApplePush).map(certificate.allows) ?? false) }
            return Dictionary(uniqueKeysWithValues: refused.map { ($0, Refusal(.topicDisallowed, .topic)) })
        }
    }

    func refusal(status: Int, body: [UInt8]) -> Refusal {
        let error = ErrorBody(body)
        return Refusal(apnsStatus: status, reason: error.reason, timestamp: error.timestamp)
    }

    func meaning(of reason: Reason) -> String? { APNSReasonTable.catalog[reason]?.meaning }

    var overload: Refusal { Refusal(.serviceUnavailable, .load(.service)) }
    var addressOverload: Refusal { Refusal(.tooManyRequests, .load(.address)) }
    var addressDoubt: Refusal { Refusal(.badDeviceToken, .addressDoubtful) }
}
