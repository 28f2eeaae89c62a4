package import PushModel

/// The prefixes that stand below another one on its host. A request is for the longest prefix of its path, so a short link
/// whose path, or that of its QR code, is covered by one of these would never open.
package struct TakenPaths: Sendable {
    /// No other prefixes.
    package static let none = TakenPaths(below: LinkPrefix(host: ""), own: [], others: [])

    private let prefix: LinkPrefix
    private let own: [LinkPrefix]
    private let others: [LinkPrefix]

    /// Gathers what stands below a prefix.
    ///
    /// - Parameters:
    ///   - own: prefixes of the same project, which ``problem(of:)`` names.
    ///   - others: those of other projects, which it does not.
    package init(below prefix: LinkPrefix, own: [LinkPrefix], others: [LinkPrefix]) {
        self.prefix = prefix
        self.own = own.filter { $0.isBelow(prefix) }
        self.others = others.filter { $0.isBelow(prefix) }
    }

    /// Whether a short link with this suffix would open.
    package func isFree(_ suffix: String) -> Bool { problem(of: suffix) == nil }

    /// Why a link can't have a suffix: a sentence without a subject; `nil`: nothing else has its path.
    package func problem(of suffix: String) -> String? {
        guard !own.isEmpty || !others.isEmpty else { return nil }
        let path = "\(prefix.path)/\(suffix)/qr"
        if let other = own.first(where: { $0.covers(path: path) }) {
            return "can't be '\(suffix)' under \(prefix.url): that path belongs to the prefix \(other.url)"
        }
        guard others.contains(where: { $0.covers(path: path) }) else { return nil }
        return "can't be '\(suffix)' under \(prefix.url): that path is in use on \(prefix.host)"
    }
}

extension LinkPrefix {
    /// Whether the path begins with that of another prefix of the host and goes on.
    fileprivate func isBelow(_ other: LinkPrefix) -> Bool {
        host == other.host && path.utf8.count > other.path.utf8.count && other.covers(path: path)
    }
}
