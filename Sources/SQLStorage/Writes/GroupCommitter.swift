import CoreMetrics
import PushModel
import Store
import Synchronization

/// Runs all writes of the store, and lets those that wait at the same time share one commit and so one fsync.
///
/// While a commit is on its way to the disk, new writes gather; the next commit takes up to ``WriteQueue/groupRows`` rows
/// of them, each kind of write in the order it came. One that fails takes back its own changes only: nearly none does, so
/// they run without savepoints, and when one fails the transaction is rolled back and all of its writes run again, each
/// in a savepoint of its own. So a write may run twice, and nothing but what it does to the database may come of that. A
/// caller resumes after the commit: what it was told is on the disk. Cancelling the caller's task does not stop a write.
final class GroupCommitter: Sendable {
    private struct Queue {
        var waiting = WriteQueue<any WriteJob>()
        var isScheduled = false

        var counts: [WriteKind: Int] {
            Dictionary(uniqueKeysWithValues: WriteKind.allCases.map { ($0, waiting.count(of: $0)) })
        }
    }

    private let engine: any StorageEngine
    private let queue = Mutex(Queue())
    private let gauges: [WriteKind: Gauge]

    private let loadState: Mutex<LoadState>
    /// The newest event as of the last commit of this process, and the number of the connection that it was on, 0 before
    /// the first one. Only the connection that writes uses it.
    private let last: Mutex<(event: Int64, connection: Int)>
    private let source: ChangeSource
    private let registrations: RegistrationCache
    private let names = NameCache()

    /// What is not complete, as of the last commit.
    var load: StoreLoad { loadState.withLock { $0.load } }

    /// - Parameters:
    ///   - source: told when a commit has events.
    ///   - registrations: told which registrations a commit changed.
    ///   - metrics: where the gauges of the queue go.
    /// - Throws: the database's error when the counters of the load can't be read.
    init(
        engine: any StorageEngine, source: ChangeSource, registrations: RegistrationCache, metrics: any MetricsFactory
    ) throws {
        self.engine = engine
        self.source = source
        self.registrations = registrations
        last = Mutex((try engine.readAtOnce { db in try EventTable(db: db).newest() }, 0))
        var load = LoadState()
        load.apply(try engine.readAtOnce { db in try LoadChange.all(after: -1, in: db) })
        loadState = Mutex(load)
        var gauges: [WriteKind: Gauge] = [:]
        for kind in WriteKind.allCases {
            let gauge = Gauge(storeQueue: kind.rawValue, limit: kind.limit, metrics: metrics)
            gauge.record(0)
            gauges[kind] = gauge
        }
        self.gauges = gauges
    }

