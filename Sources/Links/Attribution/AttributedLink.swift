package import PushModel
package import Store

/// A link that an app asks for: found, working, and leading where the project allows.
package struct AttributedLink: Hashable, Sendable {
    /// Its own URL without internal parameters.
    package var url: String
    /// Its prefix.
    package var prefix: LinkPrefix
    /// Its parameters.
    package var parameters: LinkParameters
    /// The short link; `nil`: it is none.
    package var link: LinkID?
    /// The invitation that it is.
    package var invitation: InvitationID?

    /// What an app receives.
    package func deepLink(on platform: Platform) -> String? {
        let android = platform == .android ? parameters[.androidLink] : nil
        return android ?? parameters[.link]
    }

    /// The long link that it stands for.
    package var longLink: String { LongLink.url(prefix: prefix, parameters: parameters) }
}

/// Why an app does not get the link that it asks for.
package enum AttributionProblem: Error, Sendable {
    /// It is no link of the project, or leads where the project does not allow.
    case refused(LinkProblem)
    /// There is no such link, or it works no more.
    case unknown
    /// The store could not be asked.
    case store(StoreError)
}

/// Finds links by the URLs that devices show.
struct LinkFinder: Sendable {
    let store: any LinkStore & ReferralStore

    /// The link of a URL: a short or a long one, or an invitation's.
    func link(
        _ url: String, of project: Project, at time: Timestamp
    ) async throws(AttributionProblem) -> AttributedLink {
        guard let settings = project.links else { throw .unknown }
        do {
            let given = try LongLink(url: url, prefixes: settings.prefixes)
            var found = try await find(given, of: project, at: time)
            let targets = try LinkTargets(found.parameters, policy: LinkPolicy(settings))
            found.parameters.keep(targets)
            return found
        } catch let problem as LinkProblem {
            throw .refused(problem)
        } catch let problem as AttributionProblem {
            throw problem
        } catch let error as StoreError {
            throw .store(error)
        } catch {
            throw .store(StoreError(.failed, "The store failed.", underlying: error))
        }
    }

    private func find(_ given: LongLink, of project: Project, at time: Timestamp) async throws -> AttributedLink {
        guard let suffix = given.suffix else {
            return AttributedLink(
                url: LongLink.url(prefix: given.prefix, parameters: given.parameters), prefix: given.prefix,
                parameters: given.parameters)
        }
        let url = given.prefix.url + "/" + suffix
        if suffix.hasPrefix("i/") {
            guard let id = InvitationID(rawValue: suffix.dropFirst(2)),
                // Under every prefix of the project, as link hosts answer.
                let invitation = try await store.invitation(id), invitation.project == project.id
            else { throw AttributionProblem.unknown }
            return AttributedLink(
                url: url, prefix: given.prefix, parameters: LinkParameters(query: invitation.parameters), invitation: id
            )
        }
        guard let link = try await store.link(LinkKey(prefix: given.prefix.name, suffix: suffix)),
            link.project == project.id, link.state == .active, link.expiresAt.map({ $0 > time }) ?? true
        else { throw AttributionProblem.unknown }
        return AttributedLink(
            url: url, prefix: given.prefix, parameters: LinkParameters(query: link.parameters), link: link.id)
    }
}

extension LinkParameters {
    /// Drops the targets that are none: no browser is sent there, and no app is told of them.
    fileprivate mutating func keep(_ targets: LinkTargets) {
        if targets.androidLink == nil { self[.androidLink] = nil }
        if targets.androidFallback == nil { self[.androidFallback] = nil }
        if targets.iosFallback == nil { self[.iosFallback] = nil }
        if targets.ipadFallback == nil { self[.ipadFallback] = nil }
        if targets.otherFallback == nil { self[.otherFallback] = nil }
    }
}

extension ClickID {
    /// The click that a URL of a link carries in its internal parameter `cid`, as preview pages put it there.
    package init?(inURL url: String) {
        guard let start = url.firstIndex(of: "?") else { return nil }
        self.init(inQuery: url[url.index(after: start)...], name: "cid")
    }

    /// The click that an install referrer carries, `gl_click=<id>&utm_source=…`; the Play Store may hand it on encoded.
    package init?(inReferrer referrer: String) {
        let text = referrer.contains("=") ? referrer : PercentEncoding.decode(referrer)
        self.init(inQuery: text[...], name: "gl_click")
    }

    private init?(inQuery query: Substring, name: String) {
        let pairs = query.prefix { $0 != "#" }.split(separator: "&")
        guard let pair = pairs.first(where: { $0.hasPrefix(name + "=") }) else { return nil }
        self.init(rawValue: pair.dropFirst(name.count + 1))
    }
}
