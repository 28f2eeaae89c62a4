import Foundation
import Glibc
import TestSupport
import Testing

@testable import HTTP2Client

/// The session against a peer that may send anything: no crash, no hang, no request without an end, bounded memory.
///
/// `HERALD_FUZZ_INPUTS` sets how many inputs there are, or `HERALD_FUZZ_SECONDS` for how long; `HERALD_FUZZ_SEED` where
/// they begin. Each input is its seed: to
/// see a failing one again, run it alone with `HERALD_FUZZ_INPUTS=1`. After a crash or a hang the seeds under way stand in
/// the files `herald-…/seed-…` of the temporary directory.
struct SessionFuzzTests {
    private static func number(_ name: String, default usual: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) ?? usual
    }

    /// What one thread found.
    private struct Share: Sendable {
        var inputs = 0
        var answered = 0
        var violated = 0
        var mostMemoryBytes = 0
        var faults: [String] = []
    }

    @Test func whateverThePeerSendsTheSessionHoldsOrEnds() async throws {
        let seconds = Self.number("HERALD_FUZZ_SECONDS", default: 0)
        let deadline = seconds > 0 ? ContinuousClock.now + .seconds(Int64(seconds)) : nil
        let total = deadline == nil ? Self.number("HERALD_FUZZ_INPUTS", default: 20_000) : 1 << 40
        let first = Self.number("HERALD_FUZZ_SEED", default: 1)
        let threads = total > 20_000 ? UInt64(ProcessInfo.processInfo.activeProcessorCount) : 1
        let directory = try TestDirectory()
        let (shares, continuation) = AsyncStream.makeStream(of: Share.self)
        for number in 0..<threads {
            let seeds = first + total * number / threads..<first + total * (number + 1) / threads
            let mark = try SeedMark(directory.file("seed-\(number)"))
            try startThread(named: "fuzz-\(number)") {
                // Beside it run tests that wait for deadlines. On Linux this is about the calling thread alone.
                _ = nice(19)
                continuation.yield(Self.play(seeds, until: deadline, mark))
            }
        }
        var sum = Share()
        var ended: UInt64 = 0
        for await share in shares {
            sum.inputs += share.inputs
            sum.answered += share.answered
            sum.violated += share.violated
            sum.mostMemoryBytes = max(sum.mostMemoryBytes, share.mostMemoryBytes)
            sum.faults += share.faults
            ended += 1
            if ended == threads { break }
        }
        withExtendedLifetime(directory) {}
        for fault in sum.faults.prefix(10) { Issue.record("\(fault)") }
        print(
            "fuzzing: \(sum.inputs) inputs, \(sum.answered) answers, \(sum.violated) sessions ended by a violation, "
                + "at most \(sum.mostMemoryBytes) bytes of nghttp2 memory")
        #expect(deadline != nil || sum.inputs == Int(total))
        // Inputs that were all refused at once, or all taken, would show little.
        #expect(total < 1000 || (sum.answered > sum.inputs / 2 && sum.violated > sum.inputs / 10))
    }

    private static func play(
        _ seeds: Range<UInt64>, until deadline: ContinuousClock.Instant?, _ mark: SeedMark
    ) -> Share {
        var share = Share()
        for seed in seeds {
            if let deadline, .now >= deadline { break }
            mark.set(seed)
            do {
                let result = try FuzzedSession.run(seed: seed)
                share.answered += result.answered
                share.violated += result.isViolated ? 1 : 0
                share.mostMemoryBytes = max(share.mostMemoryBytes, result.memoryBytes)
            } catch let fault as FuzzedSession.Fault {
                share.faults.append("seed \(seed): \(fault.what)")
            } catch {
                share.faults.append("seed \(seed): \(error)")
            }
            share.inputs += 1
        }
        return share
    }
}

/// A file that holds the seed under way, and outlives a crash.
private final class SeedMark: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ToolFailure(what: "\(path): error \(errno)") }
    }

    deinit { close(descriptor) }

    func set(_ seed: UInt64) {
        // 20 digits, the most that a seed has: each covers the one before.
        var digits = Array(repeating: UInt8(ascii: " "), count: 20) + [UInt8(ascii: "\n")]
        var rest = seed
        for place in (0..<20).reversed() where rest > 0 {
            digits[place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        _ = unsafe pwrite(descriptor, digits, digits.count, 0)
    }
}
