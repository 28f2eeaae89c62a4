import PushModel
import Store

/// Who sent a request: the credential that it presented, found in the store and not revoked.
struct Caller: Hashable, Sendable {
    /// What the request presented.
    let credential: Credential
    /// The project it works on.
    let project: ProjectID
    /// What it may do.
    let role: Role
    /// The name of the API key, or of the operator.
    var name: String?
    /// What an operator of the console may do; `nil`: the caller is none.
    var operatorRole: OperatorRole?

    /// What a caller presents.
    enum Credential: Hashable, Sendable {
        /// An API key, with its public id.
        case apiKey(String)
        /// An access token or a JWT of a service account.
        case serviceAccount(ServiceAccountEmail)
        /// A session of the console.
        case console(OperatorName)

        /// Its public id.
        var id: String {
            switch self {
            case .apiKey(let id): id
            case .serviceAccount(let email): email.rawValue
            case .console(let name): CredentialUse.id(of: name)
            }
        }

        /// What it is called in errors.
        var name: String {
            switch self {
            case .apiKey: "The API key"
            case .serviceAccount: "The service account"
            case .console: "The operator"
            }
        }
    }
}

extension Caller {
    /// A service account.
    init(_ identity: ServiceAccountIdentity) {
        self.init(
            credential: .serviceAccount(identity.account.email), project: identity.account.email.project,
            role: identity.account.role)
    }

    /// An operator of the console.
    init(_ use: OperatorUse) {
        self.init(
            credential: .console(use.name), project: use.project, role: use.role.stored, name: use.name.rawValue,
            operatorRole: use.role)
    }
}

extension FCMError {
    /// The caller is of another project, or there is no such project.
    static func wrongProject(_ caller: Caller) -> FCMError {
        FCMError(
            .permissionDenied, "\(caller.credential.name) does not work on this project.", reason: .otherProject)
    }

    /// The caller's own project is not configured.
    static func projectNotConfigured(_ caller: Caller) -> FCMError {
        FCMError(
            .permissionDenied,
            "\(caller.credential.name) is of the project \(caller.project), which is not configured on this gateway.",
            reason: .projectNotConfigured)
    }
}