    /// Runs `body` in one of the next transactions and returns its value after the commit.
    ///
    /// - Parameters:
    ///   - kind: whose places it takes.
    ///   - rows: about how many rows it changes.
    ///   - lookUps: what it looks up first, as far as it is known.
    /// - Throws: ``StoreError`` `.busy` when all places of its kind are taken, otherwise the error of `body` or of the
    ///   commit.
    func write<Value: Sendable>(
        _ kind: WriteKind, rows: Int, lookingUp lookUps: LookUps = LookUps(),
        _ body: @escaping @Sendable (WriteTransaction) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            enqueue(ValueJob(lookingUp: lookUps, body, continuation), kind, rows: rows)
        }
    }

    /// How many writes of some kinds wait.
    func waiting(_ kinds: [WriteKind]) -> Int {
        queue.withLock { queue in kinds.reduce(0) { $0 + queue.waiting.count(of: $1) } }
    }

    private func enqueue(_ job: any WriteJob, _ kind: WriteKind, rows: Int) {
        enum Action { case refuse, wait, schedule }
        let (action, waiting): (Action, Int) = queue.withLock { queue in
            guard queue.waiting.append(job, kind, rows: rows) else { return (.refuse, kind.limit) }
            let waiting = queue.waiting.count(of: kind)
            guard !queue.isScheduled else { return (.wait, waiting) }
            queue.isScheduled = true
            return (.schedule, waiting)
        }
        // Another thread may overtake this record; the end of each commit puts it right.
        gauges[kind]?.record(waiting)
        switch action {
        case .refuse:
            job.fail(StoreError.busy("\(kind.limit) writes of kind \(kind.rawValue) wait for the store already."))
        case .wait: break
        case .schedule: schedule()
        }
    }

    private func schedule() {
        engine.withWriter { result in self.commitNext(result) }
    }

    /// Commits one group, then goes to the end of the connection's queue if more wait.
    private func commitNext(_ writer: Result<any WriteConnection, any Error>) {
        let (group, before) = queue.withLock { queue in (queue.waiting.takeGroup(), queue.counts) }
        record(before)
        switch writer {
        case .success(let connection):
            commit(group, connection)
            connection.afterAnswers()
        case .failure(let error):
            for job in group { job.fail(error) }
        }
        let (isMore, after) = queue.withLock { queue in
            queue.isScheduled = queue.waiting.count > 0
            return (queue.isScheduled, queue.counts)
        }
        record(after)
        if isMore { schedule() }
    }

    private func record(_ counts: [WriteKind: Int]) {
        for (kind, count) in counts { gauges[kind]?.record(count) }
    }

    private func commit(_ group: [any WriteJob], _ connection: any WriteConnection) {
        var ran = 0
        var failure: (any Error)?
        do {
            if try commitTogether(group, connection) {
                ran = group.count
            } else {
                try commitEach(group, connection, &ran)
            }
        } catch {
            failure = error
        }
        for job in group.prefix(ran) { job.finish(failure) }
        if let failure {
            for job in group.dropFirst(ran) { job.fail(failure) }
        }
    }

    /// What a transaction changed of what is told after its commit.
    private struct Changes {
        var connection = 0
        /// Whether nothing that was told before counts: another connection may be to a server that took over and did not
        /// receive the last commits, whose numbers it gives again.
        var isAnew = false
        var load: [LoadChange] = []
        var lastEvent: Int64 = 0
        var registrations: RegistrationChanges.Changed?
        /// The number of the last change of a registration.
        var lastRegistration: Int64 = 0
    }

    /// Commits a group none of which fails.
    ///
    /// - Returns: `false`: one did, and nothing was changed.
    private func commitTogether(_ group: [any WriteJob], _ connection: any WriteConnection) throws -> Bool {
        var (changes, found, number) = (Changes(), NameNumbers(), 0)
        var question: ChangeQuestion?
        let end = try connection.inTransaction { db in
            // An engine may run it again on another connection.
            number = db.connectionNumber
            question = nil
            let transaction = WriteTransaction(db: db, names: names.numbers(of: number))
            try transaction.expect(LookUps(together: group.lazy.map(\.lookUps)))
            for job in group {
                // An error that was caught inside may have ended the transaction all the same.
                guard job.run(transaction, isAlone: false), !db.isAborted else { return false }
            }
            do {
                question = try finish(transaction)
            } catch {
                // Of what was posted by one of them, whose answer comes only now.
                guard db.isAborted else { throw error }
                return false
            }
            found = transaction.foundNames
            return true
        } thenReading: {
            // A SELECT that is not at its end keeps the embedded store from a checkpoint.
            defer { question = nil }
            changes = try question?.read() ?? Changes()
        }
        guard case .committed(let isRead) = end else { return false }
        names.add(found, of: number)
        if isRead { tell(changes) } else { tellAll() }
        return true
    }

    /// Commits what does not fail of a group.
    ///
    /// - Parameter ran: counts those that ran, also when the commit fails.
    private func commitEach(_ group: [any WriteJob], _ connection: any WriteConnection, _ ran: inout Int) throws {
        var changes = Changes()
        _ = try connection.inTransaction { db in
            // An engine may run it again.
            ran = 0
            let transaction = WriteTransaction(db: db, names: names.numbers(of: db.connectionNumber))
            for job in group {
                _ = job.run(transaction, isAlone: true)
                ran += 1
                // A full disk or an I/O error may end the whole transaction (sqlite.org/lang_transaction.html): what
                // ran before is gone, and what comes after must not begin a transaction of its own.
                guard !db.isAborted else { throw StoreError(.failed, "The transaction was aborted.") }
            }
            changes = try finish(transaction).read()
            return true
        }
        tell(changes)
    }

    /// Ends a transaction: adds the events that its steps have together, and asks for what is told after the commit.
    private func finish(_ transaction: WriteTransaction) throws -> ChangeQuestion {
        let db = transaction.db
        try transaction.insertMessages()
        try AcceptedEvents(transaction: transaction).add()
        let number = db.connectionNumber
        let isAnew = last.withLock { $0.connection != number }
        return ChangeQuestion(
            connection: number, isAnew: isAnew,
            load: try db.ask(LoadChange.after, [isAnew ? -1 : loadState.withLock { $0.lastChange }]),
            registrations: try RegistrationChanges(db: db).ask(after: registrations.number))
    }

    /// What is told of a transaction, as long as it was not read.
    private struct ChangeQuestion {
        let connection: Int
        let isAnew: Bool
        let load: RowCursor
        let registrations: RegistrationChanges.Question

        func read() throws -> Changes {
            let (changed, lastRegistration, lastEvent) = try registrations.read()
            return Changes(
                connection: connection, isAnew: isAnew, load: try LoadChange.all(load), lastEvent: lastEvent,
                registrations: isAnew ? .any : changed, lastRegistration: lastRegistration)
        }
    }

    /// Tells what was committed.
    private func tell(_ changes: Changes) {
        loadState.withLock { state in
            if changes.isAnew { state = LoadState() }
            state.apply(changes.load)
        }
        registrations.forget(changes.registrations, number: changes.lastRegistration)
        let isNew = last.withLock { last in
            defer { last = (changes.lastEvent, changes.connection) }
            return last.event != changes.lastEvent
        }
        var change: StoreChange = isNew ? .events : []
        if !changes.load.isEmpty { change.insert(.projects) }
        source.post(change)
    }

    /// Something was committed of which nothing more is known: what counts from then on is told with the next commit, on
    /// another connection.
    private func tellAll() {
        // No snapshot of now is new enough for what is at hand.
        registrations.forget(.any, number: .max)
        last.withLock { $0.connection = -1 }
        source.post([.events, .projects])
    }
}

extension Gauge {
    /// A gauge of a queue of the store, whose limit is told beside it.
    convenience init(storeQueue kind: String, limit: Int, metrics: any MetricsFactory) {
        let dimensions = [("kind", kind)]
        Gauge(label: MetricName.storeQueueLimit.rawValue, dimensions: dimensions, factory: metrics).record(limit)
        self.init(label: MetricName.storeQueue.rawValue, dimensions: dimensions, factory: metrics)
    }
}
