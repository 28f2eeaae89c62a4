import Delivery
import FCMWire
import Links
import PushModel
import Store

/// Gives each message that says the same short links of its own in place of the links in it (`delivery.trackLinks`), so that
/// its report has their clicks.
///
/// A link becomes one short link for the whole message, however many devices it goes to: pushes are composed once. It is
/// committed together with the message, so no push has a link that is not there, and no refused message leaves one.
struct LinkTracker: Sendable {
    /// What a short link says.
    fileprivate struct Target {
        let prefix: LinkPrefix
        let parameters: LinkParameters
        /// The canonical query of the parameters: of a thousand messages it is made once.
        let query: String
        var expiresAt: Timestamp?

        init(prefix: LinkPrefix, parameters: LinkParameters, expiresAt: Timestamp? = nil) {
            self.prefix = prefix
            self.parameters = parameters
            self.expiresAt = expiresAt
            query = parameters.query
        }
    }

    private let content: FCMMessage
    /// The links that are tracked, as the message has them.
    private let targets: [(text: String, target: Target)]
    private let createdAt: Timestamp

    /// Looks for the links of a content that can be tracked.
    ///
    /// - Throws: UNAVAILABLE or INTERNAL when a short link in it can't be looked up.
    init(_ content: FCMMessage, in call: ProjectCall) async throws(FCMError) {
        self.content = content
        createdAt = call.now
        var targets: [(text: String, target: Target)] = []
        if call.project.links?.tracksMessages == true, let tenant = call.services.linkHosts.tenant(call.project.id) {
            for text in content.links {
                guard let target = try await Self.target(of: text, tenant, call) else { continue }
                let tagged = target.tagged(with: content.label)
                // Parameters that have room for no campaign do without.
                targets.append((text, tagged.parameters.isAllowed(by: tenant) ? tagged : target))
            }
        }
        self.targets = targets
    }

    /// A submission of the content, with links of its own.
    func tracked(_ submission: Submission) -> Submission {
        guard !targets.isEmpty else { return submission }
        var submission = submission
        var random = SystemRandomNumberGenerator()
        var replacements: [String: String] = [:]
        for (text, target) in targets {
            let suffix = LinkSuffix.unguessable(using: &random)
            replacements[text] = target.prefix.url + "/" + suffix
            submission.links.append(
                NewLink(
                    project: submission.project.id, prefix: target.prefix.name, suffixes: [suffix], kind: .tracked,
                    parameters: target.query, createdAt: createdAt, expiresAt: target.expiresAt))
        }
        submission.content = content.replacingLinks(replacements)
        return submission
    }

    /// What a short link in place of a text says; `nil`: the text is no URL, or one that the project's policy does not allow.
    private static func target(
        of text: String, _ tenant: LinkTenant, _ call: ProjectCall
    ) async throws(FCMError) -> Target? {
        guard case .success(let url) = TargetURL.read(text), let prefix = tenant.settings.prefixes.first else {
            return nil
        }
        if tenant.policy.isOwn(url) { return try await own(text, tenant, call) }
        var parameters = LinkParameters()
        parameters[.link] = text
        return parameters.isAllowed(by: tenant) ? Target(prefix: prefix, parameters: parameters) : nil
    }

    /// What a link of the project's own says; an invitation stays what it is, and so does a link that does not work.
    private static func own(
        _ text: String, _ tenant: LinkTenant, _ call: ProjectCall
    ) async throws(FCMError) -> Target? {
        // Pages of previews are no links.
        guard let link = try? LongLink(url: text, prefixes: tenant.settings.prefixes), !link.isDebug else { return nil }
        guard let suffix = link.suffix else {
            return link.parameters.isAllowed(by: tenant)
                ? Target(prefix: link.prefix, parameters: link.parameters) : nil
        }
        let found: Link?
        do throws(StoreError) {
            found = try await call.services.store.link(LinkKey(prefix: link.prefix.name, suffix: suffix))
        } catch {
            throw FCMError(error)
        }
        guard let found, found.project == call.project.id, found.state == .active,
            found.expiresAt.map({ $0 > call.now }) ?? true
        else { return nil }
        return Target(
            prefix: link.prefix, parameters: LinkParameters(query: found.parameters), expiresAt: found.expiresAt)
    }
}

extension LinkTracker.Target {
    /// The target with the message's campaign, unless it is of one already.
    fileprivate func tagged(with label: AnalyticsLabel?) -> LinkTracker.Target {
        guard !parameters.hasCampaign else { return self }
        var parameters = parameters
        parameters[.utmSource] = "herald"
        parameters[.utmMedium] = "push"
        parameters[.utmCampaign] = label?.rawValue
        return LinkTracker.Target(prefix: prefix, parameters: parameters, expiresAt: expiresAt)
    }
}

extension LinkParameters {
    /// Whether they say a campaign, themselves or in the link.
    fileprivate var hasCampaign: Bool {
        let campaign: [LinkParameter] = [.utmSource, .utmMedium, .utmCampaign, .utmTerm, .utmContent]
        if campaign.contains(where: { self[$0] != nil }) { return true }
        guard let text = self[.link], case .success(let url) = TargetURL.read(text) else { return false }
        return url.hasCampaign
    }

    /// Whether a link may say them.
    fileprivate func isAllowed(by tenant: LinkTenant) -> Bool {
        // Why not is no matter: the message keeps what it says.
        (try? tenant.check.check(self)) != nil
    }
}

extension ProjectCall {
    /// A submission of a content, with its links tracked.
    func tracked(_ submission: Submission, saying content: FCMMessage) async throws(FCMError) -> Submission {
        try await LinkTracker(content, in: self).tracked(submission)
    }
}
