import PushModel
import Store
import Synchronization

/// How deliveries ended, by app, topic and label: counted for a run of results of one message and app, not for each push.
final class EndsByName: Sendable {
    private let names = Mutex<[NamedEnds.Kind: FrequentNames]>([:])

    /// Counts recorded results; those of a page stand side by side.
    func count(_ settlements: [Settlement], subjects: MessageSubjects) {
        var place = 0
        while place < settlements.count {
            let message = settlements[place].delivery.message
            let app = settlements[place].delivery.registration.app
            let project = settlements[place].delivery.project
            var counts = [Int](repeating: 0, count: LedgerOutcome.allCases.count)
            repeat {
                if case .ended(let entry) = settlements[place].result { counts[Self.place(of: entry.outcome)] += 1 }
                place += 1
            } while place < settlements.count && settlements[place].delivery.message == message
                && settlements[place].delivery.registration.app == app
            let subject = subjects.subject(of: message)
            names.withLock { names in
                func add(_ kind: NamedEnds.Kind, _ text: String) {
                    names[kind, default: FrequentNames()].add(counts, of: .init(project: project, text: text))
                }
                add(.app, app.rawValue)
                if let topic = subject?.topic { add(.topic, topic.rawValue) }
                if let label = subject?.label { add(.label, label.rawValue) }
            }
        }
    }

    /// All counts.
    var ends: [NamedEnds] {
        let names = names.withLock { $0 }
        return NamedEnds.Kind.allCases.flatMap { names[$0]?.ends(of: $0) ?? [] }
    }

    /// The place of an outcome in `allCases`.
    private static func place(of outcome: LedgerOutcome) -> Int {
        switch outcome {
        case .accepted: 0
        case .rejected: 1
        case .expired: 2
        case .cancelled: 3
        }
    }
}
