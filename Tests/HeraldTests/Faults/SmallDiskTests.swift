import Foundation
import Simulators
import TestSupport
import Testing

/// A disk that is really full or read-only: a small file system of its own holds the data directory.
@Suite(
    .serialized, .heavy, .timeLimit(.minutes(30)),
    .enabled("mounting a tmpfs has to be allowed", { await SmallDisk.isPossible() }))
struct SmallDiskTests {
    /// A gateway whose data directory is on a small disk.
    private struct Rig {
        let test: GatewayUnderTest
        let disk: SmallDisk
        let environment: [String: String]

        /// - Parameter port: that of the gateway before, which a waiting gateway and its successor both take.
        func start(port: String? = nil) async throws -> FaultSteps {
            var environment = environment
            environment["HERALD_LISTEN_PORT"] = port
            let process = try await GatewayProcess.serving(
                config: test.configuration, environment: environment, prefix: disk.command)
            let steps = FaultSteps(process: process, keys: test.keys)
            try await steps.untilAlive()
            return steps
        }

        /// `herald doctor --ledger` on it.
        func expectBalance() async throws {
            let result = try await GatewayProcess.run(
                ["doctor", "--ledger", "--config", test.configuration], environment: environment, prefix: disk.command)
            #expect(result.status == 0, "\(result.lines)")
        }
    }

    private static func with(_ body: (Rig) async throws -> Void) async throws {
        try await GatewayUnderTest.with { test in
            let path = test.directory.file("small")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let disk = try await SmallDisk(path: path, megabytes: 6)
            // The keys were made in the usual place.
            for file in try FileManager.default.contentsOfDirectory(atPath: test.directory.file("data")) {
                try FileManager.default.copyItem(
                    atPath: test.directory.file("data") + "/" + file, toPath: disk.ownPath + "/" + file)
            }
            try await body(
                Rig(test: test, disk: disk, environment: ["HERALD_DATA": path, "HERALD_LIMITS_FREE_BYTES": "0"]))
        }
    }

    @Test func aFullDiskIsReportedAndServiceResumes() async throws {
        try await Self.with { rig in
            let steps = try await rig.start()
            let devices = try await WholeGatewayTests.registerDevices(30, steps.process, steps.keys)
            rig.test.simulator.rules.setDefault(Rule(.accept, delayMilliseconds: 500))
            let first = try await steps.broadcast("first")
            let name = try #require(try first.json["name"] as? String)
            try rig.disk.fill()
            let (names, refusal) = try await steps.broadcastUntilRefused("filling")
            try steps.expectUnavailable(refusal)
            let problems = try #require(try await steps.problems())
            #expect(problems == ["The disk of the store is full."])
            try await steps.expectRefusals(5)

            try rig.disk.free()
            try await steps.untilReady()
            let last = try await steps.broadcast("last")
            let all = [name] + names + [try #require(try last.json["name"] as? String)]
            try await steps.expectComplete(all, recipients: devices.count)
            let pushes = rig.test.simulator.recording.pushes
            #expect(pushes.count == all.count * devices.count, "nothing is missing, nothing came twice")
            #expect(!pushes.contains { $0.payload.contains("refused") })
            try await rig.expectBalance()
            #expect(await steps.process.end(with: SIGTERM) == 0)
        }
    }

    @Test(arguments: ["full", "read-only"])
    func aGatewayThatStartsOnADiskWithoutWritesWaitsForThem(_ fault: String) async throws {
        try await Self.with { rig in
            var steps = try await rig.start()
            let devices = try await WholeGatewayTests.registerDevices(30, steps.process, steps.keys)
            rig.test.simulator.rules.setDefault(Rule(.accept, delayMilliseconds: 5000))
            let sent = try await steps.broadcast("first")
            let name = try #require(try sent.json["name"] as? String)
            await rig.test.simulator.recording.wait(untilCount: 1)
            await steps.process.end(with: SIGKILL)
            if fault == "full" { try rig.disk.fill() } else { try await rig.disk.remount("ro") }
            rig.test.simulator.rules.clear()

            let port = steps.process.baseURL.split(separator: ":").last.map(String.init)
            steps = try await rig.start(port: port)
            // What a start copies out of the log is room on the disk.
            if fault == "full" { try rig.disk.fill() }
            let accepted = try await steps.broadcastUntilUnready()
            #expect(try await steps.sender.get("/healthz").status == 200)
            if fault == "full" { try rig.disk.free() } else { try await rig.disk.remount("rw") }
            try await steps.untilReady()
            let last = try await steps.broadcast("last")
            try await steps.expectComplete(
                [name] + accepted + [try #require(try last.json["name"] as? String)], recipients: devices.count)
            try await rig.expectBalance()
            #expect(await steps.process.end(with: SIGTERM) == 0)
        }
    }
}

extension FaultSteps {
    /// Sends until a refusal, and the gateway says what is wrong; the few pages that the log still has take some. Gives the
    /// names of those.
    func broadcastUntilUnready() async throws -> [String] {
        var names: [String] = []
        while true {
            let (accepted, refusal) = try await broadcastUntilRefused("refused")
            try expectUnavailable(refusal)
            names += accepted
            if let problems = try await problems() {
                #expect(!problems.isEmpty)
                return names
            }
        }
    }

    /// Every one of `count` sends is refused, as whole requests.
    func expectRefusals(_ count: Int) async throws {
        for number in 0..<count {
            try expectUnavailable(try await broadcast("refused-\(number)"))
        }
    }
}
