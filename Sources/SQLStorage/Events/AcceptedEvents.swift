import PushModel
import Store

/// The events of messages that a transaction accepted.
struct AcceptedEvents {
    let transaction: WriteTransaction

    static let accepted = """
        SELECT seq, project, accepted_at, completed_at IS NOT NULL, bytes FROM message
        WHERE seq > (SELECT value FROM meta WHERE name = 'accepted_events') ORDER BY seq
        """

    /// What was accepted of a project.
    private struct Accepted {
        let project: ProjectID
        var messages: [Int64] = []
        /// Those without a recipient.
        var empty: [Int64] = []
        /// The others, as they count against the limits.
        var load = StoreLoad.Sum()
        var time = Timestamp(milliseconds: 0)

        mutating func add(_ message: AcceptedMessage, isEmpty: Bool) {
            messages.append(message.number)
            time = max(time, message.time)
            if isEmpty {
                empty.append(message.number)
            } else {
                load.messages += 1
                load.bytes += message.bytes
            }
        }
    }

    /// Those of a transaction, in their order.
    private struct Sums {
        var projects: [Accepted] = []
        var last: Int64?

        mutating func add(_ message: AcceptedMessage, isEmpty: Bool = false) {
            let place = projects.lastIndex { $0.project == message.project } ?? projects.count
            if place == projects.count { projects.append(Accepted(project: message.project)) }
            projects[place].add(message, isEmpty: isEmpty)
            last = message.number
        }
    }

    /// Adds the messages that were accepted since the last call: one row for each project, however many steps of a
    /// transaction accepted them, and counts those that have recipients. Called at the end of each transaction; nothing
    /// else in it can be about a message that no caller knows yet.
    func add() throws {
        let (db, events) = (transaction.db, EventTable(db: transaction.db))
        let sums = try sums()
        guard let last = sums.last else { return }
        for accepted in sums.projects {
            try ProjectLoad(db: db).add(accepted.load, to: accepted.project)
            try events.add(.accepted(messages: accepted.messages), of: accepted.project, at: accepted.time)
            guard !accepted.empty.isEmpty else { continue }
            try events.add(
                .settled(EventBody.Settled(complete: accepted.empty)), of: accepted.project, at: accepted.time)
        }
        try db.post("UPDATE meta SET value = ? WHERE name = 'accepted_events'", [last])
    }

    /// Where the database is far, it is asked only for messages whose numbers it gave.
    private func sums() throws -> Sums {
        var sums = Sums()
        guard transaction.hasUnknownMessages || !transaction.db.dialect.joinsRows else {
            for message in transaction.accepted.sorted(by: { $0.number < $1.number }) { sums.add(message) }
            return sums
        }
        let rows = try transaction.statement(.acceptedMessages, Self.accepted)
        while try rows.next() {
            let message = AcceptedMessage(
                number: rows.number(0), project: try ProjectID(stored: rows.text(1)),
                time: Timestamp(milliseconds: rows.number(2)), bytes: Int(rows.number(4)))
            sums.add(message, isEmpty: rows.number(3) != 0)
        }
        return sums
    }
}
