import PushModel
import Store

/// Who may use a route.
struct Access: Hashable, Sendable {
    /// The roles that may.
    let roles: [Role]
    /// What the route does, for the text of a refusal.
    let action: String
    /// The least role of an operator who may.
    var operators = OperatorRole.admin

    /// A batch of requests; what each of them may do is decided for it. Not for clients, whose keys are in everybody's
    /// hands: a batch holds much memory.
    static let batch = Access(roles: [.admin, .sender], action: "sending batches", operators: .sender)
    /// Everything with messages and what became of them.
    static let send = Access(roles: [.admin, .sender], action: "sending", operators: .sender)
    /// Pausing, resuming and cancelling messages.
    static let control = Access(roles: [.admin, .sender], action: "controlling messages", operators: .operator)
    /// Reports, deliveries, exports.
    static let read = Access(roles: [.admin, .sender], action: "reading reports", operators: .viewer)
    /// A new registration, by the app.
    static let register = Access(roles: [.admin, .client], action: "registering")
    /// An app install of its own, with tokens of its own.
    static let install = Access(roles: [.admin, .client], action: "managing installations")
    /// What devices report of messages.
    static let receipts = Access(roles: [.admin, .client], action: "reporting receipts")
    /// A look at a registration.
    static let readRegistration = Access(
        roles: [.admin, .client], action: "reading a registration", operators: .viewer)
    /// A change of a registration by the app, and of its user by a backend.
    static let changeRegistration = Access(
        roles: [.admin, .sender, .client], action: "changing a registration", operators: .operator)
    /// The end of a registration.
    static let endRegistration = Access(
        roles: [.admin, .client], action: "ending a registration", operators: .operator)
    /// What is known of a registration whose token the caller has.
    static let readInstance = Access(
        roles: [.admin, .sender, .client], action: "reading a registration", operators: .viewer)
    /// The end of many quarantines at once.
    static let liftQuarantine = Access(roles: [.admin], action: "lifting quarantines", operators: .operator)
    /// The end of registrations that are in quarantine for long.
    static let prune = Access(roles: [.admin], action: "pruning registrations", operators: .operator)
    /// The end of what is kept of a person.
    static let eraseUser = Access(roles: [.admin], action: "erasing users")
    /// Lists of registrations, and who followed whom on a device.
    static let listRegistrations = Access(roles: [.admin], action: "listing registrations", operators: .viewer)
    /// The audit log.
    static let readAudit = Access(roles: [.admin], action: "reading the audit log")
    /// How a project's deliveries go now: it names files, teams and keys.
    static let readStatus = Access(roles: [.admin], action: "reading the status", operators: .viewer)
    /// The states of many registrations at once, named by the tokens that a sender holds.
    static let checkRegistrations = Access(
        roles: [.admin, .sender], action: "checking registrations", operators: .viewer)
    /// The topics of a registration.
    static let topics = Access(roles: [.admin, .sender, .client], action: "changing topics", operators: .operator)
    /// The topics of many registrations at once.
    static let topicBatch = Access(
        roles: [.admin, .sender, .client], action: "changing topics in batches", operators: .operator)
    /// Device groups: who may send to a device may also put it into a group.
    static let deviceGroups = Access(roles: [.admin, .sender], action: "changing device groups", operators: .operator)
    /// The topics of a project, with how many registrations each has.
    static let listTopics = Access(roles: [.admin, .sender], action: "listing topics", operators: .viewer)
    /// Registrations made from device tokens.
    static let importTokens = Access(roles: [.admin], action: "importing device tokens")

    /// The link that led to an app, asked for by the app.
    static let attribution = Access(roles: [.admin, .sender, .client], action: "asking for links")
    /// Invitations and conversions: rewards hang on them.
    static let referral = Access(roles: [.admin, .sender], action: "managing referrals")
    /// How far referrals came.
    static let readReferral = Access(roles: [.admin, .sender], action: "reading referrals", operators: .viewer)
    /// Rewards that wait for a decision, and the end of what is known of a user.
    static let decideReferral = Access(roles: [.admin], action: "deciding on referrals")
    /// A short link.
    static let createLinks = Access(
        roles: [.admin, .sender, .client], action: "making short links", operators: .sender)
    /// A link with a name.
    static let createManagedLinks = Access(
        roles: [.admin, .sender], action: "making links", operators: .sender)
    /// Changes of links with a name, and lists of all.
    static let manageLinks = Access(roles: [.admin, .sender], action: "managing links", operators: .operator)
    /// Broadcast channels, made by backends for what they publish.
    static let manageChannels = Access(roles: [.admin, .sender], action: "managing channels", operators: .operator)
    /// Webhooks: where events of the project go.
    static let manageWebhooks = Access(roles: [.admin], action: "managing webhooks")
    /// Webhooks, requests to them and dead letters, without secrets.
    static let readWebhooks = Access(roles: [.admin], action: "reading webhooks", operators: .viewer)
    /// How often links were opened.
    static let readLinkStats = Access(
        roles: [.admin, .sender], action: "reading the statistics of links", operators: .viewer)

    /// Throws when a caller may not.
    func check(_ caller: Caller) throws(FCMError) {
        if let role = caller.operatorRole {
            guard role < operators else { return }
            throw FCMError(
                .permissionDenied,
                "The operator has the role \(role.rawValue); \(action) needs the role \(operators.rawValue).")
        }
        guard roles.contains(caller.role) else {
            let needed = roles.map(\.rawValue).joined(separator: " or ")
            throw FCMError(
                .permissionDenied,
                "\(caller.credential.name) has the role \(caller.role.rawValue); \(action) needs the role \(needed).")
        }
    }
}
