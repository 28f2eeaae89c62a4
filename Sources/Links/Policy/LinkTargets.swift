/// The URLs that a link may lead to, each of them read and allowed by the project's policy: when it is made and again at each
/// click.
package struct LinkTargets: Hashable, Sendable {
    /// What the app receives, and where browsers go at last.
    package let link: TargetURL
    /// Instead of ``link`` on Android.
    package let androidLink: TargetURL?
    /// Where Android goes without the app.
    package let androidFallback: TargetURL?
    /// Where iOS goes without the app.
    package let iosFallback: TargetURL?
    /// Where an iPad goes without the app.
    package let ipadFallback: TargetURL?
    /// Where other platforms go.
    package let otherFallback: TargetURL?

    /// Reads the URLs of parameters. A fallback that is no `http` or `https` URL is none: it is warned of when the link is
    /// made.
    ///
    /// - Throws: The problem of `link` when it is missing or no target, and of any URL that the policy refuses.
    package init(_ parameters: LinkParameters, policy: LinkPolicy) throws(LinkProblem) {
        guard let text = parameters[.link] else { throw LinkProblem(.link, message: "is missing") }
        link = try TargetURL(text)
        try Self.check(link, of: .link, policy)
        androidLink = try Self.target(.androidLink, parameters, policy)
        androidFallback = try Self.target(.androidFallback, parameters, policy)
        iosFallback = try Self.target(.iosFallback, parameters, policy)
        ipadFallback = try Self.target(.ipadFallback, parameters, policy)
        otherFallback = try Self.target(.otherFallback, parameters, policy)
    }

    private static func target(
        _ parameter: LinkParameter, _ parameters: LinkParameters, _ policy: LinkPolicy
    ) throws(LinkProblem) -> TargetURL? {
        guard let text = parameters[parameter], case .success(let url) = TargetURL.read(text) else { return nil }
        try check(url, of: parameter, policy)
        return url
    }

    private static func check(
        _ url: TargetURL, of parameter: LinkParameter, _ policy: LinkPolicy
    ) throws(LinkProblem) {
        guard !policy.allows(url) else { return }
        throw LinkProblem(
            parameter,
            message: policy.isOwn(url)
                ? "leads to a link of this project"
                : "leads to \(url.host), which neither links.targets nor links.patterns of the project allow")
    }
}

extension LinkParameters {
    /// The image of previews, when it is a URL that the policy allows.
    package func socialImage(allowedBy policy: LinkPolicy) -> TargetURL? {
        guard let text = self[.socialImage], case .success(let url) = TargetURL.read(text), policy.allows(url) else {
            return nil
        }
        return url
    }
}
