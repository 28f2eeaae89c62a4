import HTTPListener
import HTTPTypes
import Logging
import Store
import Synchronization
import Testing

@testable import GatewayAPI

/// Keeps the lines that are logged through it.
final class LogCollector: Sendable {
    private let collected = Mutex<[String]>([])

    var lines: [String] { collected.withLock { $0 } }

    var logger: Logger {
        var logger = Logger(label: "test", factory: { _ in Handler(collector: self) })
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let collector: LogCollector
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            collector.collected.withLock { $0.append("\(event.level) \(event.message) \(all)") }
        }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct LoggingTests {
    @Test func requestsAreLoggedByRouteAndWithoutSecrets() async throws {
        let collector = LogCollector()
        let gateway = try await TestGateway(logger: collector.logger)
        let (id, token) = try await gateway.register("00aabbccdd")
        let name = try await gateway.send(#""token":"\#(token)""#, #""notification":{"title":"Eyes only"}"#)
        _ = try await gateway.request(.get, "/v1/projects/demo/registrations/\(token)", as: .client)
        _ = try await gateway.request(.get, "/v1/projects/demo/registrations/\(token)/nothing", as: .client)
        _ = try await gateway.request(.post, "/v1/projects/demo/messages:send", #"{"message":{"token":"\#(id)x"}}"#)
        let lines = collector.lines
        #expect(lines.contains { $0.contains("/v1/projects/{project}/registrations/{registration}") })
        let message = try #require(name.split(separator: "/").last)
        #expect(lines.contains { $0.contains("Message accepted") && $0.contains(message) })
        let secrets = [token, "00aabbccdd", "Eyes only"] + gateway.keys.values.map(\.text)
        for line in lines {
            #expect(!secrets.contains { line.contains($0) }, "\(line)")
        }
    }

    @Test func everyLineOfARequestBearsItsIdAndNoOther() async throws {
        let collector = LogCollector()
        let gateway = try await TestGateway(logger: collector.logger)
        let token = try await gateway.register().token
        let before = collector.lines.count
        _ = try await gateway.request(
            .post, "/v1/projects/demo/messages:send",
            #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#, headers: [.requestID: "order-77"])
        let lines = collector.lines.dropFirst(before)
        for text in ["Message accepted", "Request answered"] {
            let line = try #require(lines.first { $0.contains(text) })
            #expect(line.contains(#""request.id": order-77"#), "\(line)")
            #expect(!line.contains("hb.request.id"), "\(line)")
        }
    }

    @Test func aFailingStoreIsLoggedWithItsCause() async throws {
        let collector = LogCollector()
        let gateway = try await TestGateway(isBroken: true, logger: collector.logger)
        _ = try await gateway.request(.get, "/v1/projects/demo/messages")
        #expect(collector.lines.contains { $0.hasPrefix("error Request failed") && $0.contains("disk is full") })
    }
}
