/// The deadlines of one loop: a binary heap of (time, owner).
///
/// An owner has one entry that counts, the earliest; it computes its next deadline when that one fires. Moving a
/// deadline later costs nothing, moving it earlier adds an entry, and the entry left behind is recognised by its time
/// and skipped. So a request costs no heap operation: the deadlines of a connection's streams are in order already.
struct Deadlines {
    private struct Entry {
        var time: Instant
        var owner: OwnerID
    }

    private var heap: [Entry] = []

    /// The earliest entry.
    var next: Instant? { heap.first?.time }

    mutating func add(_ time: Instant, owner: OwnerID) {
        heap.append(Entry(time: time, owner: owner))
        var index = heap.count - 1
        while index > 0, heap[index].time < heap[(index - 1) / 2].time {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Takes the earliest entry that is due.
    mutating func popDue(at now: Instant) -> (owner: OwnerID, time: Instant)? {
        guard let first = heap.first, first.time <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink()
        return (first.owner, first.time)
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
                if heap[child].time < heap[least].time { least = child }
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}

/// One owner's place in ``Deadlines``: when it will be woken.
struct Alarm {
    private(set) var armed: Instant?

    /// Whether an entry must be added to be woken at `time`; notes it.
    mutating func needsEntry(at time: Instant) -> Bool {
        if let armed, armed <= time { return false }
        armed = time
        return true
    }

    /// Whether the entry of `time` is the one that counts; forgets it then.
    mutating func fires(at time: Instant) -> Bool {
        guard armed == time else { return false }
        armed = nil
        return true
    }
}

/// Open streams in order of their deadlines, as a list threaded through the slot numbers: adding and removing are O(1)
/// and memory is bounded by the number of slots.
///
/// All streams of a connection have the same time limit, so the order of opening is the order of the deadlines.
struct StreamDeadlines {
    private struct Link {
        var deadline: Instant
        var previous: Int
        var next: Int
    }

    private var links: [Link] = []
    private var head = -1
    private var tail = -1

    /// The stream whose deadline is next.
    var first: (slot: Int, deadline: Instant)? {
        head < 0 ? nil : (head, links[head].deadline)
    }

    mutating func append(slot: Int, deadline: Instant) {
        while links.count <= slot { links.append(Link(deadline: deadline, previous: -1, next: -1)) }
        links[slot] = Link(deadline: deadline, previous: tail, next: -1)
        if tail >= 0 { links[tail].next = slot } else { head = slot }
        tail = slot
    }

    mutating func remove(slot: Int) {
        let link = links[slot]
        if link.previous >= 0 { links[link.previous].next = link.next } else { head = link.next }
        if link.next >= 0 { links[link.next].previous = link.previous } else { tail = link.previous }
    }
}

/// The owner of a deadline. Ids are never used twice in a loop, so a late event finds no owner instead of a wrong one.
enum OwnerID: Hashable, Sendable {
    case connection(ConnectionID)
    case pool(PoolID)
}

/// A connection's number within its loop; 0 is the loop's own eventfd.
struct ConnectionID: Hashable, Sendable {
    let value: UInt64
}

/// A pool's number within its engine.
struct PoolID: Hashable, Sendable {
    let value: Int
}
