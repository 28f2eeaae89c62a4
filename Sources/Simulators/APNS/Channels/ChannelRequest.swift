/// What a request about channels asks for, by its method and path (Apple, "Sending channel management requests to APNs"
/// and "Sending broadcast push notification requests to APNs").
enum ChannelRequest: Hashable {
    /// `POST /1/apps/{bundle id}/channels`.
    case create(bundleID: String)
    /// `GET /1/apps/{bundle id}/channels`.
    case read(bundleID: String)
    /// `DELETE /1/apps/{bundle id}/channels`.
    case delete(bundleID: String)
    /// `GET /1/apps/{bundle id}/all-channels`.
    case list(bundleID: String)
    /// `POST /4/broadcasts/apps/{bundle id}`.
    case publish(bundleID: String)

    /// Whose channels.
    var bundleID: String {
        switch self {
        case .create(let bundleID), .read(let bundleID), .delete(let bundleID), .list(let bundleID),
            .publish(let bundleID):
            bundleID
        }
    }

    /// Reads method and path of a request to a host.
    ///
    /// - Returns: `nil`: it is none about channels, as far as this host goes.
    /// - Throws: 405 for another method on one of these paths.
    init?(method: String, path: String, on host: APNSHost) throws(Refusal) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        switch (host, parts.count) {
        case (.push, 4) where parts[0] == "4" && parts[1] == "broadcasts" && parts[2] == "apps":
            guard method == "POST" else { throw .methodNotAllowed }
            self = .publish(bundleID: parts[3])
        case (.management, 4) where parts[0] == "1" && parts[1] == "apps" && parts[3] == "channels":
            switch method {
            case "POST": self = .create(bundleID: parts[2])
            case "GET": self = .read(bundleID: parts[2])
            case "DELETE": self = .delete(bundleID: parts[2])
            default: throw .methodNotAllowed
            }
        case (.management, 4) where parts[0] == "1" && parts[1] == "apps" && parts[3] == "all-channels":
            guard method == "GET" else { throw .methodNotAllowed }
            self = .list(bundleID: parts[2])
        default: return nil
        }
    }
}

/// Which of Apple's hosts a listener plays.
enum APNSHost: Sendable {
    /// Device pushes and broadcasts.
    case push
    /// The management of channels.
    case management
}
