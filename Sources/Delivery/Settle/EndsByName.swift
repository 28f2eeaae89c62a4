import PushModel
import Store
import Synchronization

/// How deliveries ended, by app, topic and label: counted for runs of results that have app or message in common, not for
/// each push.
final class EndsByName: Sendable {
    private let names = Mutex<[NamedEnds.Kind: FrequentNames]>([:])

    /// Results of a run.
    private struct Run {
        let project: ProjectID
        let app: AppID
        let message: MessageID
        /// Since the app is the same.
        var ofApp = EndCounts()
        /// Since the message is the same, too.
        var ofMessage = EndCounts()
    }

    /// Counts recorded results; those of a page stand side by side.
    func count(_ settlements: [Settlement], subjects: MessageSubjects) {
        var run: Run?
        for place in settlements.indices {
            // By index: a copy of a settlement would retain all that it has.
            if run?.message != settlements[place].delivery.message
                || run?.app != settlements[place].delivery.registration.app
                || run?.project != settlements[place].delivery.project
            {
                let next = Run(
                    project: settlements[place].delivery.project,
                    app: settlements[place].delivery.registration.app, message: settlements[place].delivery.message)
                run = run.map { change($0, to: next, subjects) } ?? next
            }
            guard case .ended(let entry) = settlements[place].result else { continue }
            run?.ofMessage.add(entry.outcome)
        }
        if let run { end(run, subjects) }
    }

    /// Counts a message; the app goes on when it is the same.
    private func change(_ run: Run, to next: Run, _ subjects: MessageSubjects) -> Run {
        guard run.app == next.app, run.project == next.project else {
            end(run, subjects)
            return next
        }
        countMessage(run, subjects)
        var next = next
        next.ofApp = run.ofApp + run.ofMessage
        return next
    }

    private func end(_ run: Run, _ subjects: MessageSubjects) {
        countMessage(run, subjects)
        add(run.ofApp + run.ofMessage, .app, run.app.rawValue, run.project)
    }

    private func countMessage(_ run: Run, _ subjects: MessageSubjects) {
        guard let subject = subjects.subject(of: run.message) else { return }
        if let topic = subject.topic { add(run.ofMessage, .topic, topic.rawValue, run.project) }
        if let label = subject.label { add(run.ofMessage, .label, label.rawValue, run.project) }
    }

    private func add(_ counts: EndCounts, _ kind: NamedEnds.Kind, _ text: String, _ project: ProjectID) {
        names.withLock {
            $0[kind, default: FrequentNames()].add(counts, of: FrequentNames.Name(project: project, text: text))
        }
    }

    /// All counts.
    var ends: [NamedEnds] {
        let names = names.withLock { $0 }
        return NamedEnds.Kind.allCases.flatMap { names[$0]?.ends(of: $0) ?? [] }
    }
}

/// How many deliveries ended in each way.
struct EndCounts: Hashable, Sendable {
    /// In the order of `LedgerOutcome.allCases`.
    private var counts = SIMD4<Int>.zero

    init() {}

    /// The counts in the order of `LedgerOutcome.allCases`.
    init(_ accepted: Int, _ rejected: Int, _ expired: Int, _ cancelled: Int) {
        counts = SIMD4(accepted, rejected, expired, cancelled)
    }

    /// All of them.
    var sum: Int { counts.wrappedSum() }

    subscript(outcome: LedgerOutcome) -> Int { counts[Self.place(of: outcome)] }

    mutating func add(_ outcome: LedgerOutcome) { counts[Self.place(of: outcome)] += 1 }

    static func + (lhs: EndCounts, rhs: EndCounts) -> EndCounts {
        var sum = lhs
        sum.counts &+= rhs.counts
        return sum
    }

    private static func place(of outcome: LedgerOutcome) -> Int {
        switch outcome {
        case .accepted: 0
        case .rejected: 1
        case .expired: 2
        case .cancelled: 3
        }
    }
}
