import Delivery
import HTTPTypes
import JSON
import Logging
import PushModel
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
