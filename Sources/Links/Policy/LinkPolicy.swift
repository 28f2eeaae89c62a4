package import PushModel

/// Which URLs the links of a project may lead to: hosts by name or URLs by pattern, and never its own links. Without hosts and patterns nothing is allowed.
package struct LinkPolicy: Sendable {
    private let hosts: Set<String>
    /// Names below which all hosts are allowed, of `*.b.example` the `b.example`.
    private let parents: Set<String>
    private let patterns: [LinkPattern]
    private let own: [LinkPrefix]

    /// As many patterns as Google's allowlist had.
    package static let patternLimit = 10

    /// Reads a project's targets and patterns.
    ///
    /// - Throws: The problem of `links.targets` or `links.patterns`: which of them, and where in it.
    package init(_ settings: LinkSettings) throws(LinkProblem) {
        var hosts: Set<String> = []
        var parents: Set<String> = []
        for target in settings.targets {
            let isParent = target.hasPrefix("*.")
            guard let host = Self.host(isParent ? String(target.dropFirst(2)) : target) else {
                throw LinkProblem(field: "links.targets", message: "'\(target)' is no host: a.example or *.a.example")
            }
            if isParent { parents.insert(host) } else { hosts.insert(host) }
        }
        self.hosts = hosts
        self.parents = parents
        patterns = try Self.patterns(settings.patterns)
        own = settings.prefixes + (settings.preview.map { [$0] } ?? [])
    }

    private static func host(_ text: String) -> String? {
        InternationalHost.ascii(text).flatMap(HostName.init)?.rawValue
    }

    private static func patterns(_ texts: [String]) throws(LinkProblem) -> [LinkPattern] {
        guard texts.count <= patternLimit else {
            throw LinkProblem(field: "links.patterns", message: "has more than \(patternLimit) patterns")
        }
        var patterns: [LinkPattern] = []
        for text in texts {
            do {
                patterns.append(try LinkPattern(text))
            } catch {
                throw LinkProblem(field: "links.patterns", message: "'\(text)': \(error.description)")
            }
        }
        return patterns
    }

    /// Whether links may lead there.
    package func allows(_ url: TargetURL) -> Bool {
        !isOwn(url) && (allows(host: url.host) || isMatched(url))
    }

    /// Whether the URL is a link or the preview page of this project: a target like that would lead in circles.
    package func isOwn(_ url: TargetURL) -> Bool {
        own.contains { $0.host == url.host && $0.covers(path: PercentEncoding.decode(String(url.path))) }
    }

    private func allows(host: String) -> Bool {
        if hosts.contains(host) { return true }
        guard !parents.isEmpty else { return false }
        var rest = host[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            if parents.contains(String(rest)) { return true }
        }
        return false
    }

    private func isMatched(_ url: TargetURL) -> Bool {
        guard !patterns.isEmpty else { return false }
        return url.spellings.contains { spelling in patterns.contains { $0.matches(spelling) } }
    }
}

extension TargetURL {
    /// The normalised URL, and where its path is only a slash the same without it, its question mark too when nothing follows:
    /// patterns are written for the one or the other, and Google's standard pattern refused `https://host?x`.
    fileprivate var spellings: [String] {
        let rest = text.utf8.dropFirst(pathOffset)
        guard path.utf8.count == 1 else { return [text] }
        let origin = text.utf8.prefix(pathOffset)
        let query = rest.dropFirst()
        var spellings = [text, String(Substring(origin)) + String(Substring(query))]
        if query.elementsEqual([UInt8(ascii: "?")]) {
            spellings += [String(Substring(origin)), String(Substring(origin)) + "/"]
        }
        return spellings
    }
}
