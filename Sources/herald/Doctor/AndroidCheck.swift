import FCMRelay
import FCMWire
import JSON
import Logging
import PushModel
import Upstream

/// Asks Google for an access token for every Android app, and whether it would take a message: one that is only checked
/// (`validate_only`), to a token that no device has. The refusal of the token is the good answer: service account, permission,
/// project and API were all accepted before it.
struct AndroidCheck {
    /// The ways to Google.
    let apps: [FCMRelayAppConfiguration]
    /// How long one answer may take.
    let limit: Duration
    let wallTime: WallTime

    /// Asks for all apps at the same time.
    ///
    /// - Throws: ``FCMRelayConfigurationError`` when a trust file can't be read.
    func findings() async throws(FCMRelayConfigurationError) -> [Finding] {
        let probes = apps.compactMap { app in Self.push(to: app).map { (app, $0) } }
        guard !probes.isEmpty else { return [] }
        let sender = FCMRelaySender(
            loopCount: 1, connectionLimit: 1, wallTime: wallTime,
            logger: Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() })
        do {
            try sender.use(apps)
        } catch {
            await sender.shutdown(within: .zero)
            throw error
        }
        let outcomes = await sender.outcomes(of: probes.map(\.1), within: limit)
        let upstreams = sender.upstreams
        await sender.shutdown(within: .seconds(1))
        return zip(probes, outcomes).map { Self.finding(of: $0.0, $1, among: upstreams, limit) }
            + Self.clocks(upstreams)
    }

    private static func push(to app: FCMRelayAppConfiguration) -> Push? {
        let route = PushRoute(project: app.project, app: app.app, channel: .fcm)
        let source = JSONValue.object([.init("data", .object([.init("doctor", .string("1"))]))])
        guard let message = MessageID(rawValue: "doctor"),
            let token = AndroidToken(rawValue: "herald-doctor-000000:APA91bHeraldDoctorAsksWhetherGoogleTakesMessages"),
            // It has one key: nothing of it is refused.
            let content = try? AndroidPush(
                FCMMessage(stored: source),
                in: PushContext(
                    message: message, projectNumber: 0, broadcastTopic: nil,
                    app: App(id: app.app, service: .android(isReached: true)), expiresAt: Timestamp(milliseconds: .max)),
                isDryRun: true)
        else { return nil }
        return Push(
            route: route, lane: .interactive, address: .android(token), content: content, payload: content.payload,
            id: PushID(message: message, registration: RegistrationKey(rawValue: 1)))
    }

    private static func finding(
        of app: FCMRelayAppConfiguration, _ outcome: Outcome?, among upstreams: [UpstreamStatus], _ limit: Duration
    ) -> Finding {
        let subject = "\(app.app) fcm"
        let place = "\(app.endpoint)"
        let failure = upstreams.first { $0.name.hasPrefix("\(app.endpoint) \(app.account.projectID)") }?.lastFailure
        switch outcome {
        case .accepted:
            return Finding(.good, subject, "\(place) takes messages for \(app.account.projectID)")
        case .rejected(let refusal) where refusal.scope.isAboutAddress:
            return Finding(
                .good, subject, "\(place) takes messages for \(app.account.projectID); the account is accepted")
        case .rejected(let refusal), .throttled(let refusal, _):
            let meaning = FCMRelayReasonTable.catalog[refusal.reason]?.meaning ?? "Google gives no more details."
            let isPassing =
                switch refusal.scope {
                case .load: failure == nil
                case .push, .addressDead, .addressDoubtful, .topic, .credential, .connection: false
                }
            let detail = failure.map { " (\($0))" } ?? ""
            return Finding(
                isPassing ? .warning : .bad, subject, "\(place) answers \(refusal.reason): \(meaning)\(detail)")
        case .notSent(let cause), .unknown(let cause):
            return Finding(.bad, subject, "\(place) can't be used: \(failure ?? cause.rawValue)")
        case nil:
            let text = failure.map { "can't be used: \($0)" } ?? "did not answer within \(limit)"
            return Finding(.bad, subject, "\(place) \(text)")
        }
    }

    /// How far the clock is off: Google gives no access token for an assertion of another hour.
    private static func clocks(_ upstreams: [UpstreamStatus]) -> [Finding] {
        upstreams.compactMap { upstream in
            guard let skew = upstream.clockSkew?.components.seconds else { return nil }
            let text = "\(abs(skew)) s \(skew < 0 ? "behind" : "ahead of") \(upstream.name)"
            if abs(skew) <= 60 { return Finding(.good, "clock", text) }
            return Finding(
                abs(skew) <= 300 ? .warning : .bad, "clock",
                text + "; access tokens are refused when it is far off: use NTP")
        }
    }
}
