import JSON
import Logging
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
    /// The name of the API key.
    var name: String?

    /// What a caller presents.
    enum Credential: Hashable, Sendable {
        /// An API key, with its public id.
        case apiKey(String)
        /// An access token or a JWT of a service account.
        case serviceAccount(ServiceAccountEmail)

        /// Its public id.
        var id: String {
            switch self {
            case .apiKey(let id): id
            case .serviceAccount(let email): email.rawValue
            }
        }

        /// What it is called in errors.
        fileprivate var name: String {
            switch self {
            case .apiKey: "The API key"
            case .serviceAccount: "The service account"
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
}

extension ProjectCall {
    /// Who asks, as messages and audit entries keep it.
    var credential: CredentialUse {
        CredentialUse(id: caller.credential.id, name: caller.name, role: caller.role, address: call.peerAddress)
    }
}

extension Call {
    /// The IP address that the request came from, as the outermost proxy of ours saw it: without a port, and `nil` for
    /// what is no address.
    var peerAddress: String? { forwardedAddress.flatMap(ClientAddress.plain) }
}

extension Logger.Metadata {
    /// The metadata with who asked.
    func with(_ use: CredentialUse) -> Logger.Metadata {
        var metadata = self
        metadata["credential.id"] = "\(use.id)"
        metadata["credential.name"] = use.name.map { "\($0)" }
        metadata["credential.role"] = use.role.map { "\($0.rawValue)" }
        metadata["credential.address"] = use.address.map { "\($0)" }
        return metadata
    }
}

extension CredentialUse {
    /// `{id, name, role, address}`, as reports and lists show it.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("id", .string(id))]
        if let name { members.append(.init("name", .string(name))) }
        if let role { members.append(.init("role", .string(role.rawValue))) }
        if let address { members.append(.init("address", .string(address))) }
        return .object(members)
    }
}

extension FCMError {
    /// The caller is of another project, or there is no such project.
    static func wrongProject(_ caller: Caller) -> FCMError {
        FCMError(
            .permissionDenied, "\(caller.credential.name) does not work on this project.", reason: .otherProject)
    }
}

/// Who may use a route.
struct Access: Hashable, Sendable {
    /// The roles that may.
    let roles: [Role]
    /// What the route does, for the text of a refusal.
    let action: String

    /// A batch of requests; what each of them may do is decided for it. Not for clients, whose keys are in everybody's
    /// hands: a batch holds much memory.
    static let batch = Access(roles: [.admin, .sender], action: "sending batches")
    /// Everything with messages and what became of them.
    static let send = Access(roles: [.admin, .sender], action: "sending")
    /// Pausing, resuming and cancelling messages.
    static let control = Access(roles: [.admin, .sender], action: "controlling messages")
    /// Reports, deliveries, exports.
    static let read = Access(roles: [.admin, .sender], action: "reading reports")
    /// A new registration, by the app.
    static let register = Access(roles: [.admin, .client], action: "registering")
    /// An app install of its own, with tokens of its own.
    static let install = Access(roles: [.admin, .client], action: "managing installations")
    /// What devices report of messages.
    static let receipts = Access(roles: [.admin, .client], action: "reporting receipts")
    /// A look at a registration.
    static let readRegistration = Access(roles: [.admin, .client], action: "reading a registration")
    /// A change of a registration by the app, and of its user by a backend.
    static let changeRegistration = Access(roles: [.admin, .sender, .client], action: "changing a registration")
    /// The end of a registration.
    static let endRegistration = Access(roles: [.admin, .client], action: "ending a registration")
    /// What is known of a registration whose token the caller has.
    static let readInstance = Access(roles: [.admin, .sender, .client], action: "reading a registration")
    /// The end of many quarantines at once.
    static let liftQuarantine = Access(roles: [.admin], action: "lifting quarantines")
    /// The end of registrations that are in quarantine for long.
    static let prune = Access(roles: [.admin], action: "pruning registrations")
    /// Lists of registrations, and who followed whom on a device.
    static let listRegistrations = Access(roles: [.admin], action: "listing registrations")
    /// The audit log.
    static let readAudit = Access(roles: [.admin], action: "reading the audit log")
    /// How a project's deliveries go now: it names files, teams and keys.
    static let readStatus = Access(roles: [.admin], action: "reading the status")
    /// The states of many registrations at once, named by the tokens that a sender holds.
    static let checkRegistrations = Access(roles: [.admin, .sender], action: "checking registrations")
    /// The topics of a registration.
    static let topics = Access(roles: [.admin, .sender, .client], action: "changing topics")
    /// The topics of many registrations at once.
    static let topicBatch = Access(roles: [.admin, .sender, .client], action: "changing topics in batches")
    /// Device groups: who may send to a device may also put it into a group.
    static let deviceGroups = Access(roles: [.admin, .sender], action: "changing device groups")
    /// The topics of a project, with how many registrations each has.
    static let listTopics = Access(roles: [.admin, .sender], action: "listing topics")
    /// Registrations made from device tokens.
    static let importTokens = Access(roles: [.admin], action: "importing device tokens")

    /// Throws when a caller may not.
    func check(_ caller: Caller) throws(FCMError) {
        guard roles.contains(caller.role) else {
            let needed = roles.map(\.rawValue).joined(separator: " or ")
            throw FCMError(
                .permissionDenied,
                "\(caller.credential.name) has the role \(caller.role.rawValue); \(action) needs the role \(needed).")
        }
    }
}
