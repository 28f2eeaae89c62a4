import JSON
import Links
import PushModel
import Store

/// A link as the API shows it: `ManagedShortLink`, with `expirationTime` and `suffix` of our own.
struct ManagedLinkView {
    /// The attribute of a link that is blocked.
    static let spam = "SPAM"

    private let link: Link
    private let prefix: LinkPrefix

    /// Shows a link.
    init(_ link: Link, prefix: LinkPrefix) {
        self.link = link
        self.prefix = prefix
    }

    /// The short link.
    var url: String { link.url(of: prefix) }

    /// The object.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("link", .string(url))]
        if let name = link.name { members.append(.init("linkName", .string(name))) }
        members += [
            .init("creationTime", .string(link.createdAt.rfc3339)),
            .init("info", DynamicLinkInfo.json(prefix: prefix.url, LinkParameters(query: link.parameters))),
            .init("visibility", .string(link.visibility.wire)),
        ]
        if link.state == .blocked { members.append(.init("flaggedAttribute", .array([.string(Self.spam)]))) }
        if let end = link.expiresAt { members.append(.init("expirationTime", .string(end.rfc3339))) }
        return .object(members)
    }
}

extension Link {
    /// The short link's URL.
    func url(of prefix: LinkPrefix) -> String { prefix.url + "/" + key.suffix }
}

extension LinkVisibility {
    /// The word for it on the wire.
    var wire: String {
        switch self {
        case .unarchived: "UNARCHIVED"
        case .archived: "ARCHIVED"
        case .neverShown: "NEVER_SHOWN"
        }
    }

    /// Reads the word.
    init?(wire: String) {
        guard let found = Self.allCases.first(where: { $0.wire == wire }) else { return nil }
        self = found
    }
}
