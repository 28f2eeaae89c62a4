import PushModel

/// A partition of `ledger_block`: the blocks whose ids are in a range.
///
/// An id begins with a day: once a day the sequence is moved up to the first id of a partition, and goes on from there. So a
/// partition has the blocks of a day, about, and all statements go on to find blocks by their ids. Where the sequence is not
/// moved (no gateway looks after it, a clock steps back, a partition can't be made), blocks go on in the partition that it
/// is in: that one gets larger, and no block ever lacks its partition.
struct LedgerPartition: Hashable, Sendable {
    /// The table.
    let name: String
    /// The lowest id in it; `nil`: it has what was there before there were days, and what is copied from an embedded store.
    let first: Int64?
    /// The lowest id behind it.
    let end: Int64

    /// The bits of an id behind its day: more blocks than a day has. With the number of a day since 1970 in front of them
    /// an id has 51 bits, 53 from the year 2328 on.
    static let bits: Int64 = 36

    /// The lowest id of a day.
    ///
    /// - Parameter day: days since 1970.
    static func firstID(ofDay day: Int64) -> Int64 { day << bits }

    /// The day that an id begins with.
    static func day(ofID id: Int64) -> Int64 { id >> bits }

    /// The first day behind it.
    var endDay: Int64 { Self.day(ofID: end) }

    /// Its days; `nil`: it is the first one.
    var days: Range<Int64>? { first.map { Self.day(ofID: $0)..<endDay } }

    /// Describes a partition that there is.
    init(name: String, first: Int64?, end: Int64) {
        (self.name, self.first, self.end) = (name, first, end)
    }

    /// Describes the partition of some days, which is named by the first of them: `ledger_block_20261126`.
    init(days: Range<Int64>) {
        let date = Timestamp(milliseconds: days.lowerBound * 86_400_000).rfc3339.prefix(10)
        self.init(
            name: "ledger_block_" + date.filter { $0 != "-" }, first: Self.firstID(ofDay: days.lowerBound),
            end: Self.firstID(ofDay: days.upperBound))
    }
}
