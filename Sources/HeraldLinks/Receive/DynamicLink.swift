public import Foundation

/// How sure it is that a link is meant for this device.
public enum DLMatchType: UInt, Sendable {
    /// There is no link.
    case none = 0
    /// It may be somebody else's: show nothing personal by it.
    case weak
    /// It is with all likelihood this device's, though a mistake is possible.
    case `default`
    /// It is certainly this device's.
    case unique
}

/// A link that the app received.
public final class DynamicLink: Sendable {
    /// The link within: what the app opens. `nil`: there is none.
    public let url: URL?
    /// How sure it is that it is meant for this device. A custom scheme's URL says of itself what it likes.
    public let matchType: DLMatchType
    /// The version that the app must have; an older one offers the App Store.
    public let minimumAppVersion: String?
    /// The invitation by which the user came, for the reward.
    public let invitationID: String?
    /// What the gateway said of the match, for diagnosis.
    public let matchMessage: String?
    /// Everything, by the names of ``LinkQuery/Name``.
    let parameters: LinkQuery

    /// The utm parameters by their names, as `utm_source`.
    public var utmParametersDictionary: [String: Any] {
        let pairs = parameters.items.filter { $0.name.hasPrefix("utm_") }.map { ($0.name, $0.value as Any) }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    /// Reads a link from its parameters. Without a match type, a link or an invitation is a unique match.
    init(parameters: LinkQuery) {
        self.parameters = parameters
        url = parameters[.deepLink].flatMap { URL(string: $0) }
        minimumAppVersion = parameters[.iosMinimumVersion]
        invitationID = parameters[.invitation]
        matchMessage = parameters[.matchMessage]
        matchType =
            switch parameters[.matchType] {
            case "unique": .unique
            case "default": .default
            case "weak": .weak
            case nil where url != nil || invitationID != nil: .unique
            default: .none
            }
    }
}

extension DynamicLink: CustomStringConvertible {
    /// The link for logs, as Firebase's SDK writes it.
    public var description: String {
        "<DynamicLink: url [\(url?.absoluteString ?? "")], match type: \(matchType), "
            + "minimumAppVersion: \(minimumAppVersion ?? "N/A"), match message: \(matchMessage ?? "")>"
    }
}
