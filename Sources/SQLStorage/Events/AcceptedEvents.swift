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

        mutating func add(_ row: any PreparedStatement) {
            let message = row.number(0)
            messages.append(message)
            time = max(time, Timestamp(milliseconds: row.number(2)))
            if row.number(3) != 0 {
                empty.append(message)
            } else {
                load.messages += 1
                load.bytes += Int(row.number(4))
            }
        }
    }

    /// Adds the messages that were accepted since the last call: one row for each project, however many steps of a
    /// transaction accepted them, and counts those that have recipients. Called at the end of each transaction; nothing
    /// else in it can be about a message that no caller knows yet.
    func add() throws {
        let (db, events) = (transaction.db, EventTable(db: transaction.db))
        var projects: [Accepted] = []
        var last: Int64?
        let rows = try transaction.statement(.acceptedMessages, Self.accepted)
        while try rows.next() {
            let project = rows.text(1)
            let place = projects.lastIndex { $0.project.rawValue == project } ?? projects.count
            if place == projects.count { projects.append(Accepted(project: try ProjectID(stored: project))) }
            projects[place].add(rows)
            last = projects[place].messages.last
        }
        guard let last else { return }
        for accepted in projects {
            try ProjectLoad(db: db).add(accepted.load, to: accepted.project)
            try events.add(.accepted(messages: accepted.messages), of: accepted.project, at: accepted.time)
            guard !accepted.empty.isEmpty else { continue }
            try events.add(
                .settled(EventBody.Settled(complete: accepted.empty)), of: accepted.project, at: accepted.time)
        }
        try db.post("UPDATE meta SET value = ? WHERE name = 'accepted_events'", [last])
    }
}
