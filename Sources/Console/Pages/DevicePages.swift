import HTTPTypes
import JSON
import PushModel
import Store

/// A device: why it gets pushes or not.
enum DevicePages {
    static let routes: [ConsoleRoute] = [
        .get("device", .viewer) { try await search($0, $0.visit.query) },
        // What is looked up may be a token: with POST it comes into no history and no log of a proxy.
        .post("device", .viewer) { try await search($0, $0.visit.form) }, .get("device/{device}", .viewer, device),
        .post("device/{device}/lift", .operator, lift), .post("device/{device}/end", .operator, end),
    ]

    /// How many devices a search shows, and how many deliveries a page has.
    private static let matchLimit = 50
    private static let size = 30

    // MARK: Search

    private static func search(_ call: ConsoleCall, _ fields: Form) async throws -> Reply {
        let message = fields.text("message")
        guard let text = fields["q"] else {
            return .page(.device, "Device", menu: .device, ["hint": true, "message": message, "q": ""])
        }
        let found = try await matches(text, call)
        if found.count == 1 {
            let suffix = message.isEmpty ? "" : "?message=\(message.urlEncoded)"
            return .redirect("\(call.root)/device/\(found[0].id)\(suffix)")
        }
        var model: Model = ["q": text, "message": message]
        if found.isEmpty {
            model["notFound"] =
                "No registration of this project has this token, FID, user or device token. Was it registered "
                + "with another project, or purged some time after it ended?"
        } else {
            model["matches"] =
                ["title": Format.count(found.count, "device"), "rows": found.map { row($0, call) }] as Model
        }
        return .page(.device, "Device", menu: .device, status: found.isEmpty ? .notFound : .ok, model)
    }

    /// The registrations that a text names in one of the ways.
    private static func matches(_ text: String, _ call: ConsoleCall) async throws -> [Registration] {
        let (store, project) = (call.store, call.project)
        switch RegistrationReference(rawValue: text) {
        case .id(let id)?: if let found = try await store.registration(id, in: project.id) { return [found] }
        case .token(let token)?:
            if let found = try await store.registration(token: token, in: project.id) { return [found] }
        case nil: break
        }
        var found: [Registration] = []
        for app in project.apps.values.sorted(by: { $0.key < $1.key }) {
            for address in Self.addresses(text, of: app) {
                if let one = try await store.registration(holding: address, of: app.id, in: project.id),
                    !found.contains(where: { $0.key == one.key })
                {
                    found.append(one)
                }
            }
        }
        if found.isEmpty, let user = UserID(rawValue: text) {
            found = try await store.registrations(of: user, in: project.id, limit: matchLimit)
        }
        return found
    }

    /// What a device token may stand for in an app.
    private static func addresses(_ text: String, of app: App) -> [Address] {
        switch app.service {
        case .apple(let service):
            DeviceToken(hex: text).map { [.apple($0, service.environment)] } ?? []
        case .android: AndroidToken(rawValue: text).map { [.android($0)] } ?? []
        case .web, .linksOnly: []
        }
    }

    /// A registration in a list.
    static func row(_ registration: Registration, _ call: ConsoleCall) -> Model {
        let (state, kind) = state(of: registration)
        return [
            "id": registration.id.rawValue, "url": "\(call.root)/device/\(registration.id)", "state": state,
            "kind": kind, "app": registration.app.rawValue, "refreshed": Format.time(registration.refreshedAt),
        ]
    }

    private static func state(of registration: Registration) -> (String, String) {
        if registration.end != nil { return ("ended", "dim") }
        return registration.quarantine == nil ? ("active", "good") : ("in quarantine", "warn")
    }

    // MARK: One device

    @Sendable private static func device(_ call: ConsoleCall) async throws -> Reply {
        let registration = try await registration(call)
        let message = call.visit.query["message"].map { $0.split(separator: "/").last.map(String.init) ?? $0 }
        let query = message.map { "?message=\($0.urlEncoded)" } ?? ""
        let answer = try await call.api(
            .get, call.apiPath("registrations", "\(registration.id.rawValue.urlEncoded):why\(query)"))
        let page = try await call.list { () async throws(StoreError) in
            try await call.store.deliveries(
                to: registration.id, in: call.project.id, after: call.visit.query["after"], limit: size)
        }
        let topics = try await call.store.subscriptions(of: registration.key, after: nil, limit: 100)
        let changes = try await call.store.audit(of: registration.id, in: call.project.id, limit: 20)
        let (state, kind) = state(of: registration)
        let code = answer.json["verdict"]?.stringValue ?? ""
        let device: Model = [
            "id": registration.id.rawValue, "url": "\(call.root)/device/\(registration.id)", "state": state,
            "kind": kind, "verdict": answer.isSuccess ? answer.json["text"]?.stringValue ?? "" : answer.message,
            "code": code, "facts": facts(registration),
            "canLift": registration.quarantine != nil && registration.isActive,
            "canEnd": registration.isActive,
            "topics": topics.map { topic -> Model in
                ["name": topic.topic.rawValue, "url": "\(call.root)/topics/\(topic.topic.rawValue.urlEncoded)"]
            }, "hasTopics": !topics.isEmpty,
            "changes": changes.map(change), "hasChanges": !changes.isEmpty,
            "rows": page.elements.map { row($0, call) }, "hasRows": !page.elements.isEmpty,
        ]
        var model: Model = ["device": device, "q": registration.id.rawValue, "message": message ?? ""]
        if let next = page.nextCursor {
            model["next"] = "\(call.root)/device/\(registration.id)?after=\(next.urlEncoded)"
        }
        return .page(.device, "Device \(registration.id)", menu: .device, model)
    }

