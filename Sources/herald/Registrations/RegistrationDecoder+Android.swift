import PushModel

extension RegistrationDecoder {
    /// The token that Google's push service gave an app; of one that a sender named, `relayed` is `true`.
    func androidAddress(_ fields: [RegistrationColumn: Field]) throws(LineProblem) -> Address {
        guard let text = try Self.text(fields, .fcmToken) else { throw Self.problem(.fcmToken, "missing") }
        guard fields[.deviceToken] == nil else { throw Self.problem(.deviceToken, "can't stand beside fcm_token") }
        guard let token = AndroidToken(rawValue: text) else {
            throw Self.problem(.fcmToken, "must be 1 to 4096 printable ASCII characters without a space")
        }
        switch try Self.text(fields, .relayed) {
        case nil, "false"?: return .android(token)
        case "true"?: return .relayed(token)
        case .some: throw Self.problem(.relayed, "must be true or false")
        }
    }
}
