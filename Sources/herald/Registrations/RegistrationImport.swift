import Foundation
import PushModel
import Store

/// Reads a file of registrations into a store, chunk by chunk: parsing on all cores, beside the one writer.
///
/// A chunk is one transaction with the position in the file, so an import that ends at any instant goes on where it
/// ended. How large chunks are, and how long it rests after each, is the ``ImportPace``: a gateway that has the store open
/// has to come to its turn.
struct RegistrationImport {
    /// What became of an import.
    struct Summary: Hashable {
        /// Registrations in the store now, those of earlier runs of it included.
        var imported: Int64 = 0
        /// Lines refused.
        var rejected: Int64 = 0
    }

    /// A line that was not taken.
    struct Reject {
        let record: RegistrationRecord
        let problem: LineProblem
    }

    private typealias Parsed = (record: RegistrationRecord, result: Result<ImportedRegistration, LineProblem>)

    /// What is read at a time, and so the largest chunk: the more rows a transaction has, the more of them share the pages
    /// of the indexes that it writes.
    private static let batchSize = 65_536
    private static let batchBytes = 64 << 20

    let store: any StoreAdministration
    let project: ProjectID
    let decoder: RegistrationDecoder
    /// The name under which the store keeps the position.
    let source: String
    /// Whether a line that can't be read is left out too; otherwise the first one ends the import.
    let skipsUnreadable: Bool
    /// Called for each line that is not taken.
    let reject: (Reject) throws -> Void
    /// Called after each chunk.
    let progress: (Summary, _ position: ImportPosition) -> Void
    let now: Timestamp
    /// Waits; the rest is for a process that does not tell when it wants to write, so there is nothing else to wait for.
    var rest: (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// Reads all that `lines` has from where it stands.
    ///
    /// - Throws: ``Failure`` at the first line that can't be read, unless those are left out; the lines before its chunk are
    ///   in the store.
    func run(_ lines: inout RegistrationLines, from start: Summary) async throws -> Summary {
        var summary = start
        var size = store.importPace.rest > .zero ? 500 : 8192
        let clock = ContinuousClock()
        let decoder = decoder
        var batch = try await Self.next(lines, decoder)
        while !batch.parsed.isEmpty {
            let rest = batch.lines
            async let following = Self.next(rest, decoder)
            var parsed = batch.parsed[...]
            while !parsed.isEmpty {
                let chunk = parsed.prefix(size)
                parsed = parsed.dropFirst(chunk.count)
                let began = clock.now
                try await take(chunk, lines.fingerprint, &summary)
                // A gateway may start or end meanwhile.
                let pace = store.importPace
                size = pace.size(after: size, took: clock.now - began, limit: Self.batchSize)
                if pace.rest > .zero { try await self.rest(pace.rest) }
            }
            batch = try await following
        }
        lines = batch.lines
        return summary
    }

    /// Reads and parses the next lines, beside the chunk that is written.
    ///
    /// - Returns: those lines, and where the next ones are.
    private static func next(
        _ lines: RegistrationLines, _ decoder: RegistrationDecoder
    ) async throws -> (parsed: [Parsed], lines: RegistrationLines) {
        var lines = lines
        do {
            let records = try lines.next(batchSize, bytes: batchBytes)
            return (await parse(records, decoder), lines)
        } catch let problem as LineProblem {
            throw Failure(.refused, problem.text(line: lines.nextLine))
        }
    }

    /// Parses in parts beside each other; the order stays.
    private static func parse(
        _ records: [RegistrationRecord], _ decoder: RegistrationDecoder
    ) async -> [Parsed] {
        let part = max(1, (records.count + 3) / 4)
        return await withTaskGroup(of: (Int, [Parsed]).self) { group in
            for start in stride(from: 0, to: records.count, by: part) {
                let records = records[start..<min(start + part, records.count)]
                group.addTask {
                    (
                        start,
                        records.map { record in
                            (record, Result { () throws(LineProblem) in try read(record, decoder) })
                        }
                    )
                }
            }
            var parts: [(Int, [Parsed])] = []
            for await part in group { parts.append(part) }
            return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }

    private static func read(
        _ record: RegistrationRecord, _ decoder: RegistrationDecoder
    ) throws(LineProblem) -> ImportedRegistration {
        var row = try decoder.registration(record)
        // The store makes those that are missing, and tells why it can't.
        row.names = try? RegistrationNames(of: row)
        return row
    }

    private func take(_ chunk: ArraySlice<Parsed>, _ fingerprint: Int64, _ summary: inout Summary) async throws {
        guard let first = chunk.first, let last = chunk.last else { return }
        var rows: [ImportedRegistration] = []
        var records: [RegistrationRecord] = []
        var rejects: [Reject] = []
        for (record, result) in chunk {
            switch result {
            case .success(let row):
                rows.append(row)
                records.append(record)
            case .failure(let problem):
                let wrong = Reject(record: record, problem: problem)
                guard skipsUnreadable || problem.isOfRegistration else {
                    throw stopped(at: wrong, chunk: first.record, summary)
                }
                rejects.append(wrong)
            }
        }
        var position = ImportPosition(fingerprint: fingerprint, line: last.record.line, offset: last.record.end)
        position.imported = summary.imported
        position.rejected = summary.rejected + Int64(rejects.count)
        let refused = try await store.importRegistrations(
            rows, into: project, source: source, position: position, at: now, by: .command)
        rejects += refused.map { Reject(record: records[$0.key], problem: $0.value.problem) }
        for wrong in rejects.sorted(by: { $0.record.line < $1.record.line }) { try reject(wrong) }
        summary.imported += Int64(rows.count - refused.count)
        summary.rejected += Int64(rejects.count)
        progress(summary, position)
    }

    private func stopped(at wrong: Reject, chunk: RegistrationRecord, _ summary: Summary) -> Failure {
        let problem = wrong.problem.text(line: wrong.record.line)
        // Before the first chunk is in the store there is no place to go on from.
        guard summary.imported + summary.rejected > 0 else {
            return Failure(.refused, "\(problem)\nnothing was imported; mend the line, then start again")
        }
        return Failure(
            .refused,
            "\(problem)\n\(summary.imported) registrations of the lines before line "
                + "\(chunk.line) are in the store; mend the line, then go on with --resume")
    }
}
