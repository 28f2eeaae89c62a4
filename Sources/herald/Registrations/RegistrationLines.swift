import Foundation

/// One line of a file. In CSV too a record is a line: a quote that is not closed spoils one registration, not the rest
/// of the file.
struct RegistrationRecord: Sendable {
    /// Its number, from 1.
    let line: Int64
    /// Bytes of the file up to its end, with the line end.
    let end: Int64
    /// Its bytes without the line end.
    let bytes: ArraySlice<UInt8>
}

/// Cuts a file into lines, block by block: memory does not depend on the file's size.
struct RegistrationLines: Sendable {
    /// The longest record: 2000 topics of 900 characters, escaped.
    static let recordLimit = 12 << 20
    private static let blockBytes = 1 << 20

    private let handle: FileHandle
    private var rest: ArraySlice<UInt8> = []
    private var line: Int64 = 0
    private var offset: Int64 = 0
    private var isAtEnd = false

    /// FNV-1a over the first bytes, at most 4096: tells whether a file is the one that an import broke off in.
    let fingerprint: Int64

    /// Reads from where `handle` stands, the beginning of the file.
    init(_ handle: FileHandle) throws {
        self.handle = handle
        while rest.count < 4096, let data = try handle.read(upToCount: Self.blockBytes), !data.isEmpty {
            rest.append(contentsOf: data)
        }
        fingerprint = rest.prefix(4096).reduce(Int64(bitPattern: 0xcbf2_9ce4_8422_2325)) {
            ($0 ^ Int64($1)) &* 0x0000_0100_0000_01b3
        }
    }

    /// Goes on behind an offset that an earlier run had reached; a pipe is read up to there.
    ///
    /// - Returns: whether the file is that long.
    mutating func skip(to offset: Int64, line: Int64) throws -> Bool {
        var ahead = offset - self.offset
        if ahead <= Int64(rest.count) {
            rest = rest.dropFirst(Int(ahead))
        } else {
            ahead -= Int64(rest.count)
            rest = []
            while ahead > 0 {
                guard let data = try handle.read(upToCount: Int(min(ahead, Int64(Self.blockBytes)))), !data.isEmpty
                else { return false }
                ahead -= Int64(data.count)
            }
        }
        self.offset = offset
        self.line = line
        return true
    }

    /// The next records, up to `limit`, and no more once they have so many bytes; none at the end. Empty lines are left
    /// out.
    mutating func next(_ limit: Int, bytes: Int = .max) throws -> [RegistrationRecord] {
        var records: [RegistrationRecord] = []
        let start = offset
        while records.count < limit, offset - start < Int64(bytes) {
            guard let (end, after) = try lineEnd() else { break }
            let bytes = rest[rest.startIndex..<end]
            offset += Int64(after - rest.startIndex)
            line += 1
            rest = rest[after...]
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0d }) else { continue }
            records.append(
                RegistrationRecord(
                    line: line, end: offset, bytes: bytes.last == 0x0d ? bytes.dropLast() : bytes))
        }
        return records
    }

    /// Where the line at the front ends, and where the next one begins.
    private mutating func lineEnd() throws -> (end: Int, after: Int)? {
        var seen = 0
        while true {
            if let end = rest.dropFirst(seen).firstIndex(of: 0x0a) { return (end, end + 1) }
            seen = rest.count
            if isAtEnd { return rest.isEmpty ? nil : (rest.endIndex, rest.endIndex) }
            guard seen <= Self.recordLimit else {
                throw LineProblem(reason: "is longer than \(Self.recordLimit) bytes")
            }
            // Lines keep slices of the block before: this makes a new one.
            var block = Array(rest)
            if let data = try handle.read(upToCount: Self.blockBytes), !data.isEmpty {
                block.append(contentsOf: data)
            } else {
                isAtEnd = true
            }
            rest = block[...]
        }
    }

    /// The number of the line that comes next.
    var nextLine: Int64 { line + 1 }
}
