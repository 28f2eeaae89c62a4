package import PushModel

/// A part of a broadcast that has recipients left to claim.
package struct OpenFanOut: Hashable, Sendable {
    /// The most shards of one message that are offered at a time.
    package static let shardsPerMessage = 3
    /// The most paced messages of one project that are offered at a time.
    package static let pacedLimit = 256

    /// Names a shard.
    package struct ID: Hashable, Sendable {
        /// The message's number in the store: ascends with accept.
        package let message: Int64
        /// The shard of it.
        package let shard: Int64

        /// Names a shard.
        package init(message: Int64, shard: Int64) {
            self.message = message
            self.shard = shard
        }
    }

    /// Its id.
    package var id: ID
    /// The message.
    package var message: MessageID
    /// The project.
    package var project: ProjectID
    /// The message's ``PushModel/DeliveryOptions/rate``.
    package var rate: Int?
    /// The message's ``PushModel/DeliveryOptions/finishBy``.
    package var finishBy: Timestamp?
    /// Recipients of the whole message that are still to be claimed, by the estimate of accept.
    package var remaining: Int
    /// The one route it is for: whom another shard came by while that route was held; `nil`: all others.
    package var route: PushRoute?

    /// How far its recipients are claimed; only ascends, but a page that was given back is claimed without it.
    package var cursor: Int64
    /// Whether it is this node's, see ``ShardShare``; so is every one of a paced message, or to try a held route with.
    package var isOwn: Bool

    /// Whether its message has a pace of its own.
    package var isPaced: Bool { rate != nil || finishBy != nil }

    /// Puts it together.
    package init(
        id: ID, message: MessageID, project: ProjectID, rate: Int?, finishBy: Timestamp?, remaining: Int,
        route: PushRoute?, cursor: Int64 = 0, isOwn: Bool = true
    ) {
        self.id = id
        self.message = message
        self.project = project
        self.rate = rate
        self.finishBy = finishBy
        self.remaining = remaining
        self.route = route
        self.cursor = cursor
        self.isOwn = isOwn
    }
}
