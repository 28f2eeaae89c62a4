import Glibc
import Logging

/// One loop: waits in epoll, lets its connections and pools act, hands over what ended. Everything it reaches is
/// confined to its thread; the mailbox is the only way in.
///
/// A turn: socket events → messages → deadlines → pools give out requests → connections write → ends are delivered,
/// a batch at a time.
@safe final class EventLoop {
    let mailbox: Mailbox
    let epoll: Epoll
    let logger: Logger
    /// Looks names up, for dials.
    let lookups: NameLookups
    /// The time at the beginning of this turn.
    private(set) var now = Instant.now()
    /// What connections read into; no bytes are kept in it.
    let readBuffer: UnsafeMutableRawBufferPointer
    var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    /// Tests bring a time of their own.
    var readTime: () -> Instant = { .now() }
    /// Begins a dial. Tests lead it to a peer in memory.
    var dial: (_ connection: Connection, _ rotation: Int) -> Void = { $0.start(rotation: $1) }

    private var pools: [PoolID: PoolCore] = [:]
    private var connections: [ConnectionID: Connection] = [:]
    private(set) var deadlines = Deadlines()
    private var nextConnectionID: UInt64 = 1
    private var messages: [LoopMessage] = []
    private var events = Epoll.Events(capacity: 256)
    private var touchedPools: [PoolCore] = []
    private var workingPools: [PoolCore] = []
    private var workedPools: [PoolCore] = []
    private var unflushed: [Connection] = []
    private var flushing: [Connection] = []
    private var endedBatches: [BatchPart] = []
    /// Batches without requests, to be used again.
    private var spareBatches: [BatchPart] = []
    private var openedLatches: [Latch] = []
    private var isStopping = false

    private static let wakeUpID: UInt64 = 0
    /// As many as a full pool has under way; each keeps the memory of some hundred ends.
    private static let spareBatchLimit = 32

    init(mailbox: Mailbox, epoll: Epoll, lookups: NameLookups, logger: Logger) {
        self.mailbox = mailbox
        self.epoll = epoll
        self.lookups = lookups
        self.logger = logger
        unsafe readBuffer = .allocate(byteCount: 65_536, alignment: 16)
    }

    deinit { unsafe readBuffer.deallocate() }

    /// Starts a loop on a thread of its own; `ended` opens when the thread has nothing left to do.
    static func start(
        number: Int, lookups: NameLookups, logger: Logger, ended: Latch
    ) throws(TransportFailure) -> Mailbox {
        let mailbox = try Mailbox()
        let epoll = try Epoll()
        try epoll.add(mailbox.wakeUp.descriptor, id: wakeUpID, .readable)
        try startThread(named: "h2-loop-\(number)") {
            EventLoop(mailbox: mailbox, epoll: epoll, lookups: lookups, logger: logger).run()
            ended.open()
        }
        return mailbox
    }

    // MARK: The turn

    private func run() {
        while !(isStopping && pools.isEmpty) { turn() }
        for message in mailbox.close() { refuse(message) }
        finishTurn()
    }

    private func turn() {
        let count = epoll.wait(&events, milliseconds: patience())
        act(at: readTime()) {
            for index in 0..<count {
                let event = events[index]
                if event.id == Self.wakeUpID {
                    mailbox.take(into: &messages)
                } else {
                    // A late event of a closed connection finds no owner: ids are not used twice.
                    connections[ConnectionID(value: event.id)]?
                        .socketReady(isReadable: event.isReadable, isWritable: event.isWritable)
                }
            }
            for message in messages { handle(message) }
            messages.removeAll(keepingCapacity: true)
        }
    }

    /// One turn at the time `time`: what `happening` brings, the deadlines that have passed, and what follows from them.
    func act(at time: Instant, _ happening: () -> Void) {
        now = time
        happening()
        while let (owner, time) = deadlines.popDue(at: now) {
            switch owner {
            case .connection(let id): connections[id]?.wake(at: time)
            case .pool(let id): pools[id]?.wake(at: time)
            }
        }
        finishTurn()
    }

    /// Until the next deadline, in milliseconds rounded up, so that it has passed on waking.
    private func patience() -> Int32 {
        guard let next = deadlines.next else { return -1 }
        let left = next.elapsed(since: readTime())
        return Int32(clamping: (left + 999_999) / 1_000_000)
    }