    private static func registration(_ call: ConsoleCall) async throws -> Registration {
        guard let id = RegistrationID(rawValue: call.capture("device")),
            let found = try await call.store.registration(id, in: call.project.id)
        else { throw ConsoleError.notFound }
        return found
    }

    private static func facts(_ registration: Registration) -> [Model] {
        var facts: [Model] = []
        func fact(_ name: String, _ text: String?) {
            if let text { facts.append(["name": name, "text": text]) }
        }
        func moment(_ name: String, _ time: Timestamp?) {
            if let time { facts.append(["name": name, "html": Format.time(time), "text": ""]) }
        }
        fact("App", registration.app.rawValue)
        fact("Platform", registration.channel.platform.rawValue)
        fact("Environment", registration.channel.environment?.rawValue)
        fact("App version", registration.appVersion)
        fact("User", registration.user?.rawValue)
        moment("Registered", registration.createdAt)
        moment("Refreshed", registration.refreshedAt)
        moment("First accepted", registration.provenAt)
        if let quarantine = registration.quarantine {
            moment("In quarantine since", quarantine.time)
            fact("Because of", quarantine.reason.rawValue)
        }
        if let end = registration.end {
            moment("Ended", end.time)
            fact("Because", "\(end.cause.rawValue)")
        }
        return facts
    }

    private static func change(_ entry: RegistrationAudit) -> Model {
        let text =
            switch entry.cause {
            case .userAssigned: "Got the user \(entry.user?.rawValue ?? "–")"
            case .userChanged:
                "User changed from \(entry.formerUser?.rawValue ?? "none") to \(entry.user?.rawValue ?? "none")"
            case .deviceTokenMoved: "Took over the device token of \(entry.former?.rawValue ?? "another")"
            case .deviceTokenChanged: "Has another device token"
            }
        return ["text": text, "time": Format.time(entry.time), "by": entry.credential ?? "not known"]
    }

    private static func row(_ row: ExportRow, _ call: ConsoleCall) -> Model {
        let record = row.delivery
        let reason = record.reason ?? record.history.lastCause ?? ""
        return [
            "id": row.message.rawValue, "url": "\(call.root)/messages/\(row.message)", "outcome": record.outcomeWord,
            "kind": record.kind, "reason": reason, "meaning": reason.isEmpty ? "" : call.meaning(of: reason),
            "attempts": Format.number(record.history.attempts),
            "latency": record.latencyMilliseconds.map { Format.span(milliseconds: $0) } ?? "–",
            "ended": record.endedAt.map(Format.time) ?? Markup("–"), "receipts": record.receiptWords,
        ]
    }

    // MARK: Acts

    /// Refreshes the registration, which ends its quarantine, with an audit entry of its own.
    @Sendable private static func lift(_ call: ConsoleCall) async throws -> Reply {
        let registration = try await registration(call)
        let change = RegistrationChange(credential: ProvenCredential(call.use.credential))
        guard try await call.store.change(registration.key, change, at: call.now) != nil else {
            throw ConsoleError(.conflict, "It has ended", "What has ended has no quarantine any more.")
        }
        try await call.audit(.quarantineLifted, registration.id.rawValue)
        return .redirect("\(call.root)/device/\(registration.id)")
    }

    @Sendable private static func end(_ call: ConsoleCall) async throws -> Reply {
        let registration = try await registration(call)
        _ = try await call.act(.delete, call.apiPath("registrations", registration.id.rawValue.urlEncoded))
        try await call.audit(.registrationEnded, registration.id.rawValue)
        return .redirect("\(call.root)/device/\(registration.id)")
    }
}

/// The devices of a user.
enum UserPages {
    static let routes: [ConsoleRoute] = [
        .get("users", .viewer, users), .post("users/erase", .admin, needsProof: true, erase),
    ]

    @Sendable private static func users(_ call: ConsoleCall) async throws -> Reply {
        let text = call.visit.query.text("user").trimmed
        guard let user = UserID(rawValue: text) else {
            return .page(.users, "Users", menu: .device, ["user": text])
        }
        let found = try await call.store.registrations(of: user, in: call.project.id, limit: 100)
        return .page(
            .users, "User \(user)", menu: .device,
            [
                "user": user.rawValue, "userEncoded": user.rawValue.urlEncoded, "shown": true,
                "count": Format.count(found.count, "device"), "hasRows": !found.isEmpty,
                "rows": found.map { DevicePages.row($0, call) },
            ])
    }

