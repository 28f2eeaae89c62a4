import JSON
package import Logging
package import PushModel
import Synchronization
package import Upstream

/// Asks APNs' management host about broadcast channels (Apple, "Sending channel management requests to APNs"): one pool
/// and one provider token for each endpoint and credential, apart from those of pushes.
///
/// Lifecycle: ``use(_:)`` sets the apps, as often as the configuration changes; ``shutdown(within:)`` ends everything,
/// once.
package final class APNSChannelClient: ChannelService {
    /// How one app's channels are managed in one environment.
    private struct Way: Sendable {
        let key: UpstreamKey
        let credential: APNSCredential
    }

    private let requester: ServiceRequester<UpstreamKey>
    private let wallTime: WallTime
    private let uptime: Uptime
    private let ways = Mutex<[ChannelHome: Way]>([:])

    /// Prepares the client; nothing is dialed before the first question.
    package convenience init(wallTime: @escaping WallTime, logger: Logger) {
        let clock = ContinuousClock()
        let start = clock.now
        self.init(
            requester: ServiceRequester(logger: logger), wallTime: wallTime,
            uptime: { start.duration(to: clock.now) })
    }

    init(requester: ServiceRequester<UpstreamKey>, wallTime: @escaping WallTime, uptime: @escaping Uptime) {
        self.requester = requester
        self.wallTime = wallTime
        self.uptime = uptime
    }

    /// Replaces the apps.
    package func use(_ apps: [APNSAppConfiguration]) {
        var next: [ChannelHome: Way] = [:]
        for app in apps {
            for environment in PushEnvironment.allCases {
                let endpoint = app.channelEndpoints[environment] ?? .appleChannels(environment)
                let home = ChannelHome(project: app.project, app: app.app, environment: environment)
                next[home] = Way(
                    key: UpstreamKey(app, endpoint: endpoint, proxy: app.proxies[environment]),
                    credential: app.credential)
            }
        }
        ways.withLock { $0 = next }
    }

    /// As ``ServiceRequester/shutdown(within:)``.
    package func shutdown(within limit: Duration) async { await requester.shutdown(within: limit) }
}

// MARK: - ChannelService

extension APNSChannelClient {
    package func create(_ policy: StoragePolicy, in home: ChannelHome) async -> Result<ChannelID, ChannelFailure> {
        let body = JSONValue.object([
            .init("message-storage-policy", .number(policy.apnsCode)), .init("push-type", .string("LiveActivity")),
        ])
        let request = ServiceRequest(
            "POST", "/1/apps/\(home.app.rawValue)/channels", fields: [("content-type", "application/json")],
            body: body.bytes)
        return await ask(request, in: home, success: 201) { response in
            response.header("apns-channel-id").flatMap(ChannelID.init(rawValue:))
        }
    }

    package func storagePolicy(of id: ChannelID, in home: ChannelHome) async -> Result<StoragePolicy, ChannelFailure> {
        let request = ServiceRequest(
            "GET", "/1/apps/\(home.app.rawValue)/channels", fields: [("apns-channel-id", id.rawValue)])
        return await ask(request, in: home, success: 200) { response in
            guard case .number(let code)? = Self.json(response)?["message-storage-policy"] else { return nil }
            return StoragePolicy.allCases.first { $0.apnsCode == code }
        }
    }

    package func channels(in home: ChannelHome) async -> Result<[ChannelID], ChannelFailure> {
        let request = ServiceRequest("GET", "/1/apps/\(home.app.rawValue)/all-channels")
        return await ask(request, in: home, success: 200) { response in
            guard case .array(let ids)? = Self.json(response)?["channels"] else { return nil }
            let read = ids.compactMap { $0.stringValue.flatMap(ChannelID.init(rawValue:)) }
            return read.count == ids.count ? read : nil
        }
    }

    package func delete(_ id: ChannelID, in home: ChannelHome) async -> Result<Void, ChannelFailure> {
        let request = ServiceRequest(
            "DELETE", "/1/apps/\(home.app.rawValue)/channels", fields: [("apns-channel-id", id.rawValue)])
        return await ask(request, in: home, success: 204) { _ in () }
    }

    private static func json(_ response: ServiceResponse) -> JSONValue? {
        do {
            return try JSONValue(parsing: response.body)
        } catch {
            // An answer that is cut off or no JSON is none of APNs: the caller says so.
            return nil
        }
    }

    /// Sends a request and reads its answer.
    ///
    /// - Parameters:
    ///   - success: the status that says it was done.
    ///   - read: takes what was asked for from the answer; `nil`: it is not there.
    private func ask<Value>(
        _ request: ServiceRequest, in home: ChannelHome, success: Int, read: (ServiceResponse) -> Value?
    ) async -> Result<Value, ChannelFailure> {
        guard let way = ways.withLock({ $0[home] }) else { return .failure(ChannelFailure(.notSent(.noRoute))) }
        let answer = await requester.send(
            request, to: way.key, keeping: ["apns-channel-id", "apns-request-id", "retry-after"]
        ) {
            (
                UpstreamConfiguration(
                    name: "\(way.key.name) channels", endpoint: way.key.endpoint, trustFile: way.key.trustFile,
                    proxy: way.key.proxy, identity: way.credential.identity),
                tokens(of: way.credential)
            )
        }
        switch answer {
        case .notSent(let cause): return .failure(ChannelFailure(.notSent(cause)))
        case .unknown(let cause): return .failure(ChannelFailure(.unknown(cause)))
        case .answered(let response):
            guard response.status == success else { return .failure(failure(response, of: way.key)) }
            guard let value = read(response) else { return .failure(ChannelFailure(.unknown(.protocolError))) }
            return .success(value)
        }
    }

    /// What an answer of another status says, by the ``APNSReasonTable``.
    private func failure(_ response: ServiceResponse, of key: UpstreamKey) -> ChannelFailure {
        // A success that Apple does not document: nothing is known of what was done.
        if (200...299).contains(response.status) { return ChannelFailure(.unknown(.protocolError)) }
        let error = ErrorBody(response.body)
        let refusal = Refusal(apnsStatus: response.status, reason: error.reason, timestamp: error.timestamp)
        if refusal.scope == .connection(.tokenExpired) { requester.expireToken(of: key) }
        let seconds = response.header("retry-after").flatMap { Int64($0) }
        return ChannelFailure(
            .refused(refusal), meaning: APNSReasonTable.catalog[refusal.reason]?.meaning,
            retryAfter: seconds.map { .seconds(min(max(0, $0), 3600)) })
    }

    private func tokens(of credential: APNSCredential) -> (any AuthorizationSource)? {
        switch credential {
        case .providerKey(let teamID, let keyID, let key):
            ProviderTokenSource(keyID: keyID, teamID: teamID, key: key, wallTime: wallTime, uptime: uptime)
        case .certificate: nil
        }
    }
}

extension StoragePolicy {
    /// The value of `message-storage-policy`.
    fileprivate var apnsCode: String {
        switch self {
        case .none: "0"
        case .mostRecent: "1"
        }
    }
}

extension UpstreamEndpoint {
    /// Apple's management host of channels in an environment.
    package static func appleChannels(_ environment: PushEnvironment) -> UpstreamEndpoint {
        switch environment {
        case .production: UpstreamEndpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)
        case .sandbox: UpstreamEndpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        }
    }
}
