import Foundation
import PushModel
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// A block gives back what was packed into it, and damaged bytes are told from whole ones.
@Suite(.timeLimit(.minutes(5)))
struct LedgerBlockTests {
    typealias Entry = LedgerBlock.Entry

    private static func randomBlock(_ random: inout SeededRandom) -> LedgerBlock {
        let reasons = ["BadDeviceToken", "", "Grüße \u{1F44B}", "timed_out"]
        let extremes: [Int64] = [0, 1, -1, 127, 128, 1 << 31, .max, .min]
        var key: Int64 = 0
        var entries: [Entry] = []
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            let step: Int64 = Bool.random(using: &random) ? 1 : .random(in: 1...(1 << 40), using: &random)
            key += step
            let attempts = UInt32.random(in: 0...3, using: &random) == 0 ? UInt32.max : 1
            entries.append(
                Entry(
                    key: key, endedAt: extremes.randomElement(using: &random)!,
                    latencyMilliseconds: extremes.randomElement(using: &random)!, attempts: attempts,
                    unknownAttempts: .random(in: 0...min(attempts, 300), using: &random),
                    reason: .random(in: -1..<Int32(reasons.count), using: &random),
                    outcome: LedgerOutcome.allCases.randomElement(using: &random)!))
        }
        return LedgerBlock(entries: entries, reasons: reasons)
    }

    private func ordinary(_ count: Int) -> [Entry] {
        (0..<count).map {
            Entry(
                key: Int64($0 + 1) * 3, endedAt: 1_750_000_000_000 + Int64($0 % 40),
                latencyMilliseconds: 900 + Int64($0 % 40), attempts: 1, unknownAttempts: 0, reason: Entry.noReason,
                outcome: .accepted)
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func whatIsPackedComesBack(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let block = Self.randomBlock(&random)
        let bytes = try LedgerBlock.encode(block.entries[...], reasons: block.reasons)
        let read = try LedgerBlock(decoding: bytes)
        #expect(read.entries.count == block.entries.count)
        for (was, now) in zip(block.entries, read.entries) {
            // The reasons are counted anew: only those that are there.
            var renamed = now
            renamed.reason = was.reason
            #expect(renamed == was && read.reason(of: now) == block.reason(of: was))
            #expect(read.index(of: was.key) == block.index(of: was.key))
        }
        #expect(Set(read.reasons) == Set(block.entries.compactMap(block.reason)))
    }

    /// A push service's own ids stay with their entries, and take nothing of those that have none.
    @Test func idsStayWithTheirEntries() throws {
        var entries = ordinary(50)
        let ids = (0..<25).map { "0:150041531445527\($0)%31bd1c9631bd1c96" }
        for place in ids.indices { entries[place * 2].upstreamID = Int32(ids.count - 1 - place) }
        let bytes = try LedgerBlock.encode(entries[...], reasons: [], ids: ids)
        let read = try LedgerBlock(decoding: bytes)
        #expect(read.entries.map(read.upstreamID) == entries.map { $0.upstreamID < 0 ? nil : ids[Int($0.upstreamID)] })
        #expect(read.ids.count == 25)
        let without = try LedgerBlock.encode(ordinary(50)[...], reasons: [])
        #expect(bytes.count - without.count == ids.reduce(0) { $0 + $1.utf8.count + 1 })
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func entriesOfSeveralMessagesComeBackWithTheirs(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var block = Self.randomBlock(&random)
        var last: Int64 = 0
        block.messages = block.entries.map { _ in
            last += .random(in: 1...(1 << 20), using: &random)
            return last
        }
        block.entries.shuffle(using: &random)
        if block.entries.count > 1 { block.entries[1].key = block.entries[0].key }
        let bytes = try LedgerBlock.encode(block.entries[...], reasons: block.reasons, messages: block.messages[...])
        let read = try LedgerBlock(decoding: bytes)
        #expect(read.messages == block.messages)
        for (index, (was, now)) in zip(block.entries, read.entries).enumerated() {
            var renamed = now
            renamed.reason = was.reason
            #expect(renamed == was && read.reason(of: now) == block.reason(of: was))
            #expect(read.index(ofMessage: block.messages[index]) == index)
        }
        #expect(read.index(ofMessage: last + 1) == nil)
        let twice = block.messages.map { _ in last }
        #expect(throws: StoreError.self, "a message stands twice") {
            try LedgerBlock.encode(
                (block.entries + block.entries)[...], reasons: block.reasons, messages: (twice + twice)[...])
        }
    }

    @Test func anOrdinarySingleTakesFewBytes() throws {
        let bytes = try LedgerBlock.encode(
            ordinary(500)[...], reasons: [], messages: (0..<500).map { 1_000_000 + Int64($0) }[...])
        #expect(bytes.count <= 500 * 7)
    }

    @Test func aPartOfTheEntriesIsABlockOfItsOwn() throws {
        let entries = ordinary(10)
        let read = try LedgerBlock(decoding: try LedgerBlock.encode(entries[4..<7], reasons: ["unused"]))
        #expect(read == LedgerBlock(entries: Array(entries[4..<7]), reasons: []))
        #expect(read.index(of: entries[5].key) == 1)
        #expect(read.index(of: entries[3].key) == nil && read.index(of: entries[7].key) == nil)
        #expect(read.index(of: entries[5].key + 1) == nil)
    }

    @Test func anOrdinaryDeliveryTakesFewBytes() throws {
        let bytes = try LedgerBlock.encode(ordinary(1000)[...], reasons: [])
        #expect(bytes.count <= 1000 * 4)
        let single = try LedgerBlock.encode(ordinary(1)[...], reasons: [])
        #expect(single.count <= 24)
    }

    @Test func whatCannotBeIsNotPacked() throws {
        let good = ordinary(3)
        var twice = good
        twice[2].key = twice[1].key
        var unsorted = good
        unsorted.swapAt(0, 1)
        var unknown = good
        unknown[0].unknownAttempts = 2
        var zero = good
        zero[0].key = 0
        for wrong in [twice, unsorted, unknown, zero] {
            #expect(throws: StoreError.self) { try LedgerBlock.encode(wrong[...], reasons: []) }
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func everyChangeOfOneByteAndEveryCutIsSeen(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let block = Self.randomBlock(&random)
        let bytes = try LedgerBlock.encode(block.entries[...], reasons: block.reasons)
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= UInt8.random(in: 1...255, using: &random)
            #expect(throws: PackedReader.Damage.self) { try LedgerBlock(decoding: changed) }
            #expect(throws: PackedReader.Damage.self) { try LedgerBlock(decoding: Array(bytes[..<place])) }
        }
        #expect(throws: PackedReader.Damage.self) { try LedgerBlock(decoding: bytes + [0]) }
    }

    /// With a checksum that fits, so that what reads the entries is reached.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func noBytesTrapWhateverTheySay(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var read = 0
        for _ in 0..<2000 {
            let block = Self.randomBlock(&random)
            var bytes = try LedgerBlock.encode(block.entries[...], reasons: block.reasons).dropLast(4)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes = Self.noise(upTo: 80, &random)[...]
            case 1: bytes = bytes.prefix(Int.random(in: 0...bytes.count, using: &random))
            default: break
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = [0, 1, 0x7f, 0x80, 0xff].randomElement(
                    using: &random)!
            }
            do {
                let damaged = try LedgerBlock(decoding: Self.sealed(Array(bytes)))
                read += 1
                #expect(!damaged.entries.isEmpty)
                #expect(zip(damaged.entries, damaged.entries.dropFirst()).allSatisfy { $0.key < $1.key })
                #expect(damaged.entries.allSatisfy { $0.key > 0 && $0.unknownAttempts <= $0.attempts })
                for entry in damaged.entries { _ = damaged.reason(of: entry) }
            } catch {
                // An error is a good answer to damage; a trap would end the test.
            }
        }
        #expect(read > 0, "some are not changed at all")
    }

    private static func noise(upTo limit: Int, _ random: inout SeededRandom) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...limit, using: &random) { bytes.append(.random(in: 0...255, using: &random)) }
        return bytes
    }

    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var sum: UInt32 = 0x811c_9dc5
        for byte in bytes { sum = (sum ^ UInt32(byte)) &* 0x0100_0193 }
        return bytes + (0..<4).map { UInt8(truncatingIfNeeded: sum >> UInt32(8 * $0)) }
    }

    @Test(arguments: [[], [1], [1, 2, 3], [5, 1 << 40, .max]] as [[Int64]])
    func packedKeysComeBack(keys: [Int64]) throws {
        #expect(try PackedKeys.keys(PackedKeys.data(keys)) == keys)
    }

    @Test(arguments: [[0], [-1], [1, 1], [2, 1], [.max, 1], [.min]] as [[Int64]])
    func keysThatDoNotAscendDoNotComeBack(keys: [Int64]) {
        #expect(throws: StoreError.self) { try PackedKeys.keys(PackedKeys.data(keys)) }
    }

    @Test func noBytesOfKeysTrap() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                Bool.random(using: &random) ? UInt8.random(in: 0...255, using: &random) : 0xff
            }
            do {
                let keys = try PackedKeys.keys(bytes)
                #expect(zip(keys, keys.dropFirst()).allSatisfy(<) && keys.allSatisfy { $0 > 0 })
            } catch {
                // An error is a good answer to damage; a trap would end the test.
            }
        }
    }
}
