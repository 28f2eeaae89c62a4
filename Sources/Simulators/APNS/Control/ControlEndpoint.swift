import Foundation
import NIOCore
import NIOHTTP1

/// The control endpoint: plain HTTP/1.1 on loopback, for tests in any language and for a look with curl.
///
/// | request | answer |
/// |---|---|
/// | `GET /pushes[?after=N]` | the remembered pushes with a number above N, NDJSON (``RecordedPush``) |
/// | `DELETE /pushes` | forgets them, numbers start again |
/// | `GET /rules` | all rules (``RuleSet``) |
/// | `PUT /rules/default`, `PUT /rules/{device token}` | sets a rule (body: ``Rule``) |
/// | `DELETE /rules`, `DELETE /rules/default`, `DELETE /rules/{device token}` | removes rules |
/// | `GET /scenarios` | the scenarios in force (``ScenarioSet``) |
/// | `PUT /scenarios` | replaces them (body: ``ScenarioSet``) |
/// | `DELETE /scenarios` | every connection is a good one again |
/// | `GET /statistics` | counts (``Statistics``) |
///
/// Errors are `{"error": "…"}`. Rules and scenarios set here live until the simulator ends.
struct ControlEndpoint: Sendable {
    let rules: RuleBook
    let scenarios: ScenarioBook
    let recording: Recording
    let tally: Tally

    struct Reply: Sendable {
        var status: HTTPResponseStatus
        var contentType = "application/json"
        var body = Data()

        static let done = Reply(status: .noContent)

        static func json(_ value: some Encodable) throws -> Reply {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return Reply(status: .ok, body: try encoder.encode(value) + Data("\n".utf8))
        }

        static func error(_ status: HTTPResponseStatus, _ text: String) -> Reply {
            Reply(status: status, body: Data("{\"error\":\(jsonString(text))}\n".utf8))
        }
    }

    func set(up channel: any Channel, _ open: OpenConnections) -> EventLoopFuture<Void> {
        open.add(channel)
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(ControlHandler(endpoint: self))
        }
    }

    /// The reply to one request.
    func reply(to head: HTTPRequestHead, body: Data) -> Reply {
        // A page in a browser must not reach the simulator through a name that it pointed at 127.0.0.1.
        guard isLocal(head.headers.first(name: "host")) else { return .error(.forbidden, "the Host must be local") }
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/").map(String.init)
        let query = parts.count > 1 ? String(parts[1]) : ""
        do {
            switch (head.method, path.first, path.count) {
            case (.GET, "pushes", 1): return try pushes(query)
            case (.DELETE, "pushes", 1):
                recording.clear()
                return .done
            case (.GET, "rules", 1): return try .json(rules.ruleSet)
            case (.DELETE, "rules", 1):
                rules.clear()
                return .done
            case (.PUT, "rules", 2): return set(body, for: path[1])
            case (.DELETE, "rules", 2): return set(nil, for: path[1])
            case (.GET, "scenarios", 1): return try .json(scenarios.scenarioSet)
            case (.PUT, "scenarios", 1): return setScenarios(body)
            case (.DELETE, "scenarios", 1):
                scenarios.set(ScenarioSet())
                return .done
            case (.GET, "statistics", 1): return try .json(tally.statistics)
            case (_, "pushes", 1), (_, "rules", 1...2), (_, "scenarios", 1), (_, "statistics", 1):
                return .error(.methodNotAllowed, "\(head.method.rawValue) is not possible here")
            default: return .error(.notFound, "there is /pushes, /rules, /scenarios and /statistics")
            }
        } catch {
            return .error(.internalServerError, "\(error)")
        }
    }

    private func pushes(_ query: String) throws -> Reply {
        var after = 0
        if !query.isEmpty {
            guard query.hasPrefix("after="), let number = Int(query.dropFirst("after=".count)), number >= 0 else {
                return .error(.badRequest, "the query can only be after=N, N being a push's number")
            }
            after = number
        }
        return Reply(
            status: .ok, contentType: "application/x-ndjson", body: try NDJSON.encode(recording.pushes(after: after)))
    }

    private func set(_ body: Data?, for name: String) -> Reply {
        guard name == "default" || RuleSet.isDeviceToken(name) else {
            return .error(.badRequest, "\(name): must be 'default' or a device token in hex")
        }
        var rule: Rule?
        do {
            rule = try body.map { try JSONDecoder().decode(Rule.self, from: $0) }
        } catch let error as DecodingError {
            return .error(.badRequest, error.problem)
        } catch {
            return .error(.badRequest, "is not JSON")
        }
        if name == "default" {
            rules.setDefault(rule)
        } else {
            rules.set(rule, for: name)
        }
        return .done
    }

    private func setScenarios(_ body: Data) -> Reply {
        do {
            scenarios.set(try JSONDecoder().decode(ScenarioSet.self, from: body))
        } catch let error as DecodingError {
            return .error(.badRequest, error.problem)
        } catch {
            return .error(.badRequest, "is not JSON")
        }
        return .done
    }

    private func isLocal(_ host: String?) -> Bool {
        guard let host else { return true }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "::1"].contains(name)
    }
}

/// Reads one request after the other and writes the replies.
private final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// A rule is a line; more than this is none.
    private static let bodyLimitBytes = 65_536

    private let endpoint: ControlEndpoint
    private var head: HTTPRequestHead?
    private var body = Data()
    private var isTooLong = false

    init(endpoint: ControlEndpoint) {
        self.endpoint = endpoint
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = Data()
            isTooLong = false
        case .body(let part):
            isTooLong = isTooLong || body.count + part.readableBytes > Self.bodyLimitBytes
            if !isTooLong { body.append(contentsOf: part.readableBytesView) }
        case .end:
            guard let head else { return }
            self.head = nil
            let reply =
                isTooLong
                ? .error(.payloadTooLarge, "the body is longer than 64 KiB") : endpoint.reply(to: head, body: body)
            write(reply, to: head, context: context)
        }
    }

    private func write(_ reply: ControlEndpoint.Reply, to head: HTTPRequestHead, context: ChannelHandlerContext) {
        var headers: HTTPHeaders = [:]
        if reply.status != .noContent {
            headers.add(name: "content-type", value: reply.contentType)
            headers.add(name: "content-length", value: "\(reply.body.count)")
        }
        if !head.isKeepAlive { headers.add(name: "connection", value: "close") }
        let response = HTTPResponseHead(version: .http1_1, status: reply.status, headers: headers)
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        if !reply.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: reply.body)))), promise: nil)
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        if !head.isKeepAlive { written.futureResult.whenComplete { _ in channel.close(promise: nil) } }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
