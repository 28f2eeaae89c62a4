import Delivery
import HTTPTypes
import JSON
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import Testing

@testable import GatewayAPI

/// With little room on the disk new messages are refused, and nothing else.
@Suite(.timeLimit(.minutes(5)))
struct DiskSpaceTests {
    private static let path = "/v1/projects/demo/messages:send"

    @Test func newMessagesAreRefusedWhileTheDiskIsLow() async throws {
        let free = Mutex(1_000_000)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let disk = DiskSpace(
            limitBytes: 800_000, read: { free.withLock { $0 } }, clock: ContinuousClock(),
            wallTime: { TestGateway.startTime }, logger: logger)
        let collector = LogCollector()
        let gateway = try await TestGateway(disk: disk, logger: collector.logger)
        let install = try await gateway.register()
        let body = #"{"message":{"token":"\#(install.token)","notification":{"title":"Hi"}}}"#
        #expect(try await gateway.request(.post, Self.path, body).status == 200)
        free.withLock { $0 = 799_999 }
        disk.look()
        let refused = try await gateway.request(.post, Self.path, body)
        #expect(refused.status == 503 && refused.headers[.retryAfter] == "60")
        let error = try refused.json["error"]
        #expect(error?["status"] == .string("UNAVAILABLE"))
        guard case .array(let details)? = error?["details"] else {
            Issue.record("no details")
            return
        }
        #expect(details.last?["reason"] == .string("DISK_SPACE_LOW"))
        #expect(!collector.lines.contains { $0.hasPrefix("error") }, "the gateway says it once, not for each request")
        // What was accepted goes on, and registrations do.
        try await gateway.finish(.interactive)
        _ = try await gateway.register("b")
        let status = try await gateway.request(.get, "/v1/projects/demo/status").json
        #expect(status["disk"]?["low"] == .bool(true) && status["disk"]?["freeBytes"] == .number("799999"))
        // A little more than the limit is no room yet.
        free.withLock { $0 = 850_000 }
        disk.look()
        #expect(try await gateway.request(.post, Self.path, body).status == 503)
        free.withLock { $0 = 900_000 }
        disk.look()
        #expect(try await gateway.request(.post, Self.path, body).status == 200)
    }

    @Test func daysLeftAtTodaysRateAreToldAndFewOfThemWarnOnceADay() async throws {
        let free = Mutex(10_000_000)
        let now = Mutex(TestGateway.startTime)
        let collector = LogCollector()
        let disk = DiskSpace(
            limitBytes: 1_000_000, read: { free.withLock { $0 } }, clock: ContinuousClock(),
            wallTime: { now.withLock { $0 } }, logger: collector.logger)
        func pass(hours: Int, using bytes: Int) {
            for _ in 0..<hours {
                now.withLock { $0 = $0 + .seconds(3600) }
                free.withLock { $0 -= bytes }
                disk.look()
            }
        }
        var warnings: Int { collector.lines.count { $0.contains("full soon") } }
        #expect(disk.state.daysLeft == nil, "of one look nothing is known")
        pass(hours: 1, using: 10_000)
        // 240,000 bytes a day, and 8,990,000 until the limit.
        #expect(try abs(#require(disk.state.daysLeft) - 37.46) < 0.01 && warnings == 0)
        let gateway = try await TestGateway(disk: disk, logger: collector.logger)
        let status = try await gateway.request(.get, "/v1/projects/demo/status").json
        #expect(status["disk"]?["daysLeft"] == .number("37"))
        pass(hours: 20, using: 100_000)
        #expect(try #require(disk.state.daysLeft) < 7 && warnings == 1, "\(collector.lines)")
        pass(hours: 12, using: 100_000)
        #expect(warnings == 2, "a day later")
        pass(hours: 30, using: 0)
        #expect(disk.state.daysLeft == nil && warnings == 2, "it is not being filled")
        #expect(!disk.isLow)
    }

    @Test func aLimitOfZeroAndAnUnknownSizeRefuseNothing() {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        for (limit, free) in [(0, 0), (1000, nil)] as [(Int, Int?)] {
            let disk = DiskSpace(
                limitBytes: limit, read: { free }, clock: ContinuousClock(), wallTime: { TestGateway.startTime },
                logger: logger)
            #expect(!disk.isLow && disk.state.freeBytes == free)
        }
    }
}
