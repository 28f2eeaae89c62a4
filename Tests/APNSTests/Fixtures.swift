import Crypto
import FCMWire
import HTTP2Client
import Logging
import PushModel
import Signing
import Synchronization
import TestSupport
import Testing
import Upstream

@testable import APNS

/// Gathers the reports of one batch and insists that each index comes exactly once.
final class ReportCollector: Sendable {
    private struct State {
        var reports: [Int: PushReport] = [:]
        var calls = 0
        var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let count: Int
    private let state = Mutex(State())

    init(of count: Int) {
        self.count = count
    }

    var reports: [Int: PushReport] { state.withLock { $0.reports } }
    var calls: Int { state.withLock { $0.calls } }
    var outcomes: [Outcome?] { state.withLock { state in (0..<count).map { state.reports[$0]?.outcome } } }

    func take(_ reports: [PushReport]) {
        let ready = state.withLock { state in
            state.calls += 1
            for report in reports {
                #expect((0..<count).contains(report.index))
                #expect(state.reports.updateValue(report, forKey: report.index) == nil, "reported twice")
            }
            guard let waiting = state.waiting, state.reports.count >= waiting.count else {
                return nil as CheckedContinuation<Void, Never>?
            }
            state.waiting = nil
            return waiting.continuation
        }
        ready?.resume()
    }

    /// Returns once `count` reports are in.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.reports.count < count { state.waiting = (count, continuation) }
                return state.reports.count >= count
            }
            if isThere { continuation.resume() }
        }
    }
}

/// Keeps what is logged at warning and notice.
struct LogCapture: LogHandler {
    final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func append(_ line: String) { lines.withLock { $0.append(line) } }
    }

    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .notice

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let details = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        lines.append("\(event.level): \(event.message) \(details)")
    }
}

extension PoolConfiguration {
    /// A machine that is busy must not look like a peer that is slow or gone.
    mutating func allowForABusyMachine() {
        pingInterval = .zero
        connectTimeout = .seconds(240)
        warmingTimeout = .seconds(240)
        streamTimeout = .seconds(240)
        queueTimeout = .seconds(240)
    }
}

/// A sender over a fake transport, with all that a test looks at.
struct SenderFixture {
    let signer = P256.Signing.PrivateKey()
    let time = TestTime()
    let transport: FakeTransport
    let log = LogCapture.Lines()
    let sender: APNSSender

    init(
        transport: FakeTransport = FakeTransport(), badDeviceTokens: DoubtfulAddressLimits = DoubtfulAddressLimits()
    ) {
        self.transport = transport
        let log = log
        sender = APNSSender(
            transport: transport, badDeviceTokens: badDeviceTokens, wallTime: time.wallTime, uptime: time.uptime,
            logger: Logger(label: "test") { _ in LogCapture(lines: log) })
    }

    func app(
        _ id: String = "com.example.app", team: String = "TEAM123456", key: String = "ABC1234567",
        signer: P256.Signing.PrivateKey? = nil, trust: String? = nil,
        endpoints: [PushEnvironment: UpstreamEndpoint] = [
            .production: .apple(.production), .sandbox: .apple(.sandbox),
        ]
    ) throws -> APNSAppConfiguration {
        APNSAppConfiguration(
            project: try #require(ProjectID(rawValue: "demo")), app: try #require(AppID(rawValue: id)), teamID: team,
            keyID: key, key: try ES256PrivateKey(pem: (signer ?? self.signer).pemRepresentation),
            endpoints: endpoints, trustFile: trust)
    }

    /// Sends and waits for all reports.
    func reports(of batch: [Push]) async -> [PushReport] {
        let collector = ReportCollector(of: batch.count)
        await sender.send(batch) { collector.take($0) }
        await collector.wait(for: batch.count)
        return collector.reports.values.sorted { $0.index < $1.index }
    }

    /// Sends and waits for all outcomes.
    func send(_ batch: [Push]) async -> [Outcome?] {
        let collector = ReportCollector(of: batch.count)
        await sender.send(batch) { collector.take($0) }
        await collector.wait(for: batch.count)
        return collector.outcomes
    }
}

/// The content of an alert for `com.example.app`.
func makeContent(
    priority: PushPriority = .immediate, expiration: APNSExpiration = .until(Timestamp(seconds: 1_700_003_600)),
    collapseID: String? = nil, pushType: PushType = .alert
) -> ApplePush {
    ApplePush(
        payload: Array(#"{"aps":{"alert":"Hi"}}"#.utf8), pushType: pushType,
        topic: "com.example.app" + pushType.topicSuffix, priority: priority, expiration: expiration,
        collapseID: collapseID, id: nil, registrationIDOffset: nil)
}

/// A push for the project `demo`, to a device token that begins with `number`.
func makePush(
    _ number: Int64 = 1, app: String = "com.example.app", environment: PushEnvironment = .production,
    lane: Lane = .bulk, isProven: Bool = true, isAwaited: Bool = false, content: ApplePush = makeContent(),
    payload: [UInt8]? = nil
) throws -> Push {
    try makePush(
        number, app: app, environment: environment, lane: lane, isProven: isProven, isAwaited: isAwaited,
        composed: content, payload: payload)
}

func answer(_ status: Int, _ body: String = "", headers: [HeaderField] = []) -> Exchange {
    .answered(Response(status: status, headers: headers, body: Array(body.utf8)))
}

/// The time that really passes.
func realUptime() -> Uptime {
    let clock = ContinuousClock()
    let start = clock.now
    return { start.duration(to: clock.now) }
}

extension Refusal {
    /// The refusal that an answer with this status and reason is.
    static func apns(_ status: Int, _ reason: String?) -> Refusal {
        Refusal(apnsStatus: status, reason: reason.map(Reason.init(rawValue:)), timestamp: nil)
    }
}

extension APNSService {
    /// The service with some provider key.
    static let sample = APNSService(
        credential: .providerKey(teamID: "TEAM123456", keyID: "ABC1234567", publicKeyPEM: ""))
}
