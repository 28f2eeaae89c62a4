/// The limits of queues and batches (`limits.*` of the configuration).
package struct DeliveryLimits: Sendable {
    /// Messages that may wait: accepted and not complete. Beyond it, and beyond the limits below, new ones are refused
    /// with 429.
    package var messagesWaiting = 100_000
    /// Bytes of the messages that may wait, their lists of recipients included.
    package var bytesWaiting = 1 << 30
    /// Messages of one project that may wait; `nil`: as many as of all.
    package var projectMessagesWaiting: Int?
    /// Bytes of one project's messages that may wait; `nil`: as many as of all.
    package var projectBytesWaiting: Int?
    /// Recipients claimed in one step of a fan-out.
    package var pageSize = 1000
    /// Pushes handed to the upstream and not yet settled, for each lane. Each takes about a kilobyte of memory.
    package var inFlight = 20_000
    /// How long a stopping gateway waits for answers. What has none by then is ended by the sender and recorded, within
    /// a few seconds more.
    package var shutdown: Duration = .seconds(20)
    /// How long results of single sends may wait for others, to share a transaction with them, while a caller waits for an
    /// outcome; otherwise four times as long. Those of pages wait up to eight times as long. 0: not at all.
    package var gathering: Duration = .zero
    /// The time between two notes of routes that are held, at least: a hold that comes and goes many times a second fills
    /// no table. 0: none.
    package var noticeRest: Duration = .zero

    /// The defaults.
    package init() {}

    /// The smallest of the limits that results hold places of until they are recorded.
    var roomToGather: Int {
        min(inFlight, messagesWaiting, projectMessagesWaiting ?? .max)
    }

    /// A single send goes out as soon as one place is free.
    var interactiveLane: LaneSize {
        LaneSize(inFlight: inFlight, claim: pageSize, leastRoom: 1, claims: 4)
    }

    /// A fan-out waits until a whole page finds room, or a quarter of a limit that is smaller than four pages.
    /// Single sends that go out with their accept leave half of the lane to pages, which wait for more room than they do.
    var bulkLane: LaneSize {
        LaneSize(
            inFlight: inFlight, claim: pageSize, leastRoom: min(pageSize, inFlight / 4), claims: 3, direct: inFlight / 2
        )
    }
}

/// The limits of what may wait.
package enum WaitingLimit: String, Hashable, Sendable, CaseIterable {
    /// ``DeliveryLimits/messagesWaiting``.
    case messages
    /// ``DeliveryLimits/bytesWaiting``.
    case bytes
    /// ``DeliveryLimits/projectMessagesWaiting``.
    case projectMessages
    /// ``DeliveryLimits/projectBytesWaiting``.
    case projectBytes
}
