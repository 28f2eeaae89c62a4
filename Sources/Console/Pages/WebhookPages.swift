import HTTPTypes
import JSON
import PushModel
import Store

/// The endpoints of webhooks: where events of the project go, how far they are, what became of requests. All of it goes
/// through the API's own routes.
enum WebhookPages {
    static let routes: [ConsoleRoute] = [
        .get("webhooks", .viewer) { try await list($0) }, .post("webhooks", .admin, needsProof: true, create),
        .get("webhooks/{webhook}", .viewer) { try await show($0) }, .post("webhooks/{webhook}/test", .admin, test),
        .post("webhooks/{webhook}/replay", .admin, replay), .post("webhooks/{webhook}/retry", .admin, retry),
        .post("webhooks/{webhook}/state", .admin, setState),
        .post("webhooks/{webhook}/rotate", .admin, needsProof: true, rotate),
        .post("webhooks/{webhook}/delete", .admin, needsProof: true, delete),
    ]

    /// How many attempts and dead letters a page shows.
    private static let size = 20
    /// The types that the form of a new endpoint begins with.
    private static let usualTypes: Set<EventType> = [.messageFinished, .deliveryRejected, .deliveryExpired]
    /// Comes before a type in the name of its checkbox.
    private static let typeField = "type:"

    // MARK: Pages

    private static func list(_ call: ConsoleCall, error: String? = nil) async throws -> Reply {
        let answer = try await call.api(.get, call.apiPath("webhooks"))
        if answer.status == .serviceUnavailable {
            return .page(.webhooks, "Webhooks", menu: .webhooks, ["isOff": true, "reason": answer.message])
        }
        guard answer.isSuccess else { throw answer.error }
        let newest = try await newestEvent(call)
        let endpoints = answer.json["webhooks"]?.elements ?? []
        let form = call.visit.form
        let chosen = form.fields.isEmpty ? usualTypes : Set(types(of: form))
        let model: Model = [
            "rows": endpoints.map { row($0, newest, call) }, "hasRows": !endpoints.isEmpty,
            "limit": Format.number(answer.json["limit"]?.integerValue ?? 0), "f": form.fields,
            "types": EventType.allCases.map { type -> Model in
                ["name": typeField + type.rawValue, "title": type.rawValue, "checked": chosen.contains(type)]
            },
        ]
        return .page(
            .webhooks, "Webhooks", menu: .webhooks, status: error == nil ? .ok : .badRequest,
            model.with("error", error))
    }

    /// An endpoint, with secrets that were just made and what an act said.
    private static func show(
        _ call: ConsoleCall, id: String? = nil, secrets: [JSONValue] = [], notice: String? = nil, error: String? = nil
    ) async throws -> Reply {
        let id = id ?? call.capture("webhook")
        let endpoint = try await call.act(.get, path(id, call))
        let requests = try await call.act(.get, path(id, call) + "/attempts?pageSize=\(size)")
        let attempts = requests["attempts"]?.elements ?? []
        let letters = try await call.act(.get, path(id, call) + "/deadLetters?pageSize=\(size)")
        let dead = letters["deadLetters"]?.elements ?? []
        var model = row(endpoint, try await newestEvent(call), call)
        model.merge(
            [
                "facts": facts(endpoint), "attempts": attempts.map(attempt), "hasAttempts": !attempts.isEmpty,
                "letters": dead.map(letter), "hasLetters": !dead.isEmpty,
                "areMoreLetters": letters["nextPageToken"] != nil,
                "isEnabled": endpoint["state"]?.stringValue == WebhookState.enabled.rawValue,
                "isReplaying": endpoint["replay"] != nil, "secrets": secrets.compactMap(shown),
                "hasSecrets": !secrets.isEmpty,
            ]) { $1 }
        return .page(
            .webhook, endpoint["url"]?.stringValue ?? id, menu: .webhooks, status: error == nil ? .ok : .badRequest,
            model.with("notice", notice).with("error", error))
    }

    /// The path of an endpoint in the API.
    private static func path(_ id: String, _ call: ConsoleCall) -> String { call.apiPath("webhooks", id.urlEncoded) }

    private static func newestEvent(_ call: ConsoleCall) async throws -> Int64 {
        try await call.store.events(after: .zero, EventFilter(), limit: 0).newest.rawValue
    }

