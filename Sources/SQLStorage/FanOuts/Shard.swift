import PushModel
import Store

/// A shard of a fan-out with what claiming from it needs of its message.
struct Shard {
    static let byID = """
        SELECT f.project, f.after_key, f.last_key, f.last_subscription, f.refreshed_since, f.only_route, f.done,
            f.is_open, m.id, m.accepted_at, m.expires_at, m.topic, m.expression
        FROM fan_out f CROSS JOIN message m ON m.seq = f.message WHERE f.message = ? AND f.shard = ?
        """

    /// To whom the message goes.
    enum Audience {
        case topic(Int64)
        case condition(StoredExpression)
        case list
        /// Those whom another shard set aside.
        case setAside
    }

    let id: OpenFanOut.ID
    let project: ProjectID
    let after: Int64
    let last: Int64
    let lastSubscription: Int64
    let refreshedSince: Timestamp?
    let onlyRoute: Int64?
    let isDone: Bool
    let isOpen: Bool
    let message: MessageID
    let acceptedAt: Timestamp
    let expiresAt: Timestamp
    let audience: Audience

    /// Reads a shard; `nil` when there is none.
    init?(_ id: OpenFanOut.ID, in db: any Database) throws {
        guard let row = try db.row(Self.byID, [id.message, id.shard]) else { return nil }
        self.id = id
        project = try ProjectID(stored: row[0])
        after = row[1]
        last = row[2]
        lastSubscription = row[3]
        refreshedSince = Timestamp(stored: row[4])
        onlyRoute = row[5]
        isDone = row[6]
        isOpen = row[7]
        message = try MessageID(column: row[8])
        acceptedAt = Timestamp(milliseconds: row[9])
        expiresAt = Timestamp(milliseconds: row[10])
        if onlyRoute != nil {
            audience = .setAside
        } else if let topic: Int64 = row[11] {
            audience = .topic(topic)
        } else if let expression: String = row[12] {
            audience = .condition(try StoredExpression(stored: expression))
        } else {
            audience = .list
        }
    }

    /// A delivery of this shard.
    func delivery(
        to registration: DeliveryRegistration, page: FanOutPage.ID, interruptions: Int
    ) -> ClaimedDelivery {
        ClaimedDelivery(
            message: message, project: project, acceptedAt: acceptedAt, expiresAt: expiresAt,
            registration: registration, page: page, history: AttemptHistory(interruptions: interruptions))
    }
}
