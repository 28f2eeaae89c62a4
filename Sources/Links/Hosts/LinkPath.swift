/// What a path behind a prefix names.
enum LinkPath: Hashable {
    /// No link has this path.
    case none
    /// A link to follow.
    case link(Name)
    /// The QR code of a short link.
    case picture(String)

    /// What a link is named by.
    enum Name: Hashable {
        /// A short link's suffix.
        case short(String)
        /// An invitation's name.
        case invitation(String)
        /// The query: a long link.
        case long
    }

    /// Reads what stands behind the prefix: nothing or a slash, `/<suffix>`, `/<suffix>/qr` or `/i/<id>`.
    init(_ rest: Substring) {
        var rest = rest
        if rest.first == "/" { rest.removeFirst() }
        if rest.last == "/" { rest.removeLast() }
        guard !rest.isEmpty else {
            self = .link(.long)
            return
        }
        let parts = rest.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
            .map { $0.utf8.contains(UInt8(ascii: "%")) ? PercentEncoding.decode(String($0)) : String($0) }
        guard parts.allSatisfy({ LinkSuffix.isSegment($0[...]) }) else {
            self = .none
            return
        }
        switch (parts.count, parts[0]) {
        case (1, let suffix): self = .link(.short(suffix))
        case (2, "i"): self = .link(.invitation(parts[1]))
        case (2, let suffix) where parts[1] == "qr": self = .picture(suffix)
        default: self = .none
        }
    }
}
