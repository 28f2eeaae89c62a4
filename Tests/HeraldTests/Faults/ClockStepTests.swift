import Foundation
import Simulators
import TestSupport
import Testing

/// A wall clock that is set under a running gateway: what waits, waits by elapsed time.
@Suite(.serialized, .heavy, .timeLimit(.minutes(30)), .enabled(if: FaultShim.compiler != nil))
struct ClockStepTests {
    @Test(arguments: [-3600, 3600, 31 * 86_400])
    func retriesRunByElapsedTimeWhenTheClockIsSet(seconds: Int64) async throws {
        let shim = try await FaultShim()
        try await GatewayUnderTest.with(wallTimeMilliseconds: { shim.wallTimeMilliseconds }) { test in
            let process = try await test.start(environment: shim.environment)
            let steps = FaultSteps(process: process, keys: test.keys)
            let devices = try await WholeGatewayTests.registerDevices(30, process, test.keys)
            for device in devices {
                test.simulator.rules.set(
                    Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 1), for: device)
            }
            let sent = try await steps.broadcast("before")
            let name = try #require(try sent.json["name"] as? String)
            await test.simulator.recording.wait(untilCount: 30)
            try shim.stepClock(to: seconds)
            let next = try await steps.broadcast("after")
            // By the clock on the wall both would wait for an hour, or expire at once when it is a month ahead; the time
            // limit of the test is far below.
            try await steps.expectComplete(
                [name, try #require(try next.json["name"] as? String)], recipients: devices.count)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test func retriesOfAKilledGatewayDoNotWaitForTheClock() async throws {
        let shim = try await FaultShim()
        try await GatewayUnderTest.with(wallTimeMilliseconds: { shim.wallTimeMilliseconds }) { test in
            let process = try await test.start(environment: shim.environment)
            let steps = FaultSteps(process: process, keys: test.keys)
            let devices = try await WholeGatewayTests.registerDevices(10, process, test.keys)
            for device in devices.dropFirst() {
                test.simulator.rules.set(
                    Rule(.reject(status: 503, reason: "ServiceUnavailable"), times: 1), for: device)
            }
            let sent = try await steps.broadcast("before")
            let name = try #require(try sent.json["name"] as? String)
            try await steps.until("in retry") {
                try WholeGatewayTests.ledger(try await steps.sender.get("/v1/\(name)").json)["accepted"] ?? 0 >= 1
            }
            await process.end(with: SIGKILL)

            try shim.stepClock(to: -3600)
            let again = try await test.start(environment: shim.environment)
            try await FaultSteps(process: again, keys: test.keys).expectComplete([name], recipients: devices.count)
            #expect(await again.end(with: SIGTERM) == 0)
        }
    }
}
