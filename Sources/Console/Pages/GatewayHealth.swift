import HTTPTypes
import JSON
import PushModel
import Store

/// The answer of the API's status, in words and colours.
struct GatewayHealth {
    /// What templates see of it.
    private(set) var model: Model = [:]
    /// Deliveries that wait.
    let waiting: Int
    /// Deliveries that a worker has.
    let inFlight: Int

    init(_ status: JSONValue, in call: ConsoleCall) {
        let backlog = status["backlog"]?.elements ?? []
        let number = { (share: JSONValue, name: String) in share[name]?.integerValue ?? 0 }
        waiting = backlog.reduce(0) { $0 + number($1, "waiting") }
        inFlight = backlog.reduce(0) { $0 + number($1, "inFlight") }
        model["lanes"] = backlog.map { share -> Model in
            [
                "lane": share["lane"]?.stringValue ?? "", "app": Self.app(share, in: call) ?? "broadcasts",
                "waiting": Format.number(number(share, "waiting")),
                "inFlight": Format.number(number(share, "inFlight")), "paused": Format.number(number(share, "paused")),
            ]
        }
        model["hasLanes"] = !backlog.isEmpty
        let pauses = status["pauses"]?.elements ?? []
        model["pauses"] = pauses.map { pause -> Model in
            [
                "part": [Self.app(pause, in: call) ?? pause["topic"]?.stringValue, pause["upstream"]?.stringValue]
                    .compactMap(\.self).joined(separator: " at "),
                "reason": pause["reason"]?.stringValue ?? "", "since": Self.time(pause["since"]),
                "next": Self.time(pause["nextProbe"]),
            ]
        }
        let upstreams = (status["upstreams"]?.elements ?? []).map(Self.upstream)
        model["upstreams"] = upstreams
        let certificates = (status["certificates"]?.elements ?? []).map { Self.certificate($0, call.now) }
        model["certificates"] = certificates
        if let disk = status["disk"] { model["disk"] = Self.disk(disk) }
        let reasons = status["reasons"]?.elements ?? []
        let most = reasons.map { number($0, "count") }.max() ?? 0
        model["reasons"] = reasons.map { reason -> Model in
            let (word, count) = (reason["reason"]?.stringValue ?? "", number(reason, "count"))
            let outcome = reason["outcome"]?.stringValue?.lowercased() ?? ""
            let row: Model = [
                "reason": word, "outcome": outcome, "count": Format.number(count), "meaning": call.meaning(of: word),
            ]
            return row.merging(ProgressBar.model([(outcome, outcome, count)], of: most)) { own, _ in own }
        }
        model["hasReasons"] = !reasons.isEmpty
        model["problems"] = Self.problems(status, pauses.count)
    }

    /// The app that a part of the status is of, as the project's apps have to be named.
    private static func app(_ part: JSONValue, in call: ConsoleCall) -> String? {
        AppKey(statusOf: part)?.name(among: call.project.apps.keys)
    }

    private static func problems(_ status: JSONValue, _ pauses: Int) -> [Model] {
        var problems: [Model] = []
        if status["store"]?["writable"]?.boolValue == false {
            let text = status["store"]?["problems"]?.elements.compactMap(\.stringValue).joined(separator: " ") ?? ""
            problems.append(["kind": "bad", "title": "The store can’t be written.", "text": text])
        }
        if status["disk"]?["low"]?.boolValue == true {
            problems.append([
                "kind": "bad", "title": "The disk is nearly full.",
                "text": "New messages are refused until there is room.",
            ])
        }
        if pauses > 0 {
            problems.append([
                "kind": "warn", "title": Format.count(pauses, "pause") + ".",
                "text": "A push service does not take pushes of some of the apps; they wait and are tried again.",
            ])
        }
        return problems
    }

    private static func upstream(_ upstream: JSONValue) -> Model {
        let isReachable = upstream["reachable"]?.boolValue == true
        let number = { (name: String) in Format.number(upstream[name]?.integerValue ?? 0) }
        let isOpen = upstream["circuit"]?.stringValue == "open"
        let model: Model = [
            "name": upstream["name"]?.stringValue ?? "", "kind": isReachable ? (isOpen ? "warn" : "good") : "bad",
            "text": "\(isReachable ? "reachable" : "not reachable") · \(number("connections")) connections · "
                + "\(number("streamsInUse")) of \(number("streamLimit")) streams in use · \(number("queued")) queued",
        ]
        return model.with("failure", upstream["lastFailure"]?.stringValue)
    }

    private static func certificate(_ certificate: JSONValue, _ now: Timestamp) -> Model {
        let end = certificate["validUntil"]?.stringValue.flatMap(Timestamp.init(rfc3339:))
        let days = end.map { ($0 - now).components.seconds / 86_400 } ?? 0
        return [
            "subject": certificate["subject"]?.stringValue ?? "", "file": certificate["file"]?.stringValue ?? "",
            "until": end.map(Format.time) ?? Markup("–"), "kind": days > 30 ? "good" : days > 7 ? "warn" : "bad",
        ]
    }

    private static func disk(_ disk: JSONValue) -> Model {
        let days = disk["daysLeft"]?.integerValue.map { ", enough for \(Format.count($0, "day")) at this pace" } ?? ""
        return [
            "kind": disk["low"]?.boolValue == true ? "bad" : "good",
            "free": Format.bytes(disk["freeBytes"]?.integerValue ?? 0),
            "text": "New messages are refused below \(Format.bytes(disk["limitBytes"]?.integerValue ?? 0))\(days).",
        ]
    }

