import PushModel
import SQLStorage
import Store

/// The gateways of a database, within a transaction.
struct NodeTable {
    let db: any Database

    /// How long a node that went without a word stays in the list.
    private static let kept: Duration = .seconds(86_400)

    private static let insertion = """
        INSERT INTO node (name, version, address, started, heartbeat) VALUES (?, ?, ?, ?, ?)
        """
    private static let beat = """
        UPDATE node SET heartbeat = ?, address = coalesce(?, address), is_leaving = ? WHERE id = ?
        """
    /// When all are leaving, the first of them goes on with what one node does. ?2: who asks.
    private static let living = """
        SELECT count(*) FILTER (WHERE is_leaving = 0),
            coalesce(min(id) FILTER (WHERE is_leaving = 0), min(id), 0),
            count(*) FILTER (WHERE is_leaving = 0 AND id < ?2)
        FROM node WHERE heartbeat > ?1
        """
    private static let anyLiving = "SELECT EXISTS (SELECT 1 FROM node WHERE heartbeat > ?)"
    private static let all = """
        SELECT id, name, version, address, started, heartbeat, projects_version, projects_problem
        FROM node ORDER BY id LIMIT 1000
        """
    private static let standing = "UPDATE node SET projects_version = ?, projects_problem = ? WHERE id = ?"

    /// Enters a node, and forgets those that are long gone.
    ///
    /// - Returns: its number.
    func enter(_ name: String, version: String, address: String?, at now: Timestamp) throws -> Int64 {
        let removal = try db.statement("DELETE FROM node WHERE heartbeat < ?")
        removal.bind((now + (.zero - Self.kept)).milliseconds)
        try removal.run()
        let insertion = try db.insertion(Self.insertion, key: "id")
        insertion.bind(name)
        insertion.bind(version)
        Self.bind(address, to: insertion)
        insertion.bind(now.milliseconds)
        insertion.bind(now.milliseconds)
        guard let number = try insertion.insert() else { throw StoreError(.failed, "A node was not entered.") }
        return number
    }

    /// Notes that a node lives.
    ///
    /// - Returns: `nil`: others have forgotten it.
    func beat(_ number: Int64, address: String?, isLeaving: Bool, at now: Timestamp) throws -> NodeStanding? {
        let beat = try db.statement(Self.beat)
        beat.bind(now.milliseconds)
        Self.bind(address, to: beat)
        beat.bind(isLeaving ? 1 as Int64 : 0)
        beat.bind(number)
        guard try beat.run() > 0 else { return nil }
        let living = try db.statement(Self.living)
        living.bind((now + (.zero - StoreNode.lifetime)).milliseconds)
        living.bind(number)
        guard try living.next() else { return nil }
        defer { living.reset() }
        // One that is leaving counts itself: it still takes part of what all take together.
        let others = Int(living.number(0))
        return NodeStanding(
            count: others + (isLeaving ? 1 : 0), place: isLeaving ? others : Int(living.number(2)),
            isFirst: living.number(1) == number)
    }

    /// Notes what a node says of the stored projects.
    func note(_ projects: ProjectStanding, of number: Int64) throws {
        let standing = try db.statement(Self.standing)
        standing.bind(projects.version)
        Self.bind(projects.problem, to: standing)
        standing.bind(number)
        try standing.run()
    }

    /// Removes a node.
    func leave(_ number: Int64) throws {
        let removal = try db.statement("DELETE FROM node WHERE id = ?")
        removal.bind(number)
        try removal.run()
    }

    /// Whether one lives, be it that it is leaving.
    func hasLiving(at now: Timestamp) throws -> Bool {
        let living = try db.statement(Self.anyLiving)
        living.bind((now + (.zero - StoreNode.lifetime)).milliseconds)
        guard try living.next() else { return true }
        defer { living.reset() }
        return living.number(0) != 0
    }

    /// All of them.
    func nodes(at now: Timestamp) throws -> [StoreNode] {
        let rows = try db.statement(Self.all)
        var nodes: [StoreNode] = []
        while try rows.next() {
            let heard = Timestamp(milliseconds: rows.number(5))
            nodes.append(
                StoreNode(
                    number: rows.number(0), name: rows.text(1), version: rows.text(2), address: rows.optionalText(3),
                    startedAt: Timestamp(milliseconds: rows.number(4)), heardAt: heard,
                    isLive: heard > now + (.zero - StoreNode.lifetime),
                    projects: rows.optionalNumber(6).map { ProjectStanding(version: $0, problem: rows.optionalText(7)) }
                ))
        }
        return nodes
    }

    private static func bind(_ text: String?, to statement: any PreparedStatement) {
        if let text { statement.bind(text) } else { statement.bindNull() }
    }
}
