import AsyncHTTPClient
import Delivery
import JSON
import Logging
import NIOCore
import NIOHTTP1
import PushModel
import ServiceLifecycle
import Upstream

/// Sends spans to a collector by OTLP/HTTP in JSON: a batch as soon as there is one, what there is every five seconds, and
/// what is left at the end.
///
/// One request at a time. What the collector can't take now (429, 502, 503, 504, no connection) is sent again, after
/// its `Retry-After` or a pause that doubles; everything else it refuses is dropped and counted. Meanwhile the queue
/// takes what it has room for.
struct SpanExporter: Service {
    /// Between two requests, when no batch is full.
    static let interval: Duration = .seconds(5)
    /// The answers that say: later.
    static let temporary: Set<UInt> = [429, 502, 503, 504]
    /// Requests for one batch, at most.
    private static let attempts = 6
    /// The first pause, which doubles.
    private static let firstPause: Duration = .seconds(1)
    /// The longest pause, also where the collector asks for a longer one.
    private static let longestPause: Duration = .seconds(60)
    /// How long a request may take.
    static let standardRequestLimit: Duration = .seconds(10)
    /// As long as a supervisor should wait for figures.
    static let standardEndLimit: Duration = .seconds(5)
    private static let answerLimitBytes = 1 << 20

    let queue: SpanQueue
    /// Where spans go: the whole URL.
    let url: String
    /// Fields of each request.
    let headers: [(name: String, value: String)]
    let document: SpanDocument
    let clock: any Clock<Duration>
    let wallTime: WallTime
    let logger: Logger
    /// How long the head of an answer may take, and each part of its body after another.
    var requestLimit = standardRequestLimit
    /// How long the end of the gateway waits for the collector.
    var endLimit = standardEndLimit

    /// Works until graceful shutdown, then sends what is left.
    func run() async {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = TimeAmount(requestLimit)
        // The limit of a request ends with the head of its answer: the body has one between two of its parts.
        configuration.timeout.read = TimeAmount(requestLimit)
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await queue.isReady.wait(atMost: Self.interval, on: clock)
                await exportAll(by: client)
            }
        }
        await flush(by: client)
        do {
            try await client.shutdown()
        } catch {
            logger.debug("the collector's connections did not close", metadata: ["error": "\(error)"])
        }
    }

    private func exportAll(by client: HTTPClient) async {
        while !Task.isCancelled {
            let batch = queue.take()
            guard !batch.isEmpty else { return }
            await export(batch, by: client)
            guard batch.count == SpanQueue.batchSize else { return }
        }
    }

    /// What is left, each batch once and all of it within a limit.
    private func flush(by client: HTTPClient) async {
        let end = ContinuousClock.now + endLimit
        while true {
            let batch = queue.take()
            guard !batch.isEmpty else { return }
            let left = end - ContinuousClock.now
            guard left > .zero else {
                queue.lost(batch.count, .unreachable)
                continue
            }
            switch await answer(to: batch, by: client, within: left) {
            case .taken, .refused: break
            case .later(_, let reason):
                queue.lost(batch.count, .unreachable)
                logger.warning("spans not exported", metadata: ["count": "\(batch.count)", "reason": "\(reason)"])
            }
        }
    }

    private func export(_ batch: [FinishedSpan], by client: HTTPClient) async {
        var pause = Self.firstPause
        for attempt in 1... {
            guard case .later(let asked, let reason) = await answer(to: batch, by: client, within: requestLimit)
            else { return }
            // The gateway stops, and sends what is left.
            guard !Task.isCancelled else { return queue.putBack(batch) }
            guard attempt < Self.attempts else {
                queue.lost(batch.count, .unreachable)
                return logger.warning(
                    "spans not exported", metadata: ["count": "\(batch.count)", "reason": "\(reason)"])
            }
            do {
                try await clock.sleep(for: min(asked ?? pause * .random(in: 0.8...1.2), Self.longestPause))
            } catch {
                // The gateway stops, and sends what is left.
                return queue.putBack(batch)
            }
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private enum Answer {
        /// The collector has them.
        case taken
        /// It wants none of them.
        case refused
        /// Later, and after how long it says.
        case later(Duration?, reason: String)
    }

    private func answer(
        to batch: [FinishedSpan], by client: HTTPClient, within limit: Duration
    ) async -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        for header in headers { request.headers.replaceOrAdd(name: header.name, value: header.value) }
        request.headers.replaceOrAdd(name: "content-type", value: "application/json")
        request.body = .bytes(document.json(of: batch).bytes)
        do {
            let response = try await client.execute(request, timeout: TimeAmount(limit))
            let body = try await response.body.collect(upTo: Self.answerLimitBytes)
            return judge(response, Array(body.readableBytesView), batch.count)
        } catch {
            return .later(nil, reason: GatewayClient.reason(error))
        }
    }

    private func judge(_ response: HTTPClientResponse, _ body: [UInt8], _ count: Int) -> Answer {
        if response.status == .ok {
            let rejected = min(count, SpanDocument.rejected(in: body))
            queue.exported(count - rejected)
            queue.lost(rejected, .refused)
            if rejected > 0 {
                logger.warning("the collector refused spans", metadata: ["count": "\(rejected)", "status": "200"])
            }
            return .taken
        }
        guard Self.temporary.contains(response.status.code) else {
            queue.lost(count, .refused)
            logger.warning(
                "the collector refused spans", metadata: ["count": "\(count)", "status": "\(response.status.code)"])
            return .refused
        }
        let asked = response.headers.first(name: "retry-after").flatMap { pause(after: $0) }
        return .later(asked, reason: "the collector answered \(response.status.code)")
    }

    /// `Retry-After` in seconds or as a date (RFC 9110 §10.2.3).
    private func pause(after text: String) -> Duration? {
        if let seconds = Int64(text) { return seconds < 0 ? nil : .seconds(min(seconds, 86_400)) }
        let now = wallTime()
        return HTTPDate.time(of: text, now: now).map { max(.zero, $0 - now) }
    }
}
