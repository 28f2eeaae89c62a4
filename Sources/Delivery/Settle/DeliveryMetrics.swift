package import Metrics
import PushModel
import Store
import Synchronization

/// The runner's figures for operators. Labels come from small sets.
final class DeliveryMetrics: Sendable {
    private struct Key: Hashable {
        var metric: MetricName
        /// Whose devices it was for; `nil`: the store ended it without looking.
        var platform: Platform?
        var outcome: String
        var reason: String
    }

    /// Counters that were used, so that the factory is asked once for each.
    private let counters = Mutex<[Key: Counter]>([:])
    private let reasons = Mutex(RecentReasons())
    private let traffic = Mutex(UnwrittenTraffic())
    private let latency: CountedHistogram
    private let inFlightGauges: [Lane: Gauge]
    private let backlogGauges: [Lane: Gauge]

    private let correctedEnvironments: Counter
    private let quarantines: Counter

    private let labels: ReasonLabels
    /// Topics and labels of what is in flight.
    let subjects: MessageSubjects
    private let names = EndsByName()
    private let factory: any MetricsFactory

    /// - Parameter factory: where the figures go.
    init(inFlightLimit: Int, refusals: RefusalCatalog, factory: any MetricsFactory = MetricsSystem.factory) {
        labels = ReasonLabels(catalog: refusals)
        self.factory = factory
        // Both lanes may be full of messages to one registration each.
        subjects = MessageSubjects(limit: 2 * inFlightLimit)
        latency = CountedHistogram(MetricName.deliveryLatency, factory: factory)
        correctedEnvironments = Counter(label: MetricName.correctedEnvironments.rawValue, factory: factory)
        quarantines = Counter(label: MetricName.quarantines.rawValue, factory: factory)
        func gauges(_ name: MetricName) -> [Lane: Gauge] {
            Dictionary(
                uniqueKeysWithValues: Lane.allCases.map {
                    ($0, Gauge(label: name.rawValue, dimensions: [("lane", $0.rawValue)], factory: factory))
                })
        }
        inFlightGauges = gauges(.inFlight)
        backlogGauges = gauges(.backlog)
        for gauge in gauges(.inFlightLimit).values { gauge.record(inFlightLimit) }
    }

    /// Pushes in flight in a lane.
    func inFlight(_ count: Int, in lane: Lane) {
        inFlightGauges[lane]?.record(count)
    }

    /// Deliveries in the store that have not ended.
    func backlog(_ counts: [Lane: Int]) {
        for lane in Lane.allCases { backlogGauges[lane]?.record(counts[lane] ?? 0) }
    }

    /// Counts attempts that ended.
    func count(_ attempts: AttemptCounts) {
        for (platform, count) in attempts.accepted.used {
            let key = Key(
                metric: .attempts, platform: platform, outcome: Outcome.accepted.metricLabel, reason: "")
            counter(key).increment(by: count)
        }
        for (kind, count) in attempts.others {
            let key = Key(
                metric: .attempts, platform: kind.platform, outcome: kind.outcome.metricLabel,
                reason: kind.outcome.reasonLabel)
            counter(key).increment(by: count)
        }
    }

    /// Counts a recorded batch.
    func count(_ settlements: [Settlement]) {
        var accepted = PlatformCounts()
        var others: [Key: Int] = [:]
        var latencies: [Int64: Int] = [:]
        var tally = TrafficTally()
        for place in settlements.indices {
            guard case .ended(let entry) = settlements[place].result else { continue }
            tally.add(settlements[place].delivery.project, entry.outcome, at: entry.time)
            let platform = settlements[place].delivery.registration.channel.platform
            if case .accepted = entry.outcome {
                accepted[platform] += 1
                latencies[entry.latencyMilliseconds, default: 0] += 1
            } else {
                let key = Key(
                    metric: .deliveries, platform: platform, outcome: entry.outcome.rawValue,
                    reason: labels.label(of: entry.reason))
                others[key, default: 0] += 1
            }
        }
        for (platform, count) in accepted.used {
            let key = Key(
                metric: .deliveries, platform: platform, outcome: LedgerOutcome.accepted.rawValue, reason: "")
            others[key] = count
        }
        for (key, count) in others { counter(key).increment(by: count) }
        for (milliseconds, count) in latencies { latency.record(Double(milliseconds) / 1000, times: count) }
        traffic.withLock { traffic in
            for run in tally.runs { traffic.add(run.project, run.outcome, run.count, at: run.time) }
        }
        note(settlements)
        names.count(settlements, subjects: subjects)
    }

    /// How many deliveries ended how, by app, topic and label.
    var endsByName: [NamedEnds] { names.ends }

