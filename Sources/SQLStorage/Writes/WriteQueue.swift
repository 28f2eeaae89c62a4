import Store

/// Writes that wait, by kind, and the choice of those that share the next transaction. A value without lock or I/O.
struct WriteQueue<Element> {
    /// Rows of the writes in one transaction, at most: some tens of milliseconds of the writer. A single write may have
    /// more.
    static var groupRows: Int { 2000 }

    private var waiting: [WriteKind: [(rows: Int, job: Element)]] = [:]
    /// How many wait.
    private(set) var count = 0

    /// How many of a kind wait.
    func count(of kind: WriteKind) -> Int { waiting[kind]?.count ?? 0 }

    /// Takes a write.
    ///
    /// - Parameter rows: about how many rows it changes; less than 1 counts as 1.
    /// - Returns: `false`: all places of its kind are taken.
    mutating func append(_ job: Element, _ kind: WriteKind, rows: Int) -> Bool {
        guard count(of: kind) < kind.limit else { return false }
        waiting[kind, default: []].append((max(1, rows), job))
        count += 1
        return true
    }

    /// Takes out the writes of the next transaction, those of a kind in the order they came.
    ///
    /// Each kind that waits has an equal share of ``groupRows`` and at least one write; what a kind leaves of its share
    /// goes to the others.
    mutating func takeGroup() -> [Element] {
        let kinds = WriteKind.allCases.filter { count(of: $0) > 0 }
        guard !kinds.isEmpty else { return [] }
        var (group, left): ([Element], Int) = ([], Self.groupRows)
        let share = Self.groupRows / kinds.count
        for kind in kinds { take(kind, from: &left, upTo: share, atLeastOne: true, into: &group) }
        for kind in kinds { take(kind, from: &left, upTo: left, atLeastOne: false, into: &group) }
        count -= group.count
        return group
    }

    private mutating func take(
        _ kind: WriteKind, from left: inout Int, upTo share: Int, atLeastOne: Bool, into group: inout [Element]
    ) {
        guard let jobs = waiting[kind] else { return }
        var (taken, rows) = (0, 0)
        while taken < jobs.count, (taken == 0 && atLeastOne) || rows + jobs[taken].rows <= share {
            rows += jobs[taken].rows
            group.append(jobs[taken].job)
            taken += 1
        }
        left -= rows
        if taken == jobs.count { waiting[kind] = nil } else { waiting[kind]?.removeFirst(taken) }
    }
}
