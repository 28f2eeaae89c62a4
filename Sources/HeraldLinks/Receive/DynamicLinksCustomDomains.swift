public import Foundation

/// What an app's links begin with, and the forms that they have.
///
/// Google's own domains, as `example.page.link`, are not among them unless they are given: nothing answers there any more.
public struct DynamicLinksCustomDomains: Hashable, Sendable {
    private let prefixes: [Prefix]

    private struct Prefix: Hashable, Sendable {
        let host: String
        let port: Int?
        let path: String
    }

    /// The form of a link.
    enum Form: Hashable, Sendable {
        /// A suffix, or an invitation `i/<id>`: only the gateway knows what it stands for.
        case short
        /// The link's parameters.
        case long(LinkQuery)
    }

    /// Reads prefixes as `https://go.example.com` or `https://example.com/link`. Slashes at the end are dropped; an entry
    /// without a scheme or a host is left out.
    public init(_ entries: [String]) {
        prefixes = entries.compactMap { entry -> Prefix? in
            guard let parts = URLComponents(string: entry), parts.scheme != nil, let host = parts.host, !host.isEmpty
            else { return nil }
            var path = parts.percentEncodedPath
            while path.last == "/" { path.removeLast() }
            return Prefix(host: host.lowercased(), port: parts.port, path: path)
        }
        // The longest first: below https://example.com/link stands no short link of https://example.com.
        .sorted { $0.path.utf8.count > $1.path.utf8.count }
    }

    /// Whether a URL is a short link: a prefix, then one segment of letters, digits, `-` and `_`, or `i/` and one.
    public func isShortLink(_ url: URL) -> Bool { form(of: url) == .short }

    /// Whether a URL is a link of the app's, short or long.
    public func isDynamicLink(_ url: URL) -> Bool { form(of: url) != nil }

    /// The form of a URL; `nil`: it is no link of the app's.
    func form(of url: URL) -> Form? {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(), scheme == "https" || scheme == "http",
            // The callback of a retrieval that found nothing.
            !parts.percentEncodedPath.lowercased().hasPrefix("/link/dismiss")
        else { return nil }
        for prefix in prefixes {
            guard prefix.host == parts.host?.lowercased(), prefix.port == nil || prefix.port == parts.port,
                parts.percentEncodedPath.hasPrefix(prefix.path)
            else { continue }
            let rest = parts.percentEncodedPath.dropFirst(prefix.path.count)
            if let form = Self.form(rest: rest, query: parts.percentEncodedQuery ?? "") { return form }
        }
        return nil
    }

    /// The form of what follows a prefix.
    private static func form(rest: Substring, query: String) -> Form? {
        guard !rest.isEmpty, rest != "/" else {
            let query = LinkQuery(parsing: query)
            guard let link = query[.link]?.lowercased(), link.hasPrefix("https://") || link.hasPrefix("http://")
            else { return nil }
            return .long(query)
        }
        let path = rest.last == "/" ? rest.dropLast() : rest
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.first == "" else { return nil }
        let isInvitation = segments.count == 3 && segments[1] == "i"
        guard segments.count == 2 || isInvitation, segments.last.map(isSuffix) == true else { return nil }
        return .short
    }

    private static func isSuffix(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f: true
                default: false
                }
            }
    }

    /// The link that the preview page put into the clipboard; `nil` for any other text.
    ///
    /// The text must end with `_icp=1`: a link that a user copied by hand says nothing of where an install came from. The
    /// mark goes, with the `?` or `&` before it, and what remains must be a link of the app's.
    public func uniqueMatchLink(inClipboard text: String?) -> URL? {
        let mark = "_icp=1"
        guard let text, text.utf8.count >= mark.utf8.count + 8, text.hasSuffix(mark),
            text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let link = URL(string: String(text.dropLast(mark.count + 1))), isDynamicLink(link)
        else { return nil }
        return link
    }
}
