import Foundation
import Simulators
import TestSupport
import Testing

/// A disk that fails under a running gateway: nothing is lost, nothing ends, callers are told, and it goes on by itself.
@Suite(.serialized, .heavy, .timeLimit(.minutes(30)), .enabled(if: FaultShim.compiler != nil))
struct DiskFaultTests {
    /// A way for a disk to fail.
    struct Fault: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var code: Int32
        /// What `/readyz` says.
        var text: String
    }

    static let faults = [
        Fault(testDescription: "full", code: ENOSPC, text: "The disk of the store is full."),
        Fault(testDescription: "read-only", code: EROFS, text: "The disk of the store failed"),
        Fault(testDescription: "I/O error", code: EIO, text: "The disk of the store failed"),
    ]

    @Test(arguments: faults)
    func writesThatFailAreRefusedAndTheGatewayGoesOnByItself(fault: Fault) async throws {
        let shim = try await FaultShim()
        try await GatewayUnderTest.with { test in
            let process = try await test.start(environment: shim.environment)
            let steps = FaultSteps(process: process, keys: test.keys)
            let devices = try await WholeGatewayTests.registerDevices(30, process, test.keys)
            // Answers that come when the disk has failed already.
            test.simulator.rules.setDefault(Rule(.accept, delayMilliseconds: 700))
            let first = try await steps.broadcast("first")
            let name = try #require(try first.json["name"] as? String)
            await test.simulator.recording.wait(untilCount: 1)

            try shim.failDisk(writing: fault.code)
            try steps.expectUnavailable(try await steps.broadcast("refused"))
            let problems = try #require(try await steps.problems())
            #expect(problems.contains { $0.hasPrefix(fault.text) }, "\(problems)")
            await test.simulator.recording.wait(untilCount: 30)
            #expect(try await steps.sender.get("/healthz").status == 200)
            #expect(try await steps.sender.get("/v1/\(name)").status == 200, "what is only read is still served")

            try shim.failDisk()
            try await steps.untilReady()
            let last = try await steps.broadcast("last")
            #expect(last.status == 200, "\(last.text)")
            try await steps.expectComplete(
                [name, try #require(try last.json["name"] as? String)], recipients: devices.count)
            let pushes = test.simulator.recording.pushes
            #expect(pushes.count == 60, "nothing came twice")
            #expect(!pushes.contains { $0.payload.contains("refused") })
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func termDoesNotWaitForADiskThatHasNothingToTake() async throws {
        let shim = try await FaultShim()
        try await GatewayUnderTest.with { test in
            let file = test.directory.file("projects/demo.yaml")
            let project = try String(contentsOfFile: file, encoding: .utf8)
            // A port without a listener.
            try project.replacing(/endpoint: .*/, with: "endpoint: 127.0.0.1:1")
                .write(toFile: file, atomically: true, encoding: .utf8)
            let process = try await test.start(environment: shim.environment)
            let steps = FaultSteps(process: process, keys: test.keys)
            _ = try await WholeGatewayTests.registerDevices(30, process, test.keys)
            #expect(try await steps.broadcast("waits").status == 200)
            try shim.failDisk(writing: ENOSPC)
            try steps.expectUnavailable(try await steps.broadcast("refused"))
            let start = ContinuousClock.now
            #expect(await process.end(with: SIGTERM) == 0)
            // Far below the limit of the shutdown (20 s), for a machine that is busy.
            #expect(start.duration(to: .now) < .seconds(8))
        }
    }

    @Test func failedReadsAreRefusedAndServiceResumes() async throws {
        let shim = try await FaultShim()
        try await GatewayUnderTest.with { test in
            let process = try await test.start(environment: shim.environment)
            _ = try await WholeGatewayTests.registerDevices(20, process, test.keys)
            #expect(await process.end(with: SIGKILL) == -SIGKILL)

            // A new process has nothing in its cache.
            let again = try await test.start(environment: shim.environment)
            let later = FaultSteps(process: again, keys: test.keys)
            try shim.failDisk(writing: EIO, reading: EIO)
            let answer = try await later.broadcast("refused")
            #expect(answer.status == 503, "\(answer.text)")
            try shim.failDisk()
            try await later.untilReady()
            let sent = try await later.broadcast("sent")
            try await later.expectComplete([try #require(try sent.json["name"] as? String)], recipients: 20)
            #expect(!test.simulator.recording.pushes.contains { $0.payload.contains("refused") })
            #expect(await again.end(with: SIGTERM) == 0)
        }
    }
}
