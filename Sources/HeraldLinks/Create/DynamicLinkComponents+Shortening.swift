public import Foundation

/// Receives a short link with the texts of its warnings, or an error; on the main actor, once.
public typealias DynamicLinkShortenerCompletion = @MainActor (URL?, [String]?, (any Error)?) -> Void

extension DynamicLinkComponents {
    /// Makes a short link of all that is set, at the gateway that ``DynamicLinks/configure(options:transport:)`` named.
    ///
    /// The same long link gives the same short link. The second value has the texts of warnings: things that do not keep
    /// the link from working.
    nonisolated(nonsending) public func shorten() async throws(DynamicLinksError) -> (URL, [String]) {
        try await DynamicLinks.dynamicLinks().shorten(url, pathLength: options?.pathLength ?? .default)
    }

    /// Makes a short link of all that is set, and passes it on.
    public func shorten(completion: @escaping DynamicLinkShortenerCompletion) {
        Self.shorten(url, pathLength: options?.pathLength ?? .default, completion: completion)
    }

    /// Makes a short link of a long one, which may have been put together by other means.
    nonisolated(nonsending) public static func shortenURL(
        _ url: URL, options: DynamicLinkComponentsOptions?
    ) async throws(DynamicLinksError) -> (URL, [String]) {
        try await DynamicLinks.dynamicLinks().shorten(url, pathLength: options?.pathLength ?? .default)
    }

    /// Makes a short link of a long one, and passes it on.
    public static func shortenURL(
        _ url: URL, options: DynamicLinkComponentsOptions?, completion: @escaping DynamicLinkShortenerCompletion
    ) {
        shorten(url, pathLength: options?.pathLength ?? .default, completion: completion)
    }

    /// The bridge from completions to tasks: the task ends with the one call of the completion.
    private static func shorten(
        _ url: URL?, pathLength: ShortDynamicLinkPathLength, completion: @escaping DynamicLinkShortenerCompletion
    ) {
        let links = DynamicLinks.dynamicLinks()
        Task {
            do throws(DynamicLinksError) {
                let (short, warnings) = try await links.shorten(url, pathLength: pathLength)
                await completion(short, warnings.isEmpty ? nil : warnings, nil)
            } catch {
                await completion(nil, nil, error)
            }
        }
    }
}

extension DynamicLinks {
    /// Makes a short link of a long one.
    public func shorten(
        _ longLink: URL?, pathLength: ShortDynamicLinkPathLength = .default
    ) async throws(DynamicLinksError) -> (URL, [String]) {
        guard let longLink else { throw DynamicLinksError(.invalidLink, "Unable to produce long URL") }
        let request = ShortenRequest(longDynamicLink: longLink.absoluteString, pathLength: pathLength)
        let answer = try await gateway().post(request, to: "shortLinks")
        // The SDK ignores the status: an answer with a short link is good, one with `error` is refused.
        guard let object = answer.object else {
            throw DynamicLinksError(.unreadableAnswer, "Unrecognized server response")
        }
        guard let text = object.text("shortLink"), let short = URL(string: text) else {
            throw DynamicLinksError(refusal: object)
        }
        return (short, object.objects("warning").compactMap { $0.text("warningMessage") })
    }
}