    /// Counts what the store ended by itself.
    func count(_ ends: [StoreEnds], at now: Timestamp) {
        for end in ends {
            let label = labels.label(of: end.reason)
            counter(Key(metric: .deliveries, outcome: end.outcome.rawValue, reason: label)).increment(by: end.count)
            reasons.withLock { $0.count(end.project, end.outcome, label, at: now, times: end.count) }
            traffic.withLock { $0.add(end.project, end.outcome, end.count, at: now) }
        }
    }

    /// Why deliveries of a project ended within the last hour that were not accepted.
    func recentReasons(of project: ProjectID, at now: Timestamp) -> [ReasonCount] {
        reasons.withLock { $0.counts(of: project, at: now) }
    }

    /// How deliveries of a project ended that the store was not told yet.
    func unwrittenTraffic(of project: ProjectID, _ span: TrafficSpan) -> [TrafficCount] {
        traffic.withLock { $0.counts(of: project, span) }
    }

    /// See ``UnwrittenTraffic/beginWriting(at:)``.
    func beginWritingTraffic(at now: Timestamp) -> [TrafficCount] {
        traffic.withLock { $0.beginWriting(at: now) }
    }

    /// See ``UnwrittenTraffic/endWriting(isWritten:)``.
    func endWritingTraffic(isWritten: Bool) {
        traffic.withLock { $0.endWriting(isWritten: isWritten) }
    }

    /// Notes for the last hour's reasons what of a batch was not accepted.
    private func note(_ settlements: [Settlement]) {
        let failed = settlements.indices.filter { settlements[$0].result.failure != nil }
        guard !failed.isEmpty else { return }
        reasons.withLock { reasons in
            for place in failed {
                guard let entry = settlements[place].result.failure else { continue }
                reasons.count(
                    settlements[place].delivery.project, entry.outcome, labels.label(of: entry.reason), at: entry.time)
            }
        }
    }

    /// Counts what a recorded batch taught about registrations.
    func count(_ verdicts: VerdictCounts) {
        let corrected = verdicts.total(\.corrected)
        if corrected > 0 { correctedEnvironments.increment(by: corrected) }
        let quarantined = verdicts.total(\.quarantined)
        if quarantined > 0 { quarantines.increment(by: quarantined) }
    }

    private func counter(_ key: Key) -> Counter {
        counters.withLock { counters in
            if let counter = counters[key] { return counter }
            let counter = Counter(
                label: key.metric.rawValue,
                dimensions: [
                    ("platform", key.platform?.rawValue ?? ""), ("outcome", key.outcome), ("reason", key.reason),
                ], factory: factory)
            counters[key] = counter
            return counter
        }
    }
}

/// A number for each platform: what is counted for each push looks nothing up in a table.
struct PlatformCounts {
    private var (apple, android, web) = (0, 0, 0)

    /// The number of a platform.
    subscript(platform: Platform) -> Int {
        get {
            switch platform {
            case .apple: apple
            case .android: android
            case .web: web
            }
        }
        set {
            switch platform {
            case .apple: apple = newValue
            case .android: android = newValue
            case .web: web = newValue
            }
        }
    }

    /// Those that are not 0.
    var used: [(platform: Platform, count: Int)] {
        Platform.allCases.map { ($0, self[$0]) }.filter { $0.1 > 0 }
    }
}

/// Attempts that ended, by platform and outcome.
struct AttemptCounts {
    /// What was not accepted, and where.
    struct Kind: Hashable {
        let platform: Platform
        let outcome: Outcome
    }

    /// Those that were accepted: nearly all.
    private(set) var accepted = PlatformCounts()
    /// The others.
    private(set) var others: [Kind: Int] = [:]

    /// Counts an attempt.
    mutating func add(_ outcome: Outcome, on platform: Platform) {
        if case .accepted = outcome {
            accepted[platform] += 1
        } else {
            others[Kind(platform: platform, outcome: outcome), default: 0] += 1
        }
    }
}

/// A recorder that takes the same value many times at once, which the metrics API has no word for.
package protocol CountedRecorder: RecorderHandler {
    /// Records `value` `count` times.
    func record(_ value: Double, times count: Int)
}

/// A histogram that is written in batches where the backend can.
struct CountedHistogram: Sendable {
    // The handler itself: a Recorder does not show it. It lives as long as the gateway.
    private let recorder: any RecorderHandler

    init(_ name: MetricName, factory: any MetricsFactory) {
        recorder = factory.makeRecorder(label: name.rawValue, dimensions: [], aggregate: true)
    }

    /// Records `value` `count` times.
    func record(_ value: Double, times count: Int) {
        if let counted = recorder as? any CountedRecorder {
            counted.record(value, times: count)
        } else {
            for _ in 0..<count { recorder.record(value) }
        }
    }
}
