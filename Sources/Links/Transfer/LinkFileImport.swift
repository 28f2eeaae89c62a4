package import Store

/// Takes over the links of a file, in windows of rows: a window is read and judged, ordered by suffix and written, some
/// thousands of links in a transaction, while the next one is read. What is there already, the same, stays; so a file can be
/// imported twice.
///
/// Suffixes are random, so rows as they come change a page of their index each once there are millions; ordered, many
/// share one. The larger the window, the more: it doubles up to ``windowLimit``.
package struct LinkFileImport {
    /// What became of the rows so far.
    package struct Summary: Hashable, Sendable {
        /// Links that were made.
        package var created = 0
        /// Links that were there, the same.
        package var unchanged = 0
        /// Rows that were refused, those whose suffix belongs to another link among them.
        package var refused = 0
        /// Rows in all.
        package var rows: Int { created + unchanged + refused }

        /// Nothing yet.
        package init() {}
    }

    private enum Parsed: Sendable {
        case link(NewLink, line: Int)
        case refusal(LinkRefusal)
    }

    /// Rows that are judged and not written yet.
    private struct Window {
        var links: [NewLink] = []
        /// The line of each link.
        var lines: [Int] = []
        var refusals: [LinkRefusal] = []

        var count: Int { links.count + refusals.count }

        mutating func add(_ row: Parsed) {
            switch row {
            case .link(let link, let line):
                links.append(link)
                lines.append(line)
            case .refusal(let refusal): refusals.append(refusal)
            }
        }
    }

    /// Rows that are read and judged at a time, and the most of a transaction.
    private static let batchRows = 16_384
    /// Rows of the first window, and of the largest: nearly a kilobyte of memory each, of two windows.
    private static let (windowStart, windowLimit) = (1 << 15, 1 << 17)

    private let store: any LinkStore
    private let rows: LinkRowReader
    /// How transactions share the writer with a gateway beside this process.
    private let pace: () -> ImportPace
    private let pause: (Duration) async throws -> Void

    /// - Parameter pause: waits; the rest is for a process that does not tell when it wants to write.
    package init(
        store: any LinkStore, rows: LinkRowReader, pace: @escaping () -> ImportPace,
        pause: @escaping (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.store = store
        self.rows = rows
        self.pace = pace
        self.pause = pause
    }

    /// Takes what the reader has from where it stands.
    ///
    /// - Parameters:
    ///   - refuse: called for each row that is not taken, in the order of the file.
    ///   - progress: called after each transaction.
    /// - Throws: the errors of the reader, after the rows before them were taken; those of the store, `refuse` and `pause`: the
    ///   rows of earlier transactions are taken then, and what is known of the others was refused.
    package func run(
        _ reader: inout CSVReader, refuse: (LinkRefusal) throws -> Void, progress: (Summary) -> Void
    ) async throws -> Summary {
        var (summary, size, limit) = (Summary(), 2000, Self.windowStart)
        var following = Window()
        var end: Result<Void, any Error>?
        while true {
            while end == nil, following.count < limit { end = await read(&reader, into: &following) }
            var window = following
            following = Window()
            guard window.count > 0 else {
                try end?.get()
                return summary
            }
            summary.refused += window.refusals.count
            do {
                try await write(&window, &size, &summary, progress) {
                    guard end == nil, following.count < Self.windowLimit else { return }
                    end = await read(&reader, into: &following)
                }
            } catch {
                for refusal in window.refusals.inOrder { try refuse(refusal) }
                throw error
            }
            for refusal in window.refusals.inOrder { try refuse(refusal) }
            limit = min(Self.windowLimit, 2 * limit)
        }
    }

    /// Reads and judges the next rows.
    ///
    /// - Returns: what became of the reader at its end; `nil`: it goes on.
    private func read(_ reader: inout CSVReader, into window: inout Window) async -> Result<Void, any Error>? {
        var records: [CSVRecord] = []
        var end: Result<Void, any Error>?
        while records.count < Self.batchRows, end == nil {
            do {
                if let record = try reader.next() { records.append(record) } else { end = .success(()) }
            } catch {
                end = .failure(error)
            }
        }
        for row in await Self.parse(records, rows) { window.add(row) }
        return end
    }

    /// Writes the links of a window, those with neighbouring suffixes in one transaction.
    ///
    /// - Parameter meanwhile: called with each transaction, beside it.
    private func write(
        _ window: inout Window, _ size: inout Int, _ summary: inout Summary, _ progress: (Summary) -> Void,
        meanwhile: () async -> Void
    ) async throws {
        let store = store
        var rest = NewLink.orderBySuffix(window.links)[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(size)
            rest = rest.dropFirst(chunk.count)
            let links = chunk.map { window.links[$0] }
            async let written = Self.write(links, to: store)
            await meanwhile()
            let (results, took) = try await written
            for (index, result) in zip(chunk, results) {
                switch result {
                case .created: summary.created += 1
                case .unchanged: summary.unchanged += 1
                case .taken:
                    summary.refused += 1
                    window.refusals.append(.taken(window.links[index], line: window.lines[index]))
                }
            }
            progress(summary)
            // A gateway may start or end meanwhile.
            let pace = pace()
            size = pace.size(after: size, took: took, limit: Self.batchRows)
            if pace.rest > .zero { try await pause(pace.rest) }
        }
    }

    private static func write(
        _ links: [NewLink], to store: any LinkStore
    ) async throws -> (results: [LinkImport], took: Duration) {
        let clock = ContinuousClock()
        let began = clock.now
        let results = try await store.importLinks(links)
        return (results, clock.now - began)
    }

    /// Judges rows in parts beside each other; the order stays.
    private static func parse(_ records: [CSVRecord], _ rows: LinkRowReader) async -> [Parsed] {
        let part = max(1, (records.count + 3) / 4)
        return await withTaskGroup(of: (Int, [Parsed]).self) { group in
            for start in stride(from: 0, to: records.count, by: part) {
                let records = records[start..<min(start + part, records.count)]
                group.addTask {
                    let parsed = records.map { record -> Parsed in
                        do throws(LinkRefusal) {
                            return .link(try rows.link(record), line: record.line)
                        } catch {
                            return .refusal(error)
                        }
                    }
                    return (start, parsed)
                }
            }
            var parts: [(Int, [Parsed])] = []
            for await part in group { parts.append(part) }
            return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }
}

extension LinkRefusal {
    /// The refusal of a link whose suffix is given already.
    fileprivate static func taken(_ link: NewLink, line: Int) -> LinkRefusal {
        let key = LinkKey(prefix: link.prefix, suffix: link.suffixes[0])
        return LinkRefusal(
            line: line, column: LinkColumn.shortLink.title, shortLink: key.name,
            reason: "the suffix '\(key.suffix)' belongs to another link; a deleted one keeps its own too")
    }
}

extension [LinkRefusal] {
    /// By the lines of the file.
    fileprivate var inOrder: [LinkRefusal] { sorted { $0.line < $1.line } }
}