    /// Whether what went wrong last with a credential is newer than what went well.
    static func isFailing(_ credential: JSONValue) -> Bool {
        func time(_ name: String) -> Timestamp? {
            credential[name]?.stringValue.flatMap(Timestamp.init(rfc3339:))
        }
        guard let failed = time("lastErrorTime") else { return false }
        return time("lastUsed").map { $0 < failed } ?? true
    }

    private static func time(_ value: JSONValue?) -> Markup {
        value?.stringValue.flatMap(Timestamp.init(rfc3339:)).map(Format.time) ?? Markup("–")
    }
}

extension AppKey {
    /// The app that a part of the status is of: without a platform it is Apple's. `nil`: it is of none.
    fileprivate init?(statusOf part: JSONValue) {
        guard let id = part["app"]?.stringValue.flatMap(AppID.init(rawValue:)) else { return nil }
        let word = part["platform"]?.stringValue?.lowercased()
        self.init(word.flatMap(Platform.init(rawValue:)) ?? .apple, id)
    }
}

/// The apps of a project, and what they are reached by.
enum AppPage {
    @Sendable static func page(_ call: ConsoleCall) async throws -> Reply {
        let status = try await call.act(.get, call.apiPath("status"))
        var model = GatewayHealth(status, in: call).model
        var apps: [Model] = []
        for app in call.project.apps.values.sorted(by: { $0.key < $1.key }) {
            let model = Self.app(app, try await figures(app.key, call), pauses(app.key, status))
            apps.append(model.merging(credentials(of: app.key, status, call)) { own, _ in own })
        }
        model["apps"] = apps
        return .page(.apps, "Apps and credentials", menu: .overview, model)
    }

    /// How many days and labels are read for an app's figures.
    private static let rowLimit = 200
    /// How many days the figures are of.
    private static let days: Int64 = 7

    /// What became of an app's deliveries lately, in a line; `nil`: there were none.
    private static func figures(_ app: AppKey, _ call: ConsoleCall) async throws -> String? {
        let rows = try await call.list { () async throws(StoreError) in
            try await call.store.deliveryDays(
                of: app.id, on: app.platform, in: call.project.id, after: nil, limit: rowLimit)
        }
        let first = call.now.seconds / 86_400 - days + 1
        let recent = rows.elements.filter { $0.day >= first }
        guard !recent.isEmpty else { return nil }
        let ended = LedgerOutcome.allCases.compactMap { outcome -> String? in
            let count = recent.reduce(0) { $0 + ($1.ended[outcome] ?? 0) }
            return count == 0 && outcome != .accepted ? nil : "\(Format.number(count)) \(outcome.rawValue)"
        }
        let received = recent.reduce(0) { $0 + $1.received }
        return (ended + ["\(Format.number(received)) received"]).joined(separator: " · ")
    }

    /// Why pushes of an app wait.
    private static func pauses(_ app: AppKey, _ status: JSONValue) -> [String] {
        (status["pauses"]?.elements ?? []).filter { AppKey(statusOf: $0) == app }.map { pause in
            "\(pause["reason"]?.stringValue ?? "") at \(pause["upstream"]?.stringValue ?? "")"
        }
    }

    /// What an app signs in with, how old and how good that is.
    private static func credentials(of app: AppKey, _ status: JSONValue, _ call: ConsoleCall) -> Model {
        let own = (status["credentials"]?.elements ?? []).filter { AppKey(statusOf: $0) == app }
        let rows = own.map { credential -> Model in
            func time(_ name: String, otherwise text: String) -> Markup {
                credential[name]?.stringValue.flatMap(Timestamp.init(rfc3339:)).map(Format.time) ?? Markup(text)
            }
            let isFailing = GatewayHealth.isFailing(credential)
            let row: Model = [
                "name": credential["name"]?.stringValue ?? "", "file": credential["file"]?.stringValue ?? "",
                "what": kinds[credential["kind"]?.stringValue ?? ""] ?? "", "from": time("fileTime", otherwise: "–"),
                "until": time("validUntil", otherwise: "has no end"),
                "used": time("lastUsed", otherwise: "not yet"), "kind": isFailing ? "bad" : "good",
                "errorTime": time("lastErrorTime", otherwise: ""),
            ]
            return row.with("error", credential["lastError"]?.stringValue)
                .with("meaning", credential["lastError"]?.stringValue.map(call.meaning(of:)))
        }
        return ["credentials": rows, "hasCredentials": !rows.isEmpty]
    }

    private static let kinds = [
        "APNS_KEY": "key of a team and its id", "CERTIFICATE": "push certificate",
        "SERVICE_ACCOUNT": "Google service account", "VAPID_KEY": "VAPID key (public part)",
    ]

    private static func app(_ app: App, _ figures: String?, _ pauses: [String]) -> Model {
        var facts: [Model] = []
        func fact(_ name: String, _ text: String) { facts.append(["name": name, "text": text]) }
        switch app.service {
        case .apple(let service):
            fact("Environment", service.environment.rawValue)
            fact("Signs in with", service.credential == .providerToken ? "a key (.p8)" : "a certificate")
            fact("Firebase keys", "\(service.firebaseKeys)")
        case .android(let isReached):
            fact("Sends as", isReached ? "a Google service account" : "no account: devices register, nothing is sent")
        case .web(let service):
            fact("VAPID keys", service.map { Format.number($0.publicKeys.count) } ?? "none: nothing is sent")
        case .linksOnly: fact("Used for", "links only")
        }
        fact("Last \(days) days", figures ?? "no push")
        for pause in pauses { fact("Paused", pause) }
        let (health, kind) =
            !pauses.isEmpty ? ("paused", "warn") : app.isServed ? ("reached", "good") : ("not reached", "dim")
        return [
            "id": app.id.rawValue, "platform": app.platform.rawValue, "facts": facts, "health": health, "kind": kind,
        ]
    }
}