    private func finishTurn() {
        while !touchedPools.isEmpty || !unflushed.isEmpty {
            swap(&workingPools, &touchedPools)
            // Reading may have taken a while: what is opened now counts from now.
            now = readTime()
            for pool in workingPools {
                pool.isTouched = false
                pool.work()
            }
            workedPools.append(contentsOf: workingPools)
            workingPools.removeAll(keepingCapacity: true)
            swap(&flushing, &unflushed)
            for connection in flushing {
                connection.isUnflushed = false
                connection.push(all: true)
            }
            flushing.removeAll(keepingCapacity: true)
        }
        // Figures first: who is told of an end finds it counted.
        for pool in workedPools { pool.publish() }
        workedPools.removeAll(keepingCapacity: true)
        for batch in endedBatches where batch.deliver() && spareBatches.count < Self.spareBatchLimit {
            spareBatches.append(batch)
        }
        endedBatches.removeAll(keepingCapacity: true)
        for latch in openedLatches { latch.open() }
        openedLatches.removeAll()
    }

    // MARK: Messages

    private func handle(_ message: LoopMessage) {
        switch message {
        case .openPool(let id, let configuration, let tls, let gate, let budget):
            add(PoolCore(id: id, configuration: configuration, tls: tls, gate: gate, loop: self, budget: budget))
        case .submit(let id, let requestBatch, let range):
            guard let pool = pools[id] else { return refuse(message) }
            pool.enqueue(requestBatch, range)
        case .closePool(let id, let limit, let latch):
            guard let pool = pools[id] else { return latch.open() }
            pool.close(within: limit, latch)
        case .recycle(let id): pools[id]?.recycle()
        case .setFields(let id, let fields): pools[id]?.commonFields = fields
        case .windDown(let id): pools[id]?.windDown()
        case .reconsider(let id): pools[id]?.reconsider()
        case .limitConnections(let id, let limit): pools[id]?.setConnectionLimit(limit)
        case .resolved(let id, let result): connections[id]?.resolved(result)
        case .stop(let limit):
            isStopping = true
            for pool in pools.values { pool.close(within: limit, Latch()) }
        }
    }

    /// A message for a pool that is gone, or for a loop that ends.
    private func refuse(_ message: LoopMessage) {
        switch message {
        case .submit(_, let requestBatch, let range):
            requestBatch.fail(range, TransportFailure(.shutdown, "the pool is closed"))
        case .closePool(_, _, let latch): latch.open()
        case .openPool(_, _, _, let gate, _): gate.close()
        case .recycle, .setFields, .windDown, .reconsider, .limitConnections, .resolved, .stop: break
        }
    }

    // MARK: What pools and connections ask for

    func touch(_ pool: PoolCore) {
        guard !pool.isTouched else { return }
        pool.isTouched = true
        touchedPools.append(pool)
    }

    func flushLater(_ connection: Connection) {
        guard !connection.isUnflushed else { return }
        connection.isUnflushed = true
        unflushed.append(connection)
    }

    /// Ends a request.
    func end(_ ticket: Ticket, _ exchange: Exchange) {
        if ticket.batch.add(ticket, exchange, now: now) { endedBatches.append(ticket.batch) }
    }

    /// A batch of `count` requests of `batch` that came now.
    func makeBatch(_ requestBatch: RequestBatch, count: Int) -> BatchPart {
        guard let batch = spareBatches.popLast() else {
            return BatchPart(requestBatch: requestBatch, count: count, queuedAt: now)
        }
        batch.reset(requestBatch: requestBatch, count: count, queuedAt: now)
        return batch
    }

    /// From now on the pool gets its messages and is woken by its deadlines.
    func add(_ pool: PoolCore) { pools[pool.id] = pool }

    func add(_ deadline: Instant, owner: OwnerID) { deadlines.add(deadline, owner: owner) }

    func makeConnection(for pool: PoolCore) -> Connection {
        let id = ConnectionID(value: nextConnectionID)
        nextConnectionID += 1
        let connection = Connection(id: id, pool: pool, loop: self)
        connections[id] = connection
        return connection
    }

    func remove(_ connection: Connection) { connections[connection.id] = nil }

    /// The pool is closed: forgotten at once, and its latches open when the ends of this turn are delivered.
    func remove(_ pool: PoolCore, opening latches: [Latch]) {
        pools[pool.id] = nil
        openedLatches.append(contentsOf: latches)
    }
}
