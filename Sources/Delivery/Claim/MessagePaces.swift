import PushModel
import Store

/// How fast each message that is being fanned out may be claimed, and how fast it went lately.
struct MessagePaces {
    private struct Entry {
        var pace: Pace
        var meter = RateMeter()
    }

    /// Messages whose pace is kept while they are not offered, at most: with what is offered.
    private static let limit = 4096

    /// The most that one claim takes.
    private let page: Int
    private let nodes: LiveNodes
    private var entries: [MessageID: Entry] = [:]
    private var speed = SpeedMeter()

    init(page: Int, nodes: LiveNodes) {
        self.page = page
        self.nodes = nodes
    }

    /// Takes over what the store offers.
    ///
    /// - Parameter keepsOthers: whether messages that are not offered keep their pace. The store offers none that only has
    ///   shards for held routes; its pace goes on when it is back.
    mutating func offered(_ fanOuts: [OpenFanOut], keepsOthers: Bool, at now: Timestamp) {
        var kept: [MessageID: Entry] = [:]
        let count = nodes.count
        for fanOut in fanOuts where kept[fanOut.message] == nil {
            var entry =
                entries[fanOut.message] ?? Entry(pace: Pace(fanOut, page: page, nodes: count, at: now))
            entry.pace.refresh(fanOut, nodes: count)
            kept[fanOut.message] = entry
        }
        if keepsOthers {
            for (id, entry) in entries where kept[id] == nil && kept.count < Self.limit { kept[id] = entry }
        }
        entries = kept
    }

    /// How many recipients of a message may be claimed now; 0: none before ``ready(_:at:)``; `nil`: it is not offered.
    mutating func room(of message: MessageID, at now: Timestamp) -> Int? {
        entries[message]?.pace.room(page: page, at: now)
    }

    /// When the next claim of a message may come.
    func ready(_ message: MessageID, at now: Timestamp) -> Timestamp? {
        entries[message]?.pace.ready(page: page, at: now)
    }

    /// A claim takes `count` recipients of a message ahead.
    mutating func claimed(_ count: Int, of message: MessageID) {
        entries[message]?.pace.claimed(count)
    }

    /// A claim brought so many fewer than it took ahead.
    mutating func returned(_ count: Int, of message: MessageID) {
        entries[message]?.pace.returned(count)
    }

    /// A claim brought `count` recipients of a message.
    mutating func count(_ count: Int, of message: MessageID, at now: Timestamp) {
        // A pace says nothing about how fast the lane could be.
        if entries[message]?.pace.isLimited == false { speed.add(count, at: now) }
        entries[message]?.meter.add(count, at: now)
    }

    /// When a message will be claimed to its end: by its pace, or as fast as it went lately.
    func expectedEnd(of message: MessageID, at now: Timestamp) -> Timestamp? {
        guard let entry = entries[message] else { return nil }
        if let end = entry.pace.end(at: now) { return end }
        guard let rate = entry.meter.rate(at: now) ?? speed.rate else { return nil }
        return now + .seconds(Double(entry.pace.remaining) / rate)
    }

    /// Deliveries that are claimed in a second when nothing holds the claims up.
    var rate: Double? { speed.rate }

    /// The clock went back: the rates begin anew.
    mutating func forgetTimes() {
        for message in entries.keys { entries[message]?.meter = RateMeter() }
    }
}
