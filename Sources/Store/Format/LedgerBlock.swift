/// Ledger entries of one message, packed into one value of a column: how some of its deliveries ended. Or those of several
/// messages to one registration each, which ended in one step.
///
/// The layout: version, number of entries, reasons, newest end, origin, entries in the order of registration keys,
/// checksum. Of an entry come the distance of its key from the one before, a byte of flags, how long before the newest
/// end it ended, and only what is not usual: a reason, attempts other than one, unknown attempts, a latency that does
/// not count from the origin (the accept of the message), the push service's own id. An accepted delivery of a broadcast
/// takes 3 to 6 bytes where the service gives no id.
/// Project, FID, app and apns-id are not in it: message and registration say them. Entries of several messages are in the
/// order of these; an accepted one takes 7 to 10 bytes: the distance of its message from the one before, and that of its
/// key, which may be negative, come first.
package struct LedgerBlock: Equatable {
    /// How one delivery ended.
    package struct Entry: Equatable {
        /// The registration's key: positive.
        package var key: Int64
        /// Milliseconds since 1970.
        package var endedAt: Int64
        /// From accept to the end.
        package var latencyMilliseconds: Int64
        package var attempts: UInt32
        package var unknownAttempts: UInt32
        /// Which of the block's reasons; ``noReason``: none.
        package var reason: Int32
        /// Which of the block's ids; ``noID``: the push service gave none.
        package var upstreamID: Int32
        package var outcome: LedgerOutcome

        package static let noReason: Int32 = -1
        package static let noID: Int32 = -1

        /// Puts an entry together.
        package init(
            key: Int64, endedAt: Int64, latencyMilliseconds: Int64, attempts: UInt32, unknownAttempts: UInt32,
            reason: Int32, upstreamID: Int32 = Entry.noID, outcome: LedgerOutcome
        ) {
            self.upstreamID = upstreamID
            self.key = key
            self.endedAt = endedAt
            self.latencyMilliseconds = latencyMilliseconds
            self.attempts = attempts
            self.unknownAttempts = unknownAttempts
            self.reason = reason
            self.outcome = outcome
        }
    }

    /// In the order of their keys, each key once; of several messages in the order of ``messages``.
    package var entries: [Entry]
    /// The message of each entry, in ascending order; empty: all are of one message.
    package var messages: [Int64]
    /// What the entries' reasons count.
    package var reasons: [String]
    /// The push service's own ids, which entries count.
    package var ids: [String]

    /// Puts a block together.
    package init(entries: [Entry], reasons: [String], ids: [String] = [], messages: [Int64] = []) {
        self.ids = ids
        self.entries = entries
        self.messages = messages
        self.reasons = reasons
    }

    /// The text of an entry's reason.
    package func reason(of entry: Entry) -> String? {
        entry.reason < 0 ? nil : reasons[Int(entry.reason)]
    }

    /// The push service's own id of an entry's push.
    package func upstreamID(of entry: Entry) -> String? {
        entry.upstreamID < 0 ? nil : ids[Int(entry.upstreamID)]
    }

    /// Where the entry of a registration stands, in a block of one message.
    package func index(of key: Int64) -> Int? {
        Self.index(of: key, count: entries.count) { entries[$0].key }
    }

    /// Where the entry of a message stands, in a block of several.
    package func index(ofMessage message: Int64) -> Int? {
        Self.index(of: message, count: messages.count) { messages[$0] }
    }

    private static func index(of value: Int64, count: Int, at place: (Int) -> Int64) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if place(middle) < value { low = middle + 1 } else { high = middle }
        }
        return low < count && place(low) == value ? low : nil
    }

    /// The bit of an outcome in the column `outcomes`.
    package static func bit(of outcome: LedgerOutcome) -> Int64 { 1 << Int64(code(of: outcome)) }

    private static let version: UInt8 = 1
    private static let versionOfSeveral: UInt8 = 2
    private static let checksumBytes = 4

    private enum Flag {
        static let outcome: UInt8 = 0b11
        static let reason: UInt8 = 1 << 2
        static let attempts: UInt8 = 1 << 3
        static let unknownAttempts: UInt8 = 1 << 4
        static let latency: UInt8 = 1 << 5
        static let upstreamID: UInt8 = 1 << 6
        static let unused: UInt8 = 0b1000_0000
    }

    @inline(__always)
    private static func code(of outcome: LedgerOutcome) -> UInt8 {
        switch outcome {
        case .accepted: 0
        case .rejected: 1
        case .expired: 2
        case .cancelled: 3
        }
    }

    @inline(__always)
    private static func outcome(code: UInt8) -> LedgerOutcome {
        switch code & Flag.outcome {
        case 0: .accepted
        case 1: .rejected
        case 2: .expired
        default: .cancelled
        }
    }
}

