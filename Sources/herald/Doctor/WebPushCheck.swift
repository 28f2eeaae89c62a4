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

    /// What is wrong, and what is well.
    func findings() async -> [Finding] { keys + (await services()) }

    private var keys: [Finding] {
        apps.flatMap { app in
            app.keys.enumerated().map { place, key in
                let text = Base64URL.text(key.publicPoint)
                return Finding(
                    .good, "\(app.app) VAPID",
                    place == 0 ? "pages subscribe with \(text)" : "subscriptions with \(text) go on")
            }
        }
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