    @Sendable private static func erase(_ call: ConsoleCall) async throws -> Reply {
        guard let user = UserID(rawValue: call.visit.form.text("user")),
            call.visit.form["confirm"] == user.rawValue
        else {
            throw ConsoleError(
                .badRequest, "Nothing was erased", "The user id typed to confirm is not the one of the page.")
        }
        _ = try await call.act(.delete, call.apiPath("users", user.rawValue.urlEncoded))
        return .redirect("\(call.root)/users?user=\(user.rawValue.urlEncoded)")
    }
}

/// The topics of a project.
enum TopicPages {
    static let routes: [ConsoleRoute] = [.get("topics", .viewer, topics), .get("topics/{topic}", .viewer, topic)]

    private static let size = 50

    @Sendable private static func topics(_ call: ConsoleCall) async throws -> Reply {
        let prefix = call.visit.query["prefix"] ?? ""
        let after = call.visit.query["after"].flatMap(Topic.init(rawValue:))
        let found =
            prefix.isEmpty || Topic(rawValue: prefix) != nil
            ? try await call.store.topics(
                in: call.project.id, beginningWith: prefix, after: after, limit: size + 1) : []
        let page = found.prefix(size)
        let most = page.map(\.subscribers).max() ?? 0
        var model: Model = [
            "prefix": prefix, "hasTopics": !page.isEmpty,
            "topics": page.map { topic -> Model in
                let name = topic.topic.rawValue
                let row: Model = [
                    "name": name, "count": Format.number(topic.subscribers),
                    "url": "\(call.root)/topics/\(name.urlEncoded)",
                    "compose": "\(call.root)/compose?topic=\(name.urlEncoded)",
                ]
                return row.merging(
                    ProgressBar.model([("accepted", "subscribers", topic.subscribers)], of: most)
                ) { own, _ in own }
            },
        ]
        if found.count > size, let last = page.last {
            let kept = prefix.isEmpty ? "" : "prefix=\(prefix.urlEncoded)&"
            model["next"] = "\(call.root)/topics?\(kept)after=\(last.topic.rawValue.urlEncoded)"
            model["nextTitle"] = "Show more"
        }
        return .page(.topics, "Topics", menu: .topics, model)
    }

    @Sendable private static func topic(_ call: ConsoleCall) async throws -> Reply {
        guard let topic = Topic(rawValue: call.capture("topic")),
            let summary = try await call.store.topic(topic, in: call.project.id)
        else { throw ConsoleError.notFound }
        let page = try await call.list { () async throws(StoreError) in
            try await call.store.subscribers(
                of: topic, in: call.project.id, after: call.visit.query["after"], limit: size)
        }
        let members = page?.elements ?? []
        let days = try await Self.days(of: topic, call)
        var model: Model = [
            "topic": topic.rawValue, "count": Format.number(summary.subscribers),
            "compose": "\(call.root)/compose?topic=\(topic.rawValue.urlEncoded)", "hasRows": !members.isEmpty,
            "rows": members.map { member -> Model in
                var row = DevicePages.row(member.registration, call)
                row["since"] = Format.time(member.subscribedAt)
                return row
            },
            "joined": Format.number(days.reduce(0) { $0 + $1.joined }),
            "left": Format.number(days.reduce(0) { $0 + $1.left }), "chart": growth(days),
        ]
        if let next = page?.nextCursor {
            model["next"] = "\(call.root)/topics/\(topic.rawValue.urlEncoded)?after=\(next.urlEncoded)"
            model["nextTitle"] = "Show more"
        }
        return .page(.topic, "Topic \(topic)", menu: .topics, model)
    }

    /// How many joined and left on each of the last thirty days, today's the last.
    private static func days(of topic: Topic, _ call: ConsoleCall) async throws -> [TopicDay] {
        let today = DeliveryDay.day(of: call.now)
        let first = today - 29
        let known = try await call.store.growth(of: topic, in: call.project.id, since: first) ?? []
        let byDay = Dictionary(known.map { ($0.day, $0) }) { first, _ in first }
        return (first...today).map { byDay[$0] ?? TopicDay(day: $0, joined: 0, left: 0) }
    }

    /// Days as a chart.
    private static func growth(_ days: [TopicDay]) -> Markup {
        let bars = days.enumerated().map { place, day in
            let date = String(Timestamp(seconds: day.day * 86_400).rfc3339.prefix(10))
            return Charts.Bar(
                label: place.isMultiple(of: 5) ? String(date.dropFirst(5)) : "", name: date,
                parts: [("accepted", "joined", day.joined), ("rejected", "left", day.left)])
        }
        return Charts.bars(bars, title: "Members that joined and left, by day", tableHead: "Day")
    }
}
