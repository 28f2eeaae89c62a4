import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import ServiceLifecycle
import Simulators
import TestSupport
import Testing

@Suite("The simulator serves as APNs does", .timeLimit(.minutes(5)))
struct ServerTests {
    @Test("A client that trusts another CA is not served")
    func wrongCA() async throws {
        let other = try TestDirectory()
        let otherCA = try SimulatorIdentity(directory: other.path, topics: []).caFile
        try await SimulatorHarness.run { harness async throws in
            let client = try SimulatorHarness.makeClient(trusting: otherCA)
            await #expect(throws: (any Error).self) { try await harness.send(over: client) }
            try await client.shutdown()
            #expect(harness.simulator.statistics.pushes == 0)
            #expect(try await harness.send().status == 200)
        }
    }

    @Test("A client without HTTP/2 is dropped")
    func withoutHTTP2() async throws {
        try await SimulatorHarness.run { harness async throws in
            let client = try SimulatorHarness.makeClient(trusting: harness.identity.caFile, http1Only: true)
            await #expect(throws: (any Error).self) { try await harness.send(over: client) }
            try await client.shutdown()
            #expect(harness.simulator.statistics.connections == 0)
        }
    }

    @Test("A port in use ends run with an error that names it")
    func portInUse() async throws {
        try await SimulatorHarness.run { harness async throws in
            let error = await #expect(throws: SimulatorError.self) {
                try await SimulatorHarness.run(harness.identity, configure: { $0.port = harness.port }) { _ in }
            }
            #expect(error?.description.hasPrefix("127.0.0.1:\(harness.port) is in use") == true)
        }
    }

    @Test("A control port in use ends run too, and frees the other port")
    func controlPortInUse() async throws {
        try await SimulatorHarness.run(configure: { $0.controlPort = 0 }) { harness async throws in
            await #expect(throws: SimulatorError.self) {
                try await SimulatorHarness.run(
                    harness.identity, configure: { $0.controlPort = harness.controlPort }
                ) { _ in }
            }
        }
    }

    @Test("2,000 pushes at once are all answered and recorded, over windows of the usual size", .heavy)
    func manyAtOnce() async throws {
        try await SimulatorHarness.run { harness async throws in
            let token = try "bearer " + harness.token()
            let body = RequestCheckTests.payload(bytes: 2000)
            let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<2000 {
                    group.addTask {
                        var push = TestPush().to(String(format: "%08x", number))
                        push.authorization = token
                        push.body = body
                        return try await harness.send(push).status
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 == 200 ? 1 : 0 }
            }
            #expect(accepted == 2000)
            #expect(Set(harness.simulator.recording.pushes.map(\.deviceToken)).count == 2000)
            #expect(harness.simulator.statistics.streamViolations == 0)
        }
    }

    @Test("A second stream on a new connection is a violation: GOAWAY, and it is counted")
    func streamViolation() async throws {
        try await SimulatorHarness.run { harness async throws in
            try await WireClient.run(with: harness) { client in
                try await client.connection.write(
                    WireClient.frame(.settings, flags: 1)
                        + (try [1, 3].flatMap { stream in
                            WireClient.frame(.headers, flags: 4, stream: stream, try client.headers(Int(stream)))
                        }))
                let frames = try await client.frames(acknowledging: false)
                // The first SETTINGS of the simulator: one stream, header lists of 8000 bytes.
                #expect(frames.first?.kind == .settings)
                #expect(frames.first?.payload == [0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0x1F, 0x40])
                #expect(frames.contains { $0.kind == .goAway })
            }
            #expect(harness.simulator.statistics.streamViolations == 1)
            #expect(try await harness.send().status == 200)
        }
    }

    @Test("Graceful shutdown says GOAWAY, answers what was begun, and ends run")
    func gracefulShutdown() async throws {
        let directory = try TestDirectory()
        let identity = try SimulatorIdentity(directory: directory.path, topics: [])
        let clock = TestWallClock()
        var configuration = SimulatedAPNS.Configuration(identity: identity) { clock.now }
        configuration.port = 0
        configuration.shutdownGrace = .seconds(50)
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let simulator = SimulatedAPNS(configuration, logger: Logger(label: "simulator")) { port, _ in
            announce.yield(port)
        }
        simulator.rules.set(Rule(.accept, delayMilliseconds: 300), for: "aa01")
        simulator.rules.set(Rule(.neverAnswer), for: "aa02")
        let group = ServiceGroup(services: [simulator], logger: Logger(label: "group"))
        let running = Task { try await group.run() }
        let port = try #require(await ports.first { _ in true })
        let harness = try SimulatorHarness(
            simulator: simulator, identity: identity, clock: clock, port: port, controlPort: nil)
        let client = harness.client
        #expect(try await harness.send().status == 200)
        let arrivals = simulator.recording.arrivals()
        async let slow = harness.send(TestPush().to("aa01"))
        let silent = Task { try await harness.send(TestPush().to("aa02")) }
        await simulator.recording.wait(untilCount: 3)
        let begin = ContinuousClock.now
        await group.triggerGracefulShutdown()
        try await running.value
        // The silent one is not waited for.
        #expect(ContinuousClock.now - begin < .seconds(30))
        #expect(try await slow.status == 200)
        await #expect(throws: (any Error).self) { try await silent.value }
        #expect(await arrivals.reduce(into: 0) { count, _ in count += 1 } == 2)
        await #expect(throws: (any Error).self) { try await harness.send() }
        try await client.shutdown()
    }
}
