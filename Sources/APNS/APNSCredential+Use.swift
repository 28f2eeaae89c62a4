import FCMWire
import PushModel
import Signing
import Upstream

extension APNSCredential {
    /// What TLS shows; `nil`: nothing, requests carry a token.
    var identity: UpstreamIdentity? {
        switch self {
        case .providerKey: nil
        case .certificate(let identity):
            UpstreamIdentity(
                certificateChain: identity.certificateChain, withPrivateKey: { identity.withPrivateKey($0) })
        }
    }
}

extension UpstreamKey.Credential {
    init(_ credential: APNSCredential) {
        switch credential {
        case .providerKey(let teamID, let keyID, let key):
            self = .providerKey(teamID: teamID, keyID: keyID, publicKeyPEM: key.publicKeyPEM)
        case .certificate(let identity):
            self = .certificate(identity.certificate, chain: identity.certificateChain)
        }
    }

    /// `TEAM/KEY`, or `certificate`, the bundle id and the beginning of the fingerprint.
    var name: String {
        switch self {
        case .providerKey(let teamID, let keyID, _): "\(teamID)/\(keyID)"
        case .certificate(let certificate, _):
            "certificate \(certificate.userID ?? certificate.topics.first ?? "")/\(certificate.fingerprint.prefix(8))"
        }
    }
}

extension ClientCertificate {
    /// Whether APNs takes such a push with this certificate (Apple's table of `apns-push-type`): its topic is in the
    /// list. Live Activities and Push to Talk go with the bundle id, although no certificate lists their topics.
    func allows(_ push: ApplePush) -> Bool {
        if topics.contains(push.topic) { return true }
        switch push.pushType {
        case .liveactivity, .pushtotalk:
            return topics.contains(String(push.topic.dropLast(push.pushType.topicSuffix.count)))
        case .alert, .background, .voip, .complication, .fileprovider, .mdm, .location, .widgets, .controls:
            return false
        }
    }
}
