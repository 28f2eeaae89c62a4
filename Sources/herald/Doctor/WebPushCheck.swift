import FCMWire
import JSON
import Logging
import PushModel
import Signing
import WebPush

/// Shows the VAPID keys of the web apps, and asks the push services that project files name whether they would take our
/// pushes.
///
/// A push that no browser can receive goes to each: to a subscription that does not exist, not stored. "No such
/// subscription" is the good answer: name lookup, TCP, TLS, HTTP/2 and, where the service looks at it first, the token were
/// accepted before it. The services of browsers are not asked: they hear of a sender with the first subscription.
struct WebPushCheck {
    /// The ways to browsers.
    let apps: [WebPushAppConfiguration]
    /// How long one answer may take.
    let limit: Duration
    let wallTime: WallTime
    /// How many active registrations an app has by application key; `nil`: there is no store yet.
    var counts: @Sendable (WebPushAppConfiguration) async -> [[UInt8]: Int]? = { _ in nil }

    /// What is wrong, and what is well.
    func findings() async -> [Finding] {
        var findings: [Finding] = []
        for app in apps { findings += Self.keys(of: app, await counts(app)) }
        return findings + (await services())
    }

    /// Each key with its registrations: a former one that has none may leave the configuration, and one that the
    /// configuration does not have leaves its browsers without pushes.
    static func keys(of app: WebPushAppConfiguration, _ counts: [[UInt8]: Int]?) -> [Finding] {
        let subject = "\(app.app) VAPID"
        func count(_ point: [UInt8]) -> String { counts.map { ": \($0[point] ?? 0) registrations" } ?? "" }
        var findings = app.keys.enumerated().map { place, key in
            let text = Base64URL.text(key.publicPoint)
            let use = place == 0 ? "pages subscribe with \(text)" : "subscriptions with \(text) go on"
            return Finding(.good, subject, use + count(key.publicPoint))
        }
        let known = Set(app.keys.map(\.publicPoint))
        for (point, count) in (counts ?? [:]).sorted(by: { $0.value > $1.value }) where !known.contains(point) {
            findings.append(
                point.isEmpty
                    ? Finding(.good, subject, "\(count) registrations do not say their key: the first is used")
                    : Finding(
                        .warning, subject,
                        "\(count) registrations have the key \(Base64URL.text(point)), which is not among the app's: they "
                            + "get no pushes"))
        }
        return findings
    }

    private func services() async -> [Finding] {
        let probes = apps.flatMap { app in app.services.compactMap { Self.push(of: app, to: $0) } }
        let sender = WebPushSender(
            loopCount: 1, wallTime: wallTime, logger: Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() })
        sender.use(apps)
        let outcomes = await sender.outcomes(of: probes.map { $0.push }, within: limit)
        let failures = sender.upstreams.reduce(into: [String: String]()) { $0[$1.name] = $1.lastFailure }
        await sender.shutdown(within: .zero)
        return zip(probes, outcomes).map { probe, outcome in
            let failure = failures.first { $0.key.hasPrefix("\(probe.service) ") }?.value
            return Self.finding(of: outcome, "\(probe.push.route.app) webPush", "\(probe.service)", failure)
        }
    }

    private static func push(
        of app: WebPushAppConfiguration, to service: PushServiceName
    ) -> (push: Push, service: PushServiceName)? {
        // None of these fails for the constants that they are given; a check that can't be made shows nothing.
        guard let message = MessageID(rawValue: "doctor"),
            let browser = try? ES256PrivateKey(pem: ES256PrivateKey.generatedPEM()).publicPoint,
            let content = try? FCMMessage(source: JSONValue.object([.init("data", .object([]))])),
            let push = try? BrowserPush(
                content,
                in: PushContext(
                    message: message, projectNumber: 0, broadcastTopic: nil, app: App(web: app.app),
                    expiresAt: Timestamp(milliseconds: 0))),
            let subscription = WebSubscription(
                endpoint: service.origin + "/herald-doctor", key: browser, secret: [UInt8](repeating: 0, count: 16),
                applicationKey: app.keys.first?.publicPoint)
        else { return nil }
        let route = PushRoute(project: app.project, app: app.app, channel: .webPush)
        return (
            Push(
                route: route, lane: .interactive, address: .web(subscription), content: push, payload: push.payload,
                id: PushID(message: message, registration: RegistrationKey(rawValue: 1))), service
        )
    }

    private static func finding(
        of outcome: Outcome?, _ subject: String, _ place: String, _ failure: String?
    ) -> Finding {
        switch outcome {
        case .accepted: return Finding(.good, subject, "\(place) takes pushes")
        case .rejected(let refusal) where refusal.scope.isAboutAddress:
            return Finding(.good, subject, "\(place) answers as a push service does")
        case .rejected(let refusal), .throttled(let refusal, _):
            let meaning = WebPushReasonTable.catalog[refusal.reason]?.meaning ?? "It gives no more details."
            return Finding(
                refusal.scope.isAboutCredential ? .bad : .warning, subject,
                "\(place) answers \(refusal.reason): \(meaning)")
        case .notSent(let cause), .unknown(let cause):
            return Finding(.bad, subject, "\(place) can't be used: \(failure ?? cause.rawValue)")
        case nil:
            return Finding(
                .bad, subject, failure.map { "\(place) can't be used: \($0)" } ?? "\(place) did not answer in time")
        }
    }
}
