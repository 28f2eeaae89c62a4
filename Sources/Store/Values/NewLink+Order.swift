extension NewLink {
    /// Where one of some links stands among them, and what it is ordered by: numbers, compared without a look at the link.
    private struct Place {
        let prefix: Int
        /// The first eight bytes of the suffix.
        let beginning: UInt64
        let index: Int

        init(_ link: NewLink, prefix: Int, index: Int) {
            var beginning: UInt64 = 0
            var shift: UInt64 = 64
            for byte in (link.suffixes.first ?? "").utf8.prefix(8) {
                shift -= 8
                beginning |= UInt64(byte) << shift
            }
            (self.prefix, self.beginning, self.index) = (prefix, beginning, index)
        }
    }

    /// The places of links in the order in which they should be made: those with neighbouring suffixes after each other, so
    /// that a page of an index of suffixes is changed once for many of them, and those of one suffix as they stand.
    package static func orderBySuffix(_ links: [NewLink]) -> [Int] {
        var prefixes: [String: Int] = [:]
        var last: (name: String, number: Int)?
        let places = links.indices.map { index in
            let name = links[index].prefix
            if name != last?.name {
                let number = prefixes[name] ?? prefixes.count
                prefixes[name] = number
                last = (name, number)
            }
            return Place(links[index], prefix: last?.number ?? 0, index: index)
        }
        return places.sorted { ($0.prefix, $0.beginning, $0.index) < ($1.prefix, $1.beginning, $1.index) }.map(\.index)
    }
}
