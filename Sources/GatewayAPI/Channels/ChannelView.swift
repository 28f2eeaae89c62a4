import Delivery
import JSON
import PushModel
import Store

/// Channels as callers see them.
enum ChannelView {
    /// One channel.
    ///
    /// - Parameter failure: why Apple could not be asked about it.
    static func channel(_ channel: BroadcastChannel, failure: ChannelFailure?) -> JSONValue {
        guard case .object(var members) = self.channel(channel) else { return .object([]) }
        if let failure { members.append(.init("apple", .object([.init("error", .string(failure.text))]))) }
        return .object(members)
    }

    /// One channel.
    static func channel(_ channel: BroadcastChannel) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("name", .string(channel.name.rawValue)),
            .init("app", .string(channel.home.app.rawValue)),
            .init("environment", .string(channel.home.environment.rawValue)),
            .init("storagePolicy", .string(channel.storagePolicy.rawValue)),
            .init("state", .string(state(channel.state))),
        ]
        if let id = channel.id { members.append(.init("channelId", .string(id.rawValue))) }
        if let id = channel.registration { members.append(.init("registration", .string(id.rawValue))) }
        members.append(.init("createTime", .string(channel.createdAt.rfc3339)))
        if case .lost(let since) = channel.state { members.append(.init("lostTime", .string(since.rfc3339))) }
        return .object(members)
    }

    /// The words of `state`.
    static let states = ["CREATING", "ACTIVE", "LOST"]

    private static func state(_ state: BroadcastChannel.State) -> String {
        switch state {
        case .creating: states[0]
        case .active: states[1]
        case .lost: states[2]
        }
    }

    /// Unknown ids that are shown: an app may have ten thousand that another system made.
    private static let shownIDs = 100

    /// What Apple's list says of ours.
    static func comparison(_ comparison: ChannelComparison) -> JSONValue {
        .object([
            .init("time", .string(comparison.time.rfc3339)), .init("count", .integer(comparison.count)),
            .init("lost", .array(comparison.lost.map { .string($0.rawValue) })),
            .init("unknownCount", .integer(comparison.unknown.count)),
            .init("unknown", .array(comparison.unknown.prefix(shownIDs).map { .string($0.rawValue) })),
        ])
    }
}