extension LedgerBlock {
    /// Packs entries, which are in the order of their keys.
    ///
    /// - Parameters:
    ///   - reasons: what the entries' reasons count; those that no entry has are left out.
    ///   - ids: what the entries' ids count.
    ///   - messages: the message of each entry, as many as there are entries, which are in the order of these then; `nil`: all
    ///     are of one.
    /// - Throws: `.failed` when a key or message stands twice, is not positive or not in order, or when more attempts are
    ///   unknown than were made.
    package static func encode(
        _ entries: ArraySlice<Entry>, reasons: [String], ids: [String] = [], messages: ArraySlice<Int64>? = nil
    ) throws -> [UInt8] {
        var writer = PackedWriter(reserving: 48 + entries.count * 12)
        writer.put(byte: messages == nil ? version : versionOfSeveral)
        writer.put(UInt64(entries.count))
        let places = put(reasons, of: entries, in: &writer)
        let newest = entries.reduce(Int64.min) { max($0, $1.endedAt) }
        let origin = entries.first.map { $0.endedAt &- $0.latencyMilliseconds } ?? newest
        writer.put(signed: newest)
        writer.put(signed: newest &- origin)
        var (last, lastKey): (Int64, Int64) = (0, 0)
        for (place, entry) in entries.enumerated() {
            let order = messages.map { $0[$0.startIndex + place] } ?? entry.key
            guard order > last, entry.key > 0, entry.unknownAttempts <= entry.attempts else {
                throw StoreError.invalid("a delivery that ended twice, or with attempts that can't be")
            }
            writer.put(UInt64(order - last))
            if messages != nil { writer.put(signed: entry.key - lastKey) }
            (last, lastKey) = (order, entry.key)
            put(entry, newest, origin, places, in: &writer)
            if entry.upstreamID >= 0 { writer.put(text: ids[Int(entry.upstreamID)]) }
        }
        let sum = checksum(writer.bytes, upTo: writer.bytes.count)
        for shift in [0, 8, 16, 24] as [UInt32] { writer.put(byte: UInt8(truncatingIfNeeded: sum >> shift)) }
        return writer.bytes
    }

    @inline(__always)
    private static func put(
        _ entry: Entry, _ newest: Int64, _ origin: Int64, _ places: [Int32], in writer: inout PackedWriter
    ) {
        let hasLatency = entry.latencyMilliseconds != entry.endedAt &- origin
        var flags = code(of: entry.outcome)
        if entry.reason >= 0 { flags |= Flag.reason }
        if entry.attempts != 1 { flags |= Flag.attempts }
        if entry.unknownAttempts != 0 { flags |= Flag.unknownAttempts }
        if hasLatency { flags |= Flag.latency }
        if entry.upstreamID >= 0 { flags |= Flag.upstreamID }
        writer.put(byte: flags)
        writer.put(UInt64(bitPattern: newest &- entry.endedAt))
        if entry.reason >= 0 { writer.put(UInt64(places[Int(entry.reason)])) }
        if entry.attempts != 1 { writer.put(UInt64(entry.attempts)) }
        if entry.unknownAttempts != 0 { writer.put(UInt64(entry.unknownAttempts)) }
        if hasLatency { writer.put(signed: entry.latencyMilliseconds) }
    }

    /// Writes the reasons that entries have.
    ///
    /// - Returns: the place of each reason in what was written.
    private static func put(
        _ reasons: [String], of entries: ArraySlice<Entry>, in writer: inout PackedWriter
    ) -> [Int32] {
        var places = [Int32](repeating: Entry.noReason, count: reasons.count)
        var used: [Int] = []
        if !reasons.isEmpty {
            for entry in entries where entry.reason >= 0 && places[Int(entry.reason)] < 0 {
                places[Int(entry.reason)] = Int32(used.count)
                used.append(Int(entry.reason))
            }
        }
        writer.put(UInt64(used.count))
        for place in used { writer.put(text: reasons[place]) }
        return places
    }

