import PushModel
import Synchronization

/// What messages that are being delivered are about, for figures: topic and label, by message.
///
/// Noted when deliveries of a message are handed over, looked up when they are settled. Bounded: beyond `limit` the
/// message that was noted first goes, and what it still settles is counted for its app alone, unless more of it is
/// handed over. Messages without topic and label take no room.
final class MessageSubjects: Sendable {
    /// Of one message.
    struct Subject: Sendable {
        let topic: Topic?
        let label: AnalyticsLabel?
    }

    private struct State {
        var subjects: [MessageID: Subject] = [:]
        /// In the order in which they were noted; a ring once it is full.
        var order: [MessageID] = []
        var next = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Notes what a message is about.
    func note(_ message: Message, label: AnalyticsLabel?) {
        let topic = message.topic
        guard topic != nil || label != nil else { return }
        state.withLock { state in
            guard state.subjects.updateValue(Subject(topic: topic, label: label), forKey: message.id) == nil else {
                return
            }
            guard state.order.count == limit else { return state.order.append(message.id) }
            state.subjects[state.order[state.next]] = nil
            state.order[state.next] = message.id
            state.next = (state.next + 1) % limit
        }
    }

    /// What a message is about; `nil`: nothing, or it was displaced.
    func subject(of message: MessageID) -> Subject? {
        state.withLock { $0.subjects[message] }
    }
}
