import Dispatch
import Foundation
import Logging
import Synchronization

/// Threads with a session each, and the work that waits for one of them, in the order in which it came.
///
/// Lifecycle: the threads start with the first work and end in ``close()``, after what waits then is done.
final class SessionThreads: Sendable {
    private struct State {
        var queue: [SessionWork] = []
        var isStarted = false
        var isClosing = false
        /// Threads whose session has a connection, as far as they know, or is about to get one.
        var hopeful = 0
    }

    private let name: String
    private let count: Int
    private let limit: Int
    private let configuration: PostgreSQLConfiguration
    private let place: WriterPlace
    private let isWriter: Bool
    private let logger: Logger
    private let state = Mutex(State())
    /// One signal for each entry of the queue, and at the end for each thread.
    private let signals = DispatchSemaphore(value: 0)
    /// One signal for each thread at the end: ends the waits of those that can't connect.
    private let closing = DispatchSemaphore(value: 0)
    private let threads = DispatchGroup()

    /// - Parameters:
    ///   - name: for ps and debuggers.
    ///   - count: how many threads and connections.
    ///   - limit: how much work may wait.
    ///   - place: what they and the other threads of the pool know of the writer's connection.
    init(
        named name: String, count: Int, limit: Int, _ configuration: PostgreSQLConfiguration, _ place: WriterPlace,
        isWriter: Bool, logger: Logger
    ) {
        self.name = name
        self.count = count
        self.limit = limit
        self.configuration = configuration
        self.place = place
        self.isWriter = isWriter
        self.logger = logger
    }

    /// How much work waits.
    var waiting: Int { state.withLock { $0.queue.count } }

    /// Has work done by the next thread that is free; it is called exactly once.
    func append(_ work: @escaping SessionWork) {
        let refusal: PostgreSQLError? = state.withLock { state in
            guard !state.isClosing else { return PostgreSQLError(.closed, "The database is closed.") }
            guard state.queue.count < limit else {
                return PostgreSQLError(.busy, "\(limit) calls wait for a connection to the database already.")
            }
            state.queue.append(work)
            if !state.isStarted {
                state.isStarted = true
                start()
            }
            return nil
        }
        guard let refusal else {
            signals.signal()
            return
        }
        work(.failure(refusal))
    }

    private func start() {
        for number in 0..<count {
            threads.enter()
            let thread = Thread { [self] in
                run()
                threads.leave()
            }
            thread.name = "\(name)-\(number)"
            thread.start()
        }
    }

    /// Does what waits, then ends the threads and closes the connections. Waits for that. Idempotent.
    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
        if isFirst {
            for _ in 0..<count {
                signals.signal()
                closing.signal()
            }
        }
        threads.wait()
    }

    /// The life of a thread.
    private func run() {
        let session = PostgreSQLSession(configuration, logger: logger)
        if isWriter {
            // Also where a lost COMMIT is looked up: it is in the middle of its work then.
            session.onAttempt = { [place] error in
                error?.state == .tooManyConnections ? place.want() : place.settle()
            }
        }
        var isHopeful = false
        while true {
            signals.wait()
            guard let work = state.withLock({ $0.queue.isEmpty ? nil : $0.queue.removeFirst() }) else { break }
            if !isWriter, makesRoom(session, &isHopeful), leave(work) {
                wait(for: Self.restForWriter)
                continue
            }
            note(&isHopeful, session.pause == nil)
            do throws(PostgreSQLError) {
                try session.connect()
                work(.success(session))
            } catch {
                note(&isHopeful, false)
                if leave(work) { wait(for: session) } else { work(.failure(error)) }
            }
        }
        session.close()
    }

    /// How long a reader without a connection leaves the next one to the writer.
    private static let restForWriter: Duration = .milliseconds(100)

    /// Whether a reader has, or takes, no connection because the writer needs one; another reader has one then.
    private func makesRoom(_ session: PostgreSQLSession, _ isHopeful: inout Bool) -> Bool {
        guard place.isReserved else { return false }
        let others = state.withLock { $0.hopeful } - (isHopeful ? 1 : 0)
        guard others > 0 else { return false }
        if session.isConnected {
            guard place.take() else { return false }
            session.close()
        }
        note(&isHopeful, false)
        return true
    }

    private func note(_ isHopeful: inout Bool, _ now: Bool) {
        guard isHopeful != now else { return }
        isHopeful = now
        state.withLock { $0.hopeful += now ? 1 : -1 }
    }

    /// Leaves work to other threads if one of them has a connection or may get one: a server may have no place for all.
    private func leave(_ work: @escaping SessionWork) -> Bool {
        let isLeft = state.withLock { state in
            guard state.hopeful > 0, !state.isClosing else { return false }
            state.queue.insert(work, at: 0)
            return true
        }
        if isLeft { signals.signal() }
        return isLeft
    }

    /// Waits until the session may try to connect again, or the end.
    private func wait(for session: PostgreSQLSession) {
        if let pause = session.pause { wait(for: pause) }
    }

    private func wait(for pause: Duration) {
        let (seconds, attoseconds) = pause.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        if closing.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success { closing.signal() }
    }
}
