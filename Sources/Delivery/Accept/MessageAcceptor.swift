import Metrics
public import PushModel
public import Store
import Synchronization

/// Takes messages in: checks the finished bytes, commits, wakes the workers.
///
/// Safe to share and to call from any number of requests at once; their commits join in the store.
public final class MessageAcceptor: Sendable {
    /// What a caller wants sent.
    public struct Submission: Sendable {
        /// The project.
        public var project: Project
        /// To whom.
        public var recipient: Recipient
        /// What.
        public var content: MessageContent

        /// To whom.
        public enum Recipient: Sendable {
            /// One active registration.
            case registration(Registration)
            /// A topic.
            case topic(Topic)
        }

        /// Puts a submission together.
        public init(project: Project, recipient: Recipient, content: MessageContent) {
            self.project = project
            self.recipient = recipient
            self.content = content
        }
    }

    /// Why a message was not accepted. Nothing was kept.
    public enum Refusal: Error, Sendable {
        /// The message breaks a rule.
        case invalid(InvalidMessage)
        /// Too much is queued; come back after this.
        case full(retryAfter: Duration)
        /// The gateway is stopping.
        case stopping
        /// The store failed.
        case store(StoreError)
    }

    /// When a caller that found no place should come back: long enough to settle thousands of deliveries.
    private static let retryAfter: Duration = .seconds(5)

    private let store: any MessageStore
    private let activeMessages: ActiveMessages
    private let wallTime: WallTime
    private let random: @Sendable () -> UInt64
    private let wake: @Sendable (Lane) -> Void
    private let isStopped = Atomic(false)
    private let accepted = Counter(label: MetricName.messagesAccepted.rawValue)

    /// Prepares an acceptor.
    ///
    /// - Parameters:
    ///   - activeMessages: the count of messages that are not complete and its limit, beyond which new ones are
    ///     refused; the same object as the runner's.
    ///   - random: 64 bits for each message id.
    ///   - wake: called after each commit.
    public init(
        store: any MessageStore, activeMessages: ActiveMessages, wallTime: @escaping WallTime,
        random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) },
        wake: @escaping @Sendable (Lane) -> Void
    ) {
        self.store = store
        self.activeMessages = activeMessages
        self.wallTime = wallTime
        self.random = random
        self.wake = wake
    }

    /// Checks a submission as ``accept(_:)`` would and keeps nothing (`validate_only`).
    ///
    /// - Returns: an id of the usual form that names no message.
    public func check(_ submission: Submission) throws(Refusal) -> MessageID {
        try counted { () throws(Refusal) in try prepare(submission).id }
    }

    /// Accepts a message: when this returns, it is committed.
    public func accept(_ submission: Submission) async throws(Refusal) -> Message {
        let new = try counted { () throws(Refusal) in try prepare(submission) }
        let result: Message?
        do throws(StoreError) {
            result = try await commit(new)
        } catch {
            throw count(.store(error))
        }
        guard let message = result else { throw count(.full(retryAfter: Self.retryAfter)) }
        accepted.increment()
        wake(message.lane)
        return message
    }

    /// Refuses everything from now on.
    public func stop() {
        isStopped.store(true, ordering: .releasing)
    }

    /// Commits a message if there is a place for it; `nil`: there is none.
    private func commit(_ new: NewMessage) async throws(StoreError) -> Message? {
        guard activeMessages.enter() else { return nil }
        defer { activeMessages.leave() }
        return try await store.accept(new)
    }

    private func counted<Value>(_ body: () throws(Refusal) -> Value) throws(Refusal) -> Value {
        do throws(Refusal) {
            return try body()
        } catch {
            throw count(error)
        }
    }

    private func count(_ refusal: Refusal) -> Refusal {
        Counter(label: MetricName.messagesRefused.rawValue, dimensions: [("reason", refusal.label)]).increment()
        return refusal
    }
}

extension MessageAcceptor.Refusal {
    /// The value of the metric label `reason`.
    fileprivate var label: String {
        switch self {
        case .invalid: "invalid"
        case .full: "full"
        case .stopping: "stopping"
        case .store: "store"
        }
    }
}

// MARK: - Building

extension MessageAcceptor {
    /// The message as the store takes it, after all checks.
    private func prepare(_ submission: Submission) throws(Refusal) -> NewMessage {
        guard !isStopped.load(ordering: .acquiring) else { throw .stopping }
        do throws(InvalidMessage) {
            return try build(submission)
        } catch {
            throw .invalid(error)
        }
    }

    private func build(_ submission: Submission) throws(InvalidMessage) -> NewMessage {
        let now = wallTime()
        let id = MessageID(acceptedAt: now, random: random())
        let life = Lifetime(of: submission.content, acceptedAt: now)
        let pushes = try build(submission, id: id, expiresAt: life.expiresAt)
        let recipient: NewMessage.Recipient =
            switch submission.recipient {
            case .registration(let registration): .registration(registration.key, registration.id)
            case .topic(let topic): .topic(topic)
            }
        return NewMessage(
            id: id, project: submission.project.id, recipient: recipient, content: submission.content,
            facts: facts(of: submission.content, pushes: pushes, life: life), acceptedAt: now,
            expiresAt: life.expiresAt)
    }

    /// The push of every app that the message may reach: each has its own bytes and so its own size.
    private func build(
        _ submission: Submission, id: MessageID, expiresAt: Timestamp
    ) throws(InvalidMessage) -> [ApplePush] {
        let project = submission.project
        var topic: Topic?
        if case .topic(let name) = submission.recipient { topic = name }
        var pushes: [ApplePush] = []
        for app in try apps(for: submission) {
            pushes.append(
                try ApplePush(
                    submission.content,
                    in: ApplePush.Context(
                        message: id, projectNumber: project.number, broadcastTopic: topic, app: app,
                        expiresAt: expiresAt)))
        }
        return pushes
    }

    private func apps(for submission: Submission) throws(InvalidMessage) -> [App] {
        let project = submission.project
        switch submission.recipient {
        case .registration(let registration):
            guard registration.project == project.id, let app = project.apps[registration.app] else {
                throw InvalidMessage(
                    "message.token",
                    "The registration belongs to the app \(registration.app), which project \(project.id) does not have."
                )
            }
            return [app]
        case .topic:
            guard !project.apps.isEmpty else {
                throw InvalidMessage("message.topic", "The project \(project.id) has no apps to send to.")
            }
            return project.apps.values.sorted { $0.id.rawValue < $1.id.rawValue }
        }
    }

    private func facts(of content: MessageContent, pushes: [ApplePush], life: Lifetime) -> MessageFacts {
        MessageFacts(
            label: content.label,
            isDisplayed: content.isDisplayed,
            collapseKey: pushes.first?.collapseID,
            priority: pushes.first?.priority.rawValue ?? APNSPriority.immediate.rawValue,
            timeToLiveSeconds: life.timeToLiveSeconds)
    }
}

extension InvalidMessage {
    /// One wrong field.
    fileprivate init(_ field: String, _ description: String) {
        self.init([FieldViolation(field: field, description: description)])
    }
}
