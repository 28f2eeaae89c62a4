import PushModel
import TestSupport
import Upstream

/// A push service whose pushes are never sent: what decides about them needs their topics only.
struct TestService: PushService {
    var name: String { "APNs" }
    var overload: Refusal { .serviceUnavailable }
    var addressOverload: Refusal { .tooManyRequests }
    var addressDoubt: Refusal { .badDeviceToken }

    func requests(for indices: [Int], of batch: [Push]) -> PushRequests { PushRequests(capacity: 0) }
    func topic(of push: Push) -> String { push.content.topic }
    func refusal(status: Int, body: [UInt8]) -> Refusal { .new() }
    func meaning(of reason: Reason) -> String? { nil }
}
