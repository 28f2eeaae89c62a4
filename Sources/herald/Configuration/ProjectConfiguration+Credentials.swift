import APNS
import FCMRelay
import GatewayAPI
import JSON
import PushModel
import Signing

extension ProjectConfiguration {
    /// What its apps sign in with.
    var credentials: [CredentialStatus] {
        apps.map(\.credentialStatus) + androids.map(\.credentialStatus) + browsers.flatMap(\.credentialStatus)
    }
}

extension AppConfiguration {
    fileprivate var credentialStatus: CredentialStatus {
        switch credential {
        case .providerKey(let teamID, let keyID, _):
            CredentialStatus(
                app: AppKey(.apple, id), kind: .apnsKey, name: "\(teamID)/\(keyID)", file: credentialFile.path,
                modified: credentialFile.modified, upstreamWord: "\(teamID)/\(keyID)")
        case .certificate(let identity):
            CredentialStatus(
                app: AppKey(.apple, id), kind: .certificate,
                name: identity.certificate.userID ?? identity.certificate.topics.first ?? "",
                file: credentialFile.path, modified: credentialFile.modified,
                validUntil: Timestamp(seconds: identity.certificate.notAfter), upstreamWord: "certificate")
        }
    }
}

extension AndroidConfiguration {
    fileprivate var credentialStatus: CredentialStatus {
        CredentialStatus(
            app: AppKey(.android, id), kind: .serviceAccount, name: account.email, file: accountFile.path,
            modified: accountFile.modified, upstreamWord: account.projectID)
    }
}

extension BrowserConfiguration {
    fileprivate var credentialStatus: [CredentialStatus] {
        zip(keys, keyFiles).map { key, file in
            let publicKey = Base64URL.text(key.publicPoint)
            return CredentialStatus(
                app: AppKey(.web, id), kind: .vapidKey, name: publicKey, file: file.path, modified: file.modified,
                upstreamWord: "vapid/\(publicKey.prefix(8))")
        }
    }
}
