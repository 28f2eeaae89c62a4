import HTTP2Client
import Logging
import PushModel
import Signing
import Synchronization

/// What a pool is shared by: requests with the same key may travel on the same connections, others never (Apple binds a
/// connection to a team and a key on its first push).
struct UpstreamKey: Hashable, Sendable {
    let endpoint: APNSEndpoint
    let credential: Credential
    let trustFile: String?

    /// A provider key. The public half is part of it: a file that was replaced is another key, whatever its id says.
    struct Credential: Hashable, Sendable {
        let teamID: String
        let keyID: String
        let publicKeyPEM: String
    }

    init(_ app: APNSAppConfiguration, endpoint: APNSEndpoint) {
        self.endpoint = endpoint
        self.credential = Credential(teamID: app.teamID, keyID: app.keyID, publicKeyPEM: app.key.publicKeyPEM)
        self.trustFile = app.trustFile
    }

    /// `host:port TEAM/KEY`.
    var name: String { "\(endpoint) \(credential.teamID)/\(credential.keyID)" }

    /// The pool's configuration.
    var poolConfiguration: PoolConfiguration {
        var configuration = PoolConfiguration(host: endpoint.host, port: endpoint.port)
        if let trustFile { configuration.trust = .file(trustFile) }
        // The only field that is read; the others would be kept for nothing.
        configuration.responseFields = ["retry-after"]
        return configuration
    }
}

/// One pool of connections with its provider token. The sender closes it.
final class Upstream: Sendable {
    let key: UpstreamKey
    let pool: any RequestPool
    let tokens: ProviderTokenSource
    private let queueLimit: Int
    private let wallTime: WallTime
    private let logger: Logger
    private let health = Mutex(UpstreamHealth())

    init(
        key: UpstreamKey, pool: any RequestPool, tokens: ProviderTokenSource, wallTime: @escaping WallTime,
        logger: Logger
    ) {
        self.key = key
        self.pool = pool
        self.tokens = tokens
        self.queueLimit = key.poolConfiguration.queueLimit
        self.wallTime = wallTime
        var logger = logger
        logger[metadataKey: "upstream"] = "\(key.name)"
        self.logger = logger
    }

    /// Sends the pushes of `batch` at `indices`; suspends while the pool's queue is full.
    func send(
        _ batch: [Push], at indices: [Int], report: @escaping @Sendable ([PushReport]) -> Void
    ) async {
        let token: ProviderToken
        do {
            token = try tokens.current()
        } catch {
            fail(indices, because: error, report: report)
            return
        }
        var builder = RequestBuilder(token: token)
        let requests = indices.map { builder.request(for: batch[$0]) }
        await pool.submit(requests) { completions in
            report(self.read(completions, at: indices, token: token))
        }
    }

    /// The upstream as operators see it.
    var status: UpstreamStatus {
        let statistics = pool.statistics
        return UpstreamStatus(
            name: key.name, isReachable: statistics.connections > 0 || statistics.lastFailure == nil,
            lastFailure: statistics.lastFailure, connections: statistics.connections,
            streamsInUse: statistics.streamsInUse, streamLimit: statistics.streamLimit, queued: statistics.queued,
            queueLimit: queueLimit, circuit: UpstreamCircuit(statistics.circuit), failedDials: statistics.failedDials,
            goAways: statistics.goAwaysByReason)
    }

    private func fail(
        _ indices: [Int], because error: SigningError, report: @Sendable ([PushReport]) -> Void
    ) {
        let cause = TransportCause.signingFailed
        act(on: [.problem(.init(name: cause.rawValue, detail: error.message, remedy: .none))])
        report(indices.map { PushReport(index: $0, outcome: .notSent(cause), latency: .zero) })
    }

    /// Reads what came back, on a loop thread.
    private func read(
        _ completions: [ConnectionPool.Completion], at indices: [Int], token: ProviderToken
    ) -> [PushReport] {
        var signs: [UpstreamSign] = []
        signs.reserveCapacity(completions.count)
        let reports = completions.map { completion in
            let answer = Answer(completion.exchange)
            signs.append(answer.sign)
            return PushReport(
                index: indices[completion.index], outcome: answer.outcome, latency: completion.latency)
        }
        let sawExpiredToken = signs.contains {
            if case .problem(let problem) = $0 { problem.remedy == .freshToken } else { false }
        }
        // The token first, so that the new connections begin with the new one.
        if sawExpiredToken { tokens.expire(token.issuedAt) }
        act(on: signs)
        return reports
    }

    private func act(on signs: [UpstreamSign]) {
        let now = wallTime()
        for action in health.withLock({ $0.note(signs, at: now) }) {
            switch action {
            case .tell(let problem):
                logger.warning(
                    "upstream has a problem",
                    metadata: ["reason": "\(problem.name)", "detail": "\(problem.detail)"])
            case .tellRecovery(let name):
                logger.notice("upstream works again", metadata: ["reason": "\(name)"])
            case .recycle:
                logger.debug("replacing the upstream's connections")
                pool.recycleConnections()
            }
        }
    }
}

extension UpstreamCircuit {
    fileprivate init(_ circuit: Circuit) {
        switch circuit {
        case .closed: self = .closed
        case .open: self = .open
        case .halfOpen: self = .halfOpen
        }
    }
}
