import Hummingbird
import JSON
import Links
import PushModel
import Store

/// `linkStats`: how often a short link was opened, by platform and event.
enum LinkStatsRoutes {
    /// The longest span in days.
    static let longestSpan = 3650

    /// `durationDays` counts back from now, today included; a week when it is missing.
    @Sendable static func get(_ call: ProjectCall) async throws -> Response {
        let (link, _) = try await call.namedLink()
        let days = try span(call.query)
        let today = Int(call.now.seconds / 86_400)
        let counts = try await call.services.store.counts(of: link.id, days: today - days + 1...today)
        var sums: [Key: Int] = [:]
        for count in counts { sums[Key(platform: count.platform, event: count.event), default: 0] += count.count }
        let stats = sums.sorted { $0.key < $1.key }.map { key, count in
            JSONValue.object([
                .init("platform", .string(key.platform.wire)),
                // 64 bits: in a string, as proto-JSON has it.
                .init("count", .string(String(count))), .init("event", .string(key.event.wire)),
            ])
        }
        return Response(json: .object(stats.isEmpty ? [] : [.init("linkEventStats", .array(stats))]))
    }

    private static func span(_ query: Query) throws(FCMError) -> Int {
        guard let text = query["durationDays"] else { return 7 }
        guard let days = Int(text), (1...longestSpan).contains(days) else {
            throw .badRequest("duration_days", "durationDays must be a whole number of 1 to \(longestSpan).")
        }
        return days
    }

    private struct Key: Hashable, Comparable {
        let platform: LinkPlatform
        let event: LinkEvent

        static func < (left: Key, right: Key) -> Bool {
            (left.platform.rawValue, left.event.rawValue) < (right.platform.rawValue, right.event.rawValue)
        }
    }
}

extension LinkPlatform {
    /// The word for it on the wire.
    var wire: String {
        switch self {
        case .android: "ANDROID"
        case .ios: "IOS"
        case .desktop: "DESKTOP"
        case .other: "OTHER"
        }
    }
}

extension LinkEvent {
    /// The word for it on the wire.
    var wire: String {
        switch self {
        case .click: "CLICK"
        case .redirect: "REDIRECT"
        case .appInstall: "APP_INSTALL"
        case .appFirstOpen: "APP_FIRST_OPEN"
        case .appReopen: "APP_RE_OPEN"
        }
    }
}