    /// An endpoint in a list. Events have one row of numbers for all projects: the backlog is at most so many.
    private static func row(_ endpoint: JSONValue, _ newest: Int64, _ call: ConsoleCall) -> Model {
        let id = endpoint["name"]?.stringValue?.split(separator: "/").last.map(String.init) ?? ""
        let last = Int64(endpoint["lastSequence"]?.integerValue ?? 0)
        let state = endpoint["state"]?.stringValue.flatMap(WebhookState.init(rawValue:)) ?? .enabled
        let failing = endpoint["failingSince"] != nil
        let (word, kind) =
            switch state {
            case .enabled: failing ? ("failing", "warn") : ("works", "good")
            case .disabled: ("disabled", "dim")
            case .autoDisabled: ("disabled: it failed for too long", "bad")
            }
        let backlog = max(0, newest - last)
        let model: Model = [
            "id": id, "self": "\(call.root)/webhooks/\(id.urlEncoded)", "url": endpoint["url"]?.stringValue ?? "",
            "description": endpoint["description"]?.stringValue ?? "", "state": word, "kind": kind,
            "backlog": backlog == 0 ? "up to date" : "at most \(Format.count(Int(backlog), "event")) behind",
            "typeCount": Format.count(endpoint["types"]?.elements.count ?? 0, "type"),
        ]
        return model.with("failingSince", time(endpoint["failingSince"]))
            .with("next", time(endpoint["nextAttemptTime"]))
    }

    private static func facts(_ endpoint: JSONValue) -> [Model] {
        var facts: [Model] = []
        func fact(_ name: String, _ text: String?) {
            if let text, !text.isEmpty { facts.append(["name": name, "text": text]) }
        }
        func moment(_ name: String, _ value: JSONValue?) {
            if let html = time(value) { facts.append(["name": name, "html": html, "text": ""]) }
        }
        fact("Description", endpoint["description"]?.stringValue)
        fact("Types", endpoint["types"]?.elements.compactMap(\.stringValue).joined(separator: ", "))
        fact("Filter", endpoint["filter"].flatMap { $0.members.isEmpty ? nil : JSONText.text($0) })
        fact("Batching", endpoint["batching"].map(JSONText.text))
        fact("Last event taken", endpoint["lastSequence"]?.integerValue.map { String($0) })
        fact("Failed attempts", endpoint["failedAttempts"]?.integerValue.map { String($0) })
        moment("Failing since", endpoint["failingSince"])
        moment("Next attempt", endpoint["nextAttemptTime"])
        fact("Replay", endpoint["replay"].map(JSONText.text))
        for secret in endpoint["secrets"]?.elements ?? [] {
            let kind = secret["kind"]?.stringValue ?? ""
            fact("Public key", secret["publicKey"]?.stringValue)
            moment("Secret \(kind) made", secret["createTime"])
            moment("Secret \(kind) signs until", secret["expireTime"])
        }
        moment("Made", endpoint["createTime"])
        moment("Changed", endpoint["updateTime"])
        return facts
    }

    private static func attempt(_ attempt: JSONValue) -> Model {
        let isSuccess = attempt["isSuccess"]?.boolValue == true
        let status = attempt["status"]?.integerValue.map { String($0) }
        let failure = attempt["failure"]?.stringValue
        return [
            "time": time(attempt["time"]) ?? Markup("–"), "type": attempt["type"]?.stringValue ?? "",
            "outcome": isSuccess ? "taken" : "failed", "kind": isSuccess ? "good" : "bad",
            "status": status ?? "–", "latency": attempt["latency"]?.stringValue ?? "–",
            "events": attempt["events"]?.integerValue.map { Format.number($0) } ?? "–",
            "detail": [failure, attempt["detail"]?.stringValue].compactMap(\.self).joined(separator: ": "),
            "answer": attempt["answer"]?.stringValue ?? "",
        ]
    }

    private static func letter(_ letter: JSONValue) -> Model {
        [
            "sequence": letter["sequence"]?.integerValue.map { String($0) } ?? "",
            "type": letter["type"]?.stringValue ?? "", "time": time(letter["time"]) ?? Markup("–"),
            "failure": letter["failure"]?.stringValue ?? "",
        ]
    }

