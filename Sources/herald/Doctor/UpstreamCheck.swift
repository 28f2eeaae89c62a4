import APNS
import FCMWire
import Logging
import PushModel
import Upstream

/// Asks every APNs endpoint of the configuration whether it would take our pushes.
///
/// There is no request without a device, so a push that no device can receive goes to each (app, environment): to a device
/// token of zeros, in the background, not stored. The refusal "BadDeviceToken" is the good answer: name lookup, TCP, TLS,
/// HTTP/2, the credential and the topic were all accepted before it.
struct UpstreamCheck {
    /// The ways to APNs.
    let apps: [APNSAppConfiguration]
    /// How long one answer may take.
    let limit: Duration
    let wallTime: WallTime

    /// Probes all at the same time.
    ///
    /// - Throws: ``APNSConfigurationError`` when a trust file can't be read.
    func findings() async throws(APNSConfigurationError) -> [Finding] {
        let sender = APNSSender(
            loopCount: 1, wallTime: wallTime, logger: Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() })
        do {
            try sender.use(apps)
        } catch {
            await sender.shutdown(within: .zero)
            throw error
        }
        let probes = probes()
        let outcomes = await sender.outcomes(of: probes.map(\.push), within: limit)
        let upstreams = sender.upstreams
        await sender.shutdown(within: .seconds(1))
        return zip(probes, outcomes).map { finding(of: $0, $1, among: upstreams) } + Self.clocks(upstreams)
    }

    /// One push to a device token that no device has.
    private struct Probe {
        let push: Push
        let endpoint: UpstreamEndpoint
    }

    private func probes() -> [Probe] {
        apps.flatMap { app in
            app.endpoints.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { environment, endpoint in
                let route = PushRoute(project: app.project, app: app.app, channel: .apns(environment))
                return Self.push(along: route, to: environment).map { Probe(push: $0, endpoint: endpoint) }
            }
        }
    }

    private static func push(along route: PushRoute, to environment: PushEnvironment) -> Push? {
        let content = ApplePush(
            payload: Array(#"{"aps":{"content-available":1}}"#.utf8), pushType: .background,
            topic: route.app.rawValue, priority: .conserving, expiration: .once, collapseID: nil, id: nil,
            registrationIDOffset: nil)
        guard let token = DeviceToken(bytes: [UInt8](repeating: 0, count: 32)),
            let id = PushID(rawValue: "00000000-0000-8000-8000-000000000000")
        else { return nil }
        return Push(
            route: route, lane: .interactive, address: .apple(token, environment), content: content,
            payload: content.payload, id: id)
    }

    private func finding(of probe: Probe, _ outcome: Outcome?, among upstreams: [UpstreamStatus]) -> Finding {
        let route = probe.push.route
        let subject = "\(route.app) \(route.channel)"
        let place = "\(probe.endpoint)"
        switch outcome {
        case .accepted: return Finding(.good, subject, "\(place) takes pushes")
        case .rejected(let refusal) where refusal.scope.isAboutAddress:
            return Finding(.good, subject, "\(place) takes pushes; the credential and the topic are accepted")
        case .rejected(let refusal), .throttled(let refusal, _):
            let meaning = APNSReasonTable.catalog[refusal.reason]?.meaning ?? "APNs gives no more details."
            let isPassing =
                switch refusal.scope {
                case .load(.address), .load(.service), .load(.failure), .connection(.closing): true
                case .push, .addressDead, .addressDoubtful, .topic, .credential, .connection, .load: false
                }
            return Finding(isPassing ? .warning : .bad, subject, "\(place) answers \(refusal.reason): \(meaning)")
        case .notSent(let cause), .unknown(let cause):
            let failure = Self.failure(at: probe.endpoint, among: upstreams) ?? cause.rawValue
            return Finding(.bad, subject, "\(place) can't be used: \(failure)")
        case nil:
            let failure = Self.failure(at: probe.endpoint, among: upstreams)
            let text = failure.map { "can't be used: \($0)" } ?? "did not answer within \(limit)"
            return Finding(.bad, subject, "\(place) \(text)")
        }
    }

    /// How far the clock is off, for each upstream whose answers say what time it is.
    private static func clocks(_ upstreams: [UpstreamStatus]) -> [Finding] {
        upstreams.compactMap { upstream in
            guard let skew = upstream.clockSkew?.components.seconds else { return nil }
            let distance = abs(skew)
            let text = "\(distance) s \(skew < 0 ? "behind" : "ahead of") \(upstream.name)"
            if distance <= tolerableSkew { return Finding(.good, "clock", text) }
            let grade: Finding.Grade = distance <= workableSkew ? .warning : .bad
            return Finding(grade, "clock", text + "; provider tokens are refused when it is far off: use NTP")
        }
    }

    /// A skew in seconds up to which nothing goes wrong.
    private static let tolerableSkew: Int64 = 60
    /// Seconds beyond which a provider token is refused: it is renewed after 45 minutes and good for an hour.
    private static let workableSkew: Int64 = 15 * 60

    private static func failure(at endpoint: UpstreamEndpoint, among upstreams: [UpstreamStatus]) -> String? {
        upstreams.first { $0.name.hasPrefix("\(endpoint) ") && $0.lastFailure != nil }?.lastFailure
    }
}
