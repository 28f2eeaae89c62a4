import Foundation

/// How many memory allocations one more push costs: valgrind's callgrind counts the calls of malloc and its like in each
/// thread of two runs of different length, and the difference is what the steady state does. The requests are made
/// beforehand, so all of it is the engine's.
struct AllocationCount {
    let sender: Sender
    let shape: Shape

    private static let sizes = (20_000, 60_000)

    /// Calls by kind of thread and caller.
    private struct Calls {
        /// On the loops' threads, by OpenSSL.
        var loopsByTLS = 0
        /// On the loops' threads, by all other code.
        var loops = 0
        /// On all other threads.
        var others = 0
    }

    private struct Result: Codable {
        let shape: String
        /// On the loops' threads, OpenSSL's left out.
        let loopAllocationsPerPush: Double
        /// By OpenSSL on the loops' threads: so many for each TLS record.
        let loopAllocationsByTLSPerPush: Double
        /// In the whole process.
        let allocationsPerPush: Double
    }

    func print(asJSON: Bool) throws {
        let (few, many) = (try count(Self.sizes.0), try count(Self.sizes.1))
        func perPush(_ value: (Calls) -> Int) -> Double {
            Double(value(many) - value(few)) / Double(Self.sizes.1 - Self.sizes.0)
        }
        let result = Result(
            shape: shape.description, loopAllocationsPerPush: perPush(\.loops),
            loopAllocationsByTLSPerPush: perPush(\.loopsByTLS),
            allocationsPerPush: perPush { $0.loops + $0.loopsByTLS + $0.others })
        if asJSON {
            show(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
        } else {
            let figures = [
                result.loopAllocationsPerPush, result.loopAllocationsByTLSPerPush, result.allocationsPerPush,
            ].map { String(format: "%.4f", $0) }
            show(
                "\(shape): allocations for each push: \(figures[0]) on the loops' threads, "
                    + "\(figures[1]) by OpenSSL there for its records, \(figures[2]) in the whole process")
        }
    }

    private func count(_ pushes: Int) throws -> Calls {
        let valgrind = try Program.find("valgrind", package: "valgrind")
        let folder = FileManager.default.temporaryDirectory.path + "/herald-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(atPath: folder)
            } catch {
                show("\(folder) could not be removed: \(error)")
            }
        }
        var command = try sender.command(shape, pushes: pushes, more: ["--prepared"])
        command[0] = try Self.withoutDebugInformation(command[0], in: folder)
        let program = try Program(
            valgrind,
            [
                "--tool=callgrind", "--separate-threads=yes", "--fair-sched=yes", "--compress-strings=no",
                "--compress-pos=no", "--callgrind-out-file=\(folder)/out", "--log-file=\(folder)/log",
            ] + command)
        let output = program.waitForOutput()
        guard program.status == 0, output.contains("\"accepted\":\(pushes)") else {
            throw BenchFailure("the run under valgrind failed: \(output)")
        }
        return try Self.calls(in: folder)
    }

    /// A copy of `program`. valgrind before 3.20 ends at DWARF 5, which some compilers write.
    private static func withoutDebugInformation(_ program: String, in folder: String) throws -> String {
        let objcopy = try Program(
            Program.find("objcopy", package: "binutils"), ["--strip-debug", program, folder + "/program"])
        _ = objcopy.waitForOutput()
        guard objcopy.status == 0 else { throw BenchFailure("objcopy failed") }
        return folder + "/program"
    }

    /// callgrind writes a file for each thread.
    private static func calls(in folder: String) throws -> Calls {
        var calls = Calls()
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) where file.hasPrefix("out") {
            let text = try Data(contentsOf: URL(filePath: "\(folder)/\(file)"))
            let (byTLS, byOthers) = callsOfMalloc(in: text)
            if text.range(of: Data("HTTP2Client9EventLoopC".utf8)) != nil {
                calls.loops += byOthers
                calls.loopsByTLS += byTLS
            } else {
                calls.others += byTLS + byOthers
            }
        }
        guard calls.loops > 0 else { throw BenchFailure("valgrind saw no thread of a loop") }
        return calls
    }

    /// Where all memory comes from: Swift's runtime, nghttp2 and OpenSSL all end there.
    private static let allocators: Set<String> = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"]

    /// Under `fn=` of the caller, `cfn=malloc` and in the next line `calls=12 …` (Callgrind Format Specification).
    private static func callsOfMalloc(in text: Data) -> (byTLS: Int, byOthers: Int) {
        var byTLS = 0
        var byOthers = 0
        var isTLS = false
        var isMalloc = false
        for line in text.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: Array("cfn=".utf8)) {
                // Perhaps `malloc'2`, for a call within a call.
                let name = String(decoding: line.dropFirst(4), as: UTF8.self)
                isMalloc = allocators.contains(String(name.prefix { $0 != "'" }))
            } else if line.starts(with: Array("fn=".utf8)) {
                isTLS = line.starts(with: Array("fn=CRYPTO_".utf8))
            } else if isMalloc, line.starts(with: Array("calls=".utf8)) {
                let digits = line.dropFirst("calls=".count).prefix { $0 != UInt8(ascii: " ") }
                let count = Int(String(decoding: digits, as: UTF8.self)) ?? 0
                if isTLS { byTLS += count } else { byOthers += count }
                isMalloc = false
            }
        }
        return (byTLS, byOthers)
    }
}