    /// A secret that is shown now and never again.
    private static func shown(_ secret: JSONValue) -> Model? {
        secret["value"]?.stringValue.map { ["value": $0] }
    }

    private static func time(_ value: JSONValue?) -> Markup? {
        value?.stringValue.flatMap(Timestamp.init(rfc3339:)).map(Format.time)
    }

    // MARK: Acts

    private static func types(of form: Form) -> [EventType] {
        EventType.allCases.filter { form.isOn(typeField + $0.rawValue) }
    }

    @Sendable private static func create(_ call: ConsoleCall) async throws -> Reply {
        let form = call.visit.form
        let body: [JSONValue.Member] = [
            .init("url", .string(form["url"] ?? "")), .init("description", .string(form["description"] ?? "")),
            .init("types", .array(types(of: form).map { .string($0.rawValue) })),
            .init("startFrom", .string(form["start"] ?? "now")), .init("asymmetric", .bool(form.isOn("asymmetric"))),
            .init("filter", .object([.init("onlyFailures", .bool(form.isOn("failures")))])),
        ]
        let answer = try await call.api(.post, call.apiPath("webhooks"), .object(body))
        guard answer.isSuccess, let id = answer.json["name"]?.stringValue?.split(separator: "/").last else {
            return try await list(call, error: answer.violations.first?.text ?? answer.message)
        }
        return try await show(
            call, id: String(id), secrets: answer.json["secrets"]?.elements ?? [], notice: "The webhook is made.")
    }

    @Sendable private static func test(_ call: ConsoleCall) async throws -> Reply {
        let attempt = try await call.act(.post, path(call.capture("webhook"), call) + ":test")
        let latency = attempt["latency"]?.stringValue ?? "–"
        guard attempt["isSuccess"]?.boolValue == true else {
            let why = attempt["detail"]?.stringValue ?? attempt["failure"]?.stringValue ?? "no answer"
            return try await show(call, error: "The test was not taken: \(why)")
        }
        return try await show(call, notice: "The test was taken in \(latency).")
    }

    @Sendable private static func replay(_ call: ConsoleCall) async throws -> Reply {
        let form = call.visit.form
        var body: [JSONValue.Member] = ["from", "to"].compactMap { name in
            form[name].map { .init(name, .string($0)) }
        }
        body.append(.init("onlyFailed", .bool(form.isOn("failed"))))
        return try await replayed(
            call.api(.post, path(call.capture("webhook"), call) + ":replay", .object(body)), call)
    }

    @Sendable private static func retry(_ call: ConsoleCall) async throws -> Reply {
        let sequence = call.visit.form["sequence"].flatMap { Int($0) }
        let body = sequence.map { [JSONValue.Member("sequence", .integer($0))] } ?? []
        return try await replayed(
            call.api(.post, path(call.capture("webhook"), call) + "/deadLetters:retry", .object(body)), call)
    }

    private static func replayed(_ answer: APIAnswer, _ call: ConsoleCall) async throws -> Reply {
        guard answer.isSuccess else {
            return try await show(call, error: answer.violations.first?.text ?? answer.message)
        }
        let count = answer.json["events"]?.integerValue ?? 0
        let least = answer.json["isExact"]?.boolValue == false ? "At least " : ""
        let notice = "\(least)\(Format.count(count, "event")) will be sent once more."
        return try await show(call, notice: count == 0 ? "There is nothing to send once more." : notice)
    }

    @Sendable private static func setState(_ call: ConsoleCall) async throws -> Reply {
        let state: WebhookState = call.visit.form.text("act") == "enable" ? .enabled : .disabled
        let id = call.capture("webhook")
        _ = try await call.act(.patch, path(id, call), .object([.init("state", .string(state.rawValue))]))
        return .redirect("\(call.root)/webhooks/\(id.urlEncoded)")
    }

    @Sendable private static func rotate(_ call: ConsoleCall) async throws -> Reply {
        let answer = try await call.act(.post, path(call.capture("webhook"), call) + ":rotateSecret")
        return try await show(
            call, secrets: answer["secrets"]?.elements ?? [], notice: "The former secrets sign too for a day.")
    }

    @Sendable private static func delete(_ call: ConsoleCall) async throws -> Reply {
        _ = try await call.act(.delete, path(call.capture("webhook"), call))
        return .redirect("\(call.root)/webhooks")
    }
}
