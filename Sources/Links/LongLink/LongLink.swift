package import PushModel

/// A URL that was given as a link of some prefixes: a long link, a short one or an invitation's, with what was odd about it.
package struct LongLink: Hashable, Sendable {
    /// The prefix it begins with.
    package let prefix: LinkPrefix
    /// What stands behind the prefix: a short link's suffix, or `i/<id>`; `nil`: it is a long link.
    package let suffix: String?
    /// Its parameters.
    package var parameters: LinkParameters
    /// Names in its query that no parameter has, each once, at most ``LinkLimits/unknownNames``.
    package let unknownNames: [String]
    /// Whether it asks for the debug page by `d=1`.
    package let isDebug: Bool
    /// What is odd about the URL itself; ``LinkCheck`` has the rest.
    package let warnings: [LinkWarning]

    /// Reads a URL: `<prefix>?…`, `<prefix>/?…`, `<prefix>/<suffix>` or `<prefix>/i/<id>`. Scheme and port don't matter:
    /// a proxy may end TLS before the gateway.
    ///
    /// - Throws: The problem of `longDynamicLink` when it is no URL, or none of these prefixes.
    package init(url: String, prefixes: [LinkPrefix]) throws(LinkProblem) {
        let parts = try LinkURLParts(url)
        guard let prefix = Self.prefix(of: parts, among: prefixes) else {
            throw LinkURLParts.problem("'\(parts.host + parts.path)' begins with no link prefix of this project")
        }
        self.prefix = prefix
        suffix = try Self.suffix(parts.path.dropFirst(prefix.path.count))
        var contents = QueryContents(parts.query)
        if parts.fragment != nil {
            contents.warnings.append(
                LinkWarning(.linkWithFragments, "What follows '#' was dropped: encode the values of parameters"))
        }
        if url.utf8.count > LinkLimits.longLinkBytes {
            contents.warnings.append(
                LinkWarning(.linkTooLong, LinkCheck.tooLong))
        }
        parameters = contents.parameters
        unknownNames = contents.unknownNames
        isDebug = contents.isDebug
        warnings = contents.warnings
    }

    /// The long link of a prefix and parameters: `<prefix>/?k=v…`.
    package static func url(prefix: LinkPrefix, parameters: LinkParameters) -> String {
        prefix.url + "/?" + parameters.query
    }

    /// Whether a long link is short enough for link hosts to open it; `efr`, which the preview page adds, does not count.
    ///
    /// - Parameter url: what ``url(prefix:parameters:)`` makes of the parameters.
    static func isOpened(_ url: String, _ parameters: LinkParameters) -> Bool {
        let flag = parameters[.forcedRedirect].map { "&efr=".utf8.count + $0.utf8.count } ?? 0
        return url.utf8.count - flag <= LinkLimits.longLinkBytes
    }

    /// The prefix with the longest path that covers the URL.
    private static func prefix(of parts: LinkURLParts, among prefixes: [LinkPrefix]) -> LinkPrefix? {
        prefixes.filter { $0.host == parts.host && $0.covers(path: parts.path) }.max { $0.path.count < $1.path.count }
    }

    private static func suffix(_ rest: Substring) throws(LinkProblem) -> String? {
        var rest = rest.dropFirst()
        if rest.last == "/" { rest.removeLast() }
        guard !rest.isEmpty else { return nil }
        let text = PercentEncoding.decode(String(rest))
        let segment = text.hasPrefix("i/") ? text.dropFirst(2) : text[...]
        guard LinkSuffix.isSegment(segment) else {
            throw LinkURLParts.problem("'\(text)' is no suffix of a link")
        }
        return text
    }
}

/// What a query says, parameters and the rest.
private struct QueryContents {
    var parameters = LinkParameters()
    var unknownNames: [String] = []
    var isDebug = false
    var warnings: [LinkWarning] = []
    private var repeated: Set<LinkParameter> = []

    init(_ query: String) {
        var reader = QueryReader(query)
        while let pair = reader.next() {
            let value = reader.value(of: pair)
            switch pair.name {
            case .known(let parameter): add(value, to: parameter)
            case .internal(let name): note(name, value)
            case .unknown(let name):
                if unknownNames.count < LinkLimits.unknownNames, !unknownNames.contains(name) {
                    unknownNames.append(name)
                }
            }
        }
    }

    private mutating func add(_ value: String, to parameter: LinkParameter) {
        if parameters[parameter] == nil {
            parameters[parameter] = value
        } else if repeated.insert(parameter).inserted {
            warnings.append(
                LinkWarning(.unrecognizedParameter, "'\(parameter.rawValue)' is given twice: the first one counts"))
        }
    }

    private mutating func note(_ name: String, _ value: String) {
        switch name {
        case QueryReader.debug where value == "1": isDebug = true
        case QueryReader.debug:
            warnings.append(LinkWarning(.badDebugParameter, "'d' takes 1 only"))
        case QueryReader.advertising where value == "0" || value == "1":
            warnings.append(LinkWarning(.deprecatedParameter, "'ad' has no effect"))
        case QueryReader.advertising:
            warnings.append(LinkWarning(.badAdParameter, "'ad' takes 0 or 1 only"))
        default: break
        }
    }
}
