import Delivery
import JSON
import PushModel
import Store

extension ProjectCall {
    /// What `validate_only` tells of the one registration that a message is for: whether it is alive, as far as is
    /// known without a push. Empty for other recipients.
    func standing(of recipient: Recipient<Registration, [Addressee]>) async throws(FCMError) -> [JSONValue.Member] {
        guard case .registration(let registration) = recipient else { return [] }
        let last: DeliveryRecord?
        do throws(StoreError) {
            last = try await services.store.deliveries(to: registration.id, in: project.id, after: nil, limit: 1)
                .elements.first?.delivery
        } catch {
            throw FCMError(error)
        }
        return [.init("registration", RegistrationView(registration, in: self).standing(last: last))]
    }
}

extension RegistrationView {
    /// What is known of the device: the registration's state, whether its push service has accepted a push to it, and
    /// how the last delivery to it ended.
    func standing(last: DeliveryRecord?) -> JSONValue {
        var members = stateMembers
        members.append(.init("proven", .bool(registration.isProven)))
        if let time = registration.provenAt { members.append(.init("provenTime", .string(time.rfc3339))) }
        if let last, let outcome = last.outcome {
            var delivery: [JSONValue.Member] = [.init("outcome", .string(outcome.rawValue.uppercased()))]
            if let reason = last.reason { delivery.append(.init("reason", .string(reason))) }
            if let time = last.endedAt { delivery.append(.init("endTime", .string(time.rfc3339))) }
            members.append(.init("lastDelivery", .object(delivery)))
        }
        return .object(members)
    }
}
