import Dispatch
import Foundation
package import Logging
import Synchronization

/// Hears the notices of other processes at a database, and sends them ours, on a connection and a thread of its own: a
/// transaction that notifies would wait for all others that do.
///
/// A notice may be lost while there is no connection: after each beginning of one all may have changed, and who depends on
/// it looks from time to time anyway. It is sent at most every 50 ms, those of the time between together.
///
/// Lifecycle: begins with ``start()``, ends with ``close()``.
package final class PostgreSQLListener: Sendable {
    /// Stands for all notices: any of them may have been missed.
    package static let everything = CoalescedNotices.everything

    private struct State {
        var notices = CoalescedNotices(interval: .milliseconds(50))
        var isStarted = false
        var isClosing = false
    }

    private let configuration: PostgreSQLConfiguration
    private let channel: String
    private let logger: Logger
    private let heard: @Sendable (Set<String>) -> Void
    private let state = Mutex(State())
    private let wakeUp: WakeUp
    private let thread = DispatchGroup()

    /// Prepares it; nothing is connected.
    ///
    /// - Parameters:
    ///   - channel: an identifier in small letters.
    ///   - heard: given what others sent, on the listener's thread.
    package init(
        _ configuration: PostgreSQLConfiguration, channel: String, logger: Logger,
        heard: @escaping @Sendable (Set<String>) -> Void
    ) throws(PostgreSQLError) {
        self.configuration = configuration
        self.channel = channel
        self.logger = logger
        self.heard = heard
        wakeUp = try WakeUp()
    }

    /// Begins to listen.
    package func start() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && !state.isClosing
        }
        guard isFirst else { return }
        thread.enter()
        let thread = Thread { [self] in
            run()
            self.thread.leave()
        }
        thread.name = "pg-listener"
        thread.start()
    }

    /// Tells other processes: letters, digits and `_`.
    package func notify(_ notice: String) {
        if state.withLock({ $0.notices.add(notice) }) { wakeUp.signal() }
    }

    /// Ends the thread and its connection. Waits for that. Idempotent.
    package func close() {
        state.withLock { $0.isClosing = true }
        wakeUp.signal()
        thread.wait()
    }

    private var isClosing: Bool { state.withLock { $0.isClosing } }

    /// The life of the thread.
    private func run() {
        let session = PostgreSQLSession(configuration, logger: logger)
        while !isClosing {
            do throws(PostgreSQLError) {
                try session.connect()
                try session.execute("LISTEN \(channel)")
                heard([Self.everything])
                while !isClosing { try turn(session) }
            } catch {
                session.close()
                logger.debug("The listener has no connection", metadata: ["error": "\(error)"])
                _ = wait(
                    for: [(wakeUp.descriptor, .readable)], until: Deadline(in: session.pause ?? .milliseconds(100)))
                wakeUp.clear()
            }
        }
        session.close()
    }

    /// Time between two looks at a connection on which nothing comes.
    private static let checkInterval: Duration = .seconds(10)

    /// Waits for something to hear or to tell, and does that.
    private func turn(_ session: PostgreSQLSession) throws(PostgreSQLError) {
        let connection = try session.connected()
        let delay = state.withLock { $0.notices.delay(at: .now) }
        let isReady = wait(
            for: [(connection.descriptor, .readable), (wakeUp.descriptor, .readable)],
            until: Deadline(in: delay ?? Self.checkInterval))
        wakeUp.clear()
        if !isReady, delay == nil { try session.execute("SELECT 1") }
        if let payload = state.withLock({ $0.notices.take(at: .now) }) {
            let statement = try session.statement("SELECT pg_notify($1, $2)")
            statement.bind(channel)
            statement.bind(payload)
            while try statement.next() {}
        }
        let notices = try connection.notifications().reduce(into: Set<String>()) {
            $0.formUnion(CoalescedNotices.notices(of: $1))
        }
        if !notices.isEmpty { heard(notices) }
    }
}
