import PushModel
import Store

/// The order in which the rows of a chunk are taken: that of their FIDs, so that the index over these, which are random, is
/// walked once from its begin to its end. Rows of one chunk that may meet each other keep the order of the file, since
/// the first of them is taken and the others are compared with it.
struct ImportOrder {
    /// The rows by their places in the chunk.
    let places: [Int]
    /// Whether rows may meet each other, so that this order is to be kept.
    let isBinding: Bool

    init(_ rows: [ImportedRegistration]) {
        isBinding = Self.meet(rows)
        places = isBinding ? Array(rows.indices) : Self.byID(rows)
    }

    /// Whether two rows have a device, or a token without an FID in front, in common; FIDs in common stay in order anyway.
    private static func meet(_ rows: [ImportedRegistration]) -> Bool {
        var addresses: Set<[UInt8]> = []
        addresses.reserveCapacity(rows.count)
        var tokens: Set<String> = []
        for row in rows {
            guard let names = row.names, addresses.insert(row.address.identity).inserted else { return true }
            if case .whole(let token) = names.token, !tokens.insert(token).inserted { return true }
        }
        return false
    }

    /// By the first eight characters, which hold 48 random bits: what is equal in them is as near as it has to be.
    private static func byID(_ rows: [ImportedRegistration]) -> [Int] {
        let keys = rows.enumerated().map { place, row in
            let start = row.names?.id.rawValue.utf8.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } ?? 0
            return (start: start, place: place)
        }
        return keys.sorted { ($0.start, $0.place) < ($1.start, $1.place) }.map(\.place)
    }
}
