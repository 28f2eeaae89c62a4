import Foundation

/// How many memory allocations one more push costs: valgrind counts those of two runs of different length, and the
/// difference is what the steady state does. The requests are made beforehand, so all of it is the engine's.
struct AllocationCount {
    let sender: Sender
    let shape: Shape

    private static let sizes = (10_000, 30_000)

    private struct Result: Codable {
        let shape: String
        let allocationsPerPush: Double
        let bytesPerPush: Double
    }

    func print(asJSON: Bool) throws {
        let (few, many) = (try count(Self.sizes.0), try count(Self.sizes.1))
        let pushes = Double(Self.sizes.1 - Self.sizes.0)
        let result = Result(
            shape: shape.description, allocationsPerPush: Double(many.calls - few.calls) / pushes,
            bytesPerPush: Double(many.bytes - few.bytes) / pushes)
        if asJSON {
            Swift.print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
        } else {
            let calls = String(format: "%.3f", result.allocationsPerPush)
            let bytes = String(format: "%.1f", result.bytesPerPush)
            Swift.print("\(shape): \(calls) allocations and \(bytes) bytes for each push in the steady state")
        }
    }

    private func count(_ pushes: Int) throws -> (calls: Int, bytes: Int) {
        let valgrind = try Program.find("valgrind", package: "valgrind")
        let log = FileManager.default.temporaryDirectory.path + "/herald-bench-\(UUID().uuidString).log"
        defer {
            do {
                try FileManager.default.removeItem(atPath: log)
            } catch {
                Swift.print("\(log) could not be removed: \(error)")
            }
        }
        let program = try Program(
            valgrind,
            ["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", "--log-file=\(log)"]
                + sender.command(shape, pushes: pushes, more: ["--prepared"]))
        let output = program.waitForOutput()
        guard program.status == 0, output.contains("\"accepted\":\(pushes)") else {
            throw BenchFailure("the run under valgrind failed: \(output)")
        }
        return try Self.totals(in: String(decoding: try Data(contentsOf: URL(filePath: log)), as: UTF8.self))
    }

    /// `total heap usage: 1,234 allocs, 1,200 frees, 56,789 bytes allocated`
    private static func totals(in log: String) throws -> (calls: Int, bytes: Int) {
        for line in log.split(separator: "\n") {
            guard let start = line.range(of: "total heap usage: ") else { continue }
            let figures = line[start.upperBound...].split(separator: " ")
                .compactMap { Int($0.replacingOccurrences(of: ",", with: "")) }
            if figures.count == 3 { return (figures[0], figures[2]) }
        }
        throw BenchFailure("valgrind's log has no total")
    }
}