    /// Reads what ``encode(_:reasons:)`` wrote.
    ///
    /// - Throws: ``PackedReader/Damage`` for any other bytes.
    package init(decoding bytes: [UInt8]) throws(PackedReader.Damage) {
        let end = bytes.count - Self.checksumBytes
        guard end > 0, Self.checksum(bytes, upTo: end) == Self.storedChecksum(bytes, at: end) else {
            throw PackedReader.Damage()
        }
        var reader = PackedReader(bytes, upTo: end)
        let version = try reader.byte()
        guard version == Self.version || version == Self.versionOfSeveral else { throw PackedReader.Damage() }
        let count = try reader.count(ofAtLeast: 3)
        let reasonCount = try reader.count(ofAtLeast: 1)
        reasons = []
        for _ in 0..<reasonCount { reasons.append(try reader.text()) }
        let newest = try reader.signed()
        let origin = newest &- (try reader.signed())
        entries = []
        entries.reserveCapacity(count)
        messages = []
        ids = []
        var last: Int64 = 0
        var key: Int64 = 0
        for _ in 0..<count {
            last = try reader.key(after: last)
            if version == Self.version {
                key = last
            } else {
                messages.append(last)
                key &+= try reader.signed()
                guard key > 0 else { throw PackedReader.Damage() }
            }
            entries.append(try Self.entry(key: key, newest, origin, reasonCount, &ids, &reader))
        }
        guard count > 0, reader.remaining == 0 else { throw PackedReader.Damage() }
    }

    @inline(__always)
    private static func entry(
        key: Int64, _ newest: Int64, _ origin: Int64, _ reasonCount: Int, _ ids: inout [String],
        _ reader: inout PackedReader
    ) throws(PackedReader.Damage) -> Entry {
        let flags = try reader.byte()
        guard flags & Flag.unused == 0 else { throw PackedReader.Damage() }
        let endedAt = newest &- Int64(bitPattern: try reader.number())
        var entry = Entry(
            key: key, endedAt: endedAt, latencyMilliseconds: endedAt &- origin, attempts: 1, unknownAttempts: 0,
            reason: Entry.noReason, outcome: outcome(code: flags))
        if flags & Flag.reason != 0 {
            guard let place = Int32(exactly: try reader.number()), place < reasonCount else {
                throw PackedReader.Damage()
            }
            entry.reason = place
        }
        if flags & Flag.attempts != 0 { entry.attempts = try small(&reader) }
        if flags & Flag.unknownAttempts != 0 { entry.unknownAttempts = try small(&reader) }
        if flags & Flag.latency != 0 { entry.latencyMilliseconds = try reader.signed() }
        if flags & Flag.upstreamID != 0 {
            entry.upstreamID = Int32(ids.count)
            ids.append(try reader.text())
        }
        guard entry.unknownAttempts <= entry.attempts else { throw PackedReader.Damage() }
        return entry
    }

    private static func small(_ reader: inout PackedReader) throws(PackedReader.Damage) -> UInt32 {
        guard let value = UInt32(exactly: try reader.number()) else { throw PackedReader.Damage() }
        return value
    }

    /// FNV-1a: a change of any one byte is always seen.
    private static func checksum(_ bytes: [UInt8], upTo end: Int) -> UInt32 {
        var sum: UInt32 = 0x811c_9dc5
        for byte in bytes[..<end] { sum = (sum ^ UInt32(byte)) &* 0x0100_0193 }
        return sum
    }

    private static func storedChecksum(_ bytes: [UInt8], at place: Int) -> UInt32 {
        (0..<checksumBytes).reduce(0) { $0 | UInt32(bytes[place + $1]) << UInt32(8 * $1) }
    }
}

extension PackedReader {
    /// The key that follows `last`: greater, by a distance that stands next.
    @inline(__always)
    package mutating func key(after last: Int64) throws(Damage) -> Int64 {
        let distance = try number()
        guard distance > 0, distance <= UInt64(Int64.max - last) else { throw Damage() }
        return last + Int64(distance)
    }
}
