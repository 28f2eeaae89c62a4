/// Parts a query into pairs, one at a time, on its bytes.
struct QueryReader {
    /// What a name in a query is.
    enum Name: Hashable {
        /// A parameter of links.
        case known(LinkParameter)
        /// One that Google's service or this one added to URLs of its own, or `d` and `ad`: it
        /// says something of the request and is no part of the link.
        case `internal`(String)
        /// Anything else.
        case unknown(String)
    }

    /// A name and where its value is.
    struct Pair {
        let name: Name
        fileprivate let value: Range<Int>
    }

    /// `d` asks for the debug page; `ad` is the old "is advertising" flag.
    static let debug = "d"
    static let advertising = "ad"
    private static let internalNames: Set<String> = [
        debug, advertising, "cid", "_osl", "_fpb", "_cpt", "_iumenbl", "_iumchkactval", "_plt", "_uit", "_cpb", "_imcp",
        "_icp", "huid",
    ]

    private let bytes: [UInt8]
    private var index = 0
    private var scratch: [UInt8] = []

    init(_ query: String) {
        bytes = Array(query.utf8)
    }

    /// The next pair that has a name.
    mutating func next() -> Pair? {
        while index < bytes.endIndex {
            let end = bytes[index...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.endIndex
            let equals = bytes[index..<end].firstIndex(of: UInt8(ascii: "=")) ?? end
            let name = bytes[index..<equals]
            index = end + 1
            if !name.isEmpty { return Pair(name: read(name), value: min(equals + 1, end)..<end) }
        }
        return nil
    }

    /// The value of a pair, decoded.
    mutating func value(of pair: Pair) -> String {
        PercentEncoding.decode(bytes[pair.value], scratch: &scratch)
    }

    private mutating func read(_ name: ArraySlice<UInt8>) -> Name {
        if let parameter = LinkParameter(name: name) { return .known(parameter) }
        // iOS' builder encodes all but letters and digits, in names too: `utm%5Fsource`.
        let text = PercentEncoding.decode(name, scratch: &scratch)
        if let parameter = LinkParameter(rawValue: text) { return .known(parameter) }
        return Self.internalNames.contains(text) ? .internal(text) : .unknown(text)
    }
}
