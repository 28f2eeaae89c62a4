package import Store

/// Takes over the links of a file, some thousands in a transaction: the next rows are read and judged while one is
/// written. What is there already, the same, stays; so a file can be imported twice.
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

    /// Rows of a batch: it is in memory twice at a time. A transaction has at most one.
    private static let batchRows = 16_384

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
    /// - Throws: the errors of the reader, the store, `refuse` and `pause`. The rows of earlier transactions are taken.
    package func run(
        _ reader: inout CSVReader, refuse: (LinkRefusal) throws -> Void, progress: (Summary) -> Void
    ) async throws -> Summary {
        var (summary, size) = (Summary(), 2000)
        let (clock, rows) = (ContinuousClock(), rows)
        var parsed = await Self.parse(try Self.next(&reader), rows)
        while !parsed.isEmpty {
            let records = try Self.next(&reader)
            async let following = Self.parse(records, rows)
            var rest = parsed[...]
            while !rest.isEmpty {
                let chunk = rest.prefix(size)
                rest = rest.dropFirst(chunk.count)
                let began = clock.now
                for refusal in try await take(chunk, &summary) { try refuse(refusal) }
                progress(summary)
                // A gateway may start or end meanwhile.
                let pace = pace()
                size = pace.size(after: size, took: clock.now - began, limit: Self.batchRows)
                if pace.rest > .zero { try await pause(pace.rest) }
            }
            parsed = await following
        }
        return summary
    }

    private static func next(_ reader: inout CSVReader) throws -> [CSVRecord] {
        var records: [CSVRecord] = []
        while records.count < batchRows, let record = try reader.next() { records.append(record) }
        return records
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

    private func take(_ chunk: ArraySlice<Parsed>, _ summary: inout Summary) async throws -> [LinkRefusal] {
        var (links, lines, refusals): ([NewLink], [Int], [LinkRefusal]) = ([], [], [])
        for row in chunk {
            switch row {
            case .link(let link, let line):
                links.append(link)
                lines.append(line)
            case .refusal(let refusal): refusals.append(refusal)
            }
        }
        let results = links.isEmpty ? [] : try await store.importLinks(links)
        for (index, result) in results.enumerated() {
            switch result {
            case .created: summary.created += 1
            case .unchanged: summary.unchanged += 1
            case .taken:
                let key = LinkKey(prefix: links[index].prefix, suffix: links[index].suffixes[0])
                refusals.append(
                    LinkRefusal(
                        line: lines[index], column: LinkColumn.shortLink.title, shortLink: key.name,
                        reason: "the suffix '\(key.suffix)' belongs to another link; a deleted one keeps its own too"))
            }
        }
        summary.refused += refusals.count
        return refusals.sorted { $0.line < $1.line }
    }
}
