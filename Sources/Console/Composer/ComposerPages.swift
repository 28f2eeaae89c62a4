import HTTPTypes
import JSON
import PushModel
import Store

/// The composer: what it makes goes through the API's own path.
enum ComposerPages {
    static let routes: [ConsoleRoute] = [
        .get("compose", .sender, compose), .post("compose", .sender, act), .post("compose/check", .sender, check),
        .get("compose/review", .sender) { try await review($0) }, .post("compose/send", .sender, send),
    ]

    // MARK: The form

    @Sendable private static func compose(_ call: ConsoleCall) async throws -> Reply {
        let query = call.visit.query
        var form = ComposerForm()
        var draft = SessionSecret.randomID()
        let drafts = try await call.store.drafts(of: call.signedIn.owner.name, in: call.project.id)
        if let id = query["draft"] ?? (query.fields.isEmpty ? drafts.first?.id : nil),
            let found = drafts.first(where: { $0.id == id })
        {
            (form, draft) = (ComposerForm(draft: found.fields), found.id)
        } else if let newest = drafts.first {
            form["test"] = ComposerForm(draft: newest.fields)["test"]
        }
        for kind in ComposerForm.Kind.allCases {
            if let target = query[kind.rawValue] { (form["kind"], form["target"]) = (kind.rawValue, target) }
        }
        if let id = query["from"].flatMap(MessageID.init(rawValue:)) { try await fill(&form, from: id, call) }
        return try await page(form, draft: draft, drafts: drafts, call)
    }

    private static func fill(_ form: inout ComposerForm, from id: MessageID, _ call: ConsoleCall) async throws {
        guard let message = try await call.store.message(id, in: call.project.id) else { throw ConsoleError.notFound }
        if let content = call.content(of: message) { form.fill(from: content) }
        switch message.recipient {
        case .registration(let id): (form["kind"], form["target"]) = ("device", id.rawValue)
        case .topic(let topic): (form["kind"], form["target"]) = ("topic", topic.rawValue)
        case .condition(let condition): (form["kind"], form["target"]) = ("condition", condition.text)
        case .user(let user, _): (form["kind"], form["target"]) = ("user", user.rawValue)
        case .list: break
        }
    }

    private static func page(
        _ form: ComposerForm, draft: String, drafts: [ComposerDraft], _ call: ConsoleCall, notice: String? = nil,
        error: String? = nil
    ) async throws -> Reply {
        let check = try await ComposerCheck(form, call)
        var model = check.model
        model["f"] = form.fields
        model["draft"] = draft
        model["kinds"] = ComposerForm.Kind.allCases.map { kind -> Model in
            ["value": kind.rawValue, "title": kind.title, "selected": kind == form.kind]
        }
        model["expiries"] = options(ComposerForm.expiries, chosen: form["expiry"])
        model["paces"] = options(ComposerForm.paces, chosen: form["pace"])
        model["preview"] = ComposerPreview.model(title: form["title"], body: form["body"], in: call.project)
        model["topics"] = try await call.store.topics(
            in: call.project.id, beginningWith: "", after: nil, limit: 100
        ).map(\.topic.rawValue)
        let tests = Set(drafts.map { ComposerForm(draft: $0.fields)["test"] }.filter { !$0.isEmpty })
        model["tests"] = tests.sorted()
        model["drafts"] = drafts.map { draft -> Model in
            [
                "url": "\(call.root)/compose?draft=\(draft.id.urlEncoded)",
                "title": ComposerForm(draft: draft.fields).title, "time": Format.time(draft.changedAt),
            ]
        }
        model["hasDrafts"] = !drafts.isEmpty
        model["notice"] = notice
        model["error"] = error
        return .page(.compose, "Compose", menu: .compose, status: error == nil ? .ok : .badRequest, model)
    }

    private static func options(_ choices: [(value: String, title: String)], chosen: String) -> [Model] {
        choices.map { ["value": $0.value, "title": $0.title, "selected": $0.value == chosen] }
    }

    // MARK: Acts

    @Sendable private static func act(_ call: ConsoleCall) async throws -> Reply {
        let form = ComposerForm(call.visit.form)
        let draft = try await save(form, call)
        guard !form.isEmpty, !form.isTooLarge else {
            let drafts = try await call.store.drafts(of: call.signedIn.owner.name, in: call.project.id)
            return try await page(
                form, draft: draft, drafts: drafts, call,
                error: form.isEmpty ? "Say to whom it goes, and what it says." : ComposerForm.tooLarge)
        }
        switch call.visit.form.text("act") {
        case "test": return try await test(form, draft: draft, call)
        case "review": return .redirect("\(call.root)/compose/review?draft=\(draft)")
        case "send":
            let check = try await ComposerCheck(form, call)
            guard check.problems.isEmpty, !check.isMass else {
                return try await review(call, of: draft)
            }
            return try await deliver(form, draft: draft, at: call.now, call)
        default: return .redirect("\(call.root)/compose?draft=\(draft)")
        }
    }

    /// Keeps what was typed, unless it is too large; the draft's id.
    private static func save(_ form: ComposerForm, _ call: ConsoleCall) async throws -> String {
        let given = call.visit.form.text("draft")
        let id = given.wholeMatch(of: /[A-Za-z0-9_-]{8,40}/) == nil ? SessionSecret.randomID() : given
        if !form.isEmpty || !form["test"].isEmpty, !form.isTooLarge {
            try await call.store.keep(
                ComposerDraft(
                    id: id, name: call.signedIn.owner.name, project: call.project.id, fields: form.draft,
                    changedAt: call.now))
        }
        return id
    }

    /// The part of the page that says what the gateway makes of it: asked for while somebody types.
    @Sendable private static func check(_ call: ConsoleCall) async throws -> Reply {
        let form = ComposerForm(call.visit.form)
        // What is too large is told by the check.
        _ = try await save(form, call)
        return .page(
            .composeCheck, "Check", status: form.isTooLarge ? .contentTooLarge : .ok,
            try await ComposerCheck(form, call).model)
    }

    private static func test(_ form: ComposerForm, draft: String, _ call: ConsoleCall) async throws -> Reply {
        let drafts = try await call.store.drafts(of: call.signedIn.owner.name, in: call.project.id)
        guard !form["test"].isEmpty else {
            return try await page(
                form, draft: draft, drafts: drafts, call,
                error: "Name a test device: a registration token or a FID. It is kept with your drafts.")
        }
        let answer = try await call.api(
            .post, call.apiPath("messages:send"),
            form.request(in: call.project, test: form["test"], at: call.now))
        guard answer.isSuccess, let id = answer.messageID else {
            return try await page(
                form, draft: draft, drafts: drafts, call, error: "The test was not sent. \(answer.message)")
        }
        try await call.audit(.messageSent, id, ["test": "true"])
        return .redirect("\(call.root)/messages/\(id)")
    }

    // MARK: Review and send

    /// A draft of the operator, as a form.
    private static func draft(_ id: String, _ call: ConsoleCall) async throws -> ComposerForm {
        let drafts = try await call.store.drafts(of: call.signedIn.owner.name, in: call.project.id)
        guard let found = drafts.first(where: { $0.id == id }) else {
            throw ConsoleError(
                .gone, "This draft is gone", "It was sent, or is older than your newest drafts. See Messages.")
        }
        return ComposerForm(draft: found.fields)
    }

    /// The page before sending: to how many it goes is counted here, once, or at most said, and goes to ``send(_:)`` with the form.
    private static func review(
        _ call: ConsoleCall, of id: String? = nil, keeping kept: ReviewedAudience? = nil, error: String? = nil
    ) async throws -> Reply {
        let id = id ?? call.visit.query.text("draft")
        let form = try await draft(id, call)
        let check = try await ComposerCheck(form, call)
        guard check.problems.isEmpty, !form["target"].isEmpty else {
            let drafts = try await call.store.drafts(of: call.signedIn.owner.name, in: call.project.id)
            let problem = check.problems.first.map { "\($0.field): \($0.text)" } ?? "Say to whom it goes."
            return try await page(form, draft: id, drafts: drafts, call, error: problem)
        }
        let reviewed = if let kept { kept } else { try await count(form, check, call) }
        let audience = reviewed.count
        let isCounted = reviewed.bound <= call.services.reviewCountLimit
        var model = check.model
        model.merge(
            [
                "draft": id, "target": "\(form.kind.title) \(form["target"])",
                "reviewed": reviewed.text(of: id, form, secret: call.signedIn.secret),
                "audience": "Reaches \(isCounted ? "" : "at most ")\(Format.count(audience, "device")).",
                "audienceFigure": Format.number(audience),
                "audienceText": isCounted ? (audience == 1 ? "device" : "devices now") : "devices at most",
                "duration": check.duration ?? "–",
                "durationText": check.duration == nil
                    ? "known once pushes were sent lately" : "at most, at today’s rate or pace",
                "isMass": reviewed.isMass, "count": String(audience), "isProven": call.isProven,
                "preview": ComposerPreview.model(title: form["title"], body: form["body"], in: call.project),
            ]) { $1 }
        model["error"] = error
        return .page(.review, "Review", menu: .compose, status: error == nil ? .ok : .badRequest, model)
    }

    /// Counts to how many a message goes, unless its target was counted lately and is about as large, or is so large that the
    /// bound is taken.
    private static func count(
        _ form: ComposerForm, _ check: ComposerCheck, _ call: ConsoleCall
    ) async throws -> ReviewedAudience {
        let bound = check.audience ?? 0
        if form.namesDevices || bound > call.services.reviewCountLimit {
            return ReviewedAudience(count: bound, bound: bound, time: call.now)
        }
        let counts = call.services.audienceCounts
        let target = "\(call.project.id) \(form.kind) \(form["target"])"
        if var found = counts.found(target, bound: bound, at: call.now) {
            found.time = call.now
            return found
        }
        guard counts.begin(call.signedIn.session.digest) else {
            throw ConsoleError(
                .tooManyRequests, "Another review is under way",
                "Its recipients are still counted. Wait until that page is shown, then review this one.")
        }
        defer { counts.end(call.signedIn.session.digest) }
        let counted = try await ComposerCheck(form, call, audience: .counted)
        let reviewed = ReviewedAudience(count: counted.audience ?? 0, bound: bound, time: call.now)
        counts.keep(reviewed, of: target)
        return reviewed
    }

    @Sendable private static func send(_ call: ConsoleCall) async throws -> Reply {
        let id = call.visit.form.text("draft")
        let form = try await draft(id, call)
        let reviewed = ReviewedAudience(
            call.visit.form.text("reviewed"), of: id, form, secret: call.signedIn.secret, at: call.now)
        guard let reviewed else {
            return try await review(
                call, of: id,
                error: "Look at it once more: it was changed after its review, or that is older than 15 minutes.")
        }
        let check = try await ComposerCheck(form, call)
        guard check.problems.isEmpty else { return try await review(call, of: id) }
        guard !reviewed.isOutgrown(by: check.audience ?? 0) else {
            return try await review(
                call, of: id, error: "Look at it once more: its audience grew by more than a tenth since the review.")
        }
        if reviewed.isMass {
            guard call.visit.form.text("count").filter(\.isNumber) == String(reviewed.count) else {
                return try await review(
                    call, of: id, keeping: reviewed,
                    error: "Type the number of recipients as it is shown: \(reviewed.count).")
            }
            guard call.isProven else {
                return .redirect("\(call.base)/prove?back=\("\(call.root)/compose/review?draft=\(id)".urlEncoded)")
            }
        }
        return try await deliver(form, draft: id, at: reviewed.time, call)
    }

    /// Sends, once for each draft and what it says, and shows what becomes of it.
    ///
    /// - Parameter time: what the times of the message count from. A second click of Send at Review has the same.
    private static func deliver(
        _ form: ComposerForm, draft: String, at time: Timestamp, _ call: ConsoleCall
    ) async throws -> Reply {
        let answer = try await call.api(
            .post, call.apiPath("messages:send"), form.request(in: call.project, at: time),
            headers: [.idempotencyKey: "console-\(draft)-\(form.digest)"])
        // The key is of what was typed: it was sent before, and only times that count from the click differ.
        if answer.status == .conflict {
            try await call.store.dropDraft(draft, of: call.signedIn.owner.name)
            return .redirect("\(call.root)/messages")
        }
        guard answer.isSuccess, let id = answer.messageID else {
            return try await review(call, of: draft, error: "It was not sent. \(answer.message)")
        }
        try await call.audit(.messageSent, id)
        try await call.store.dropDraft(draft, of: call.signedIn.owner.name)
        return .redirect("\(call.root)/messages/\(id)")
    }
}

extension APIAnswer {
    /// The id of the message that was taken.
    fileprivate var messageID: String? {
        json["name"]?.stringValue.flatMap { $0.split(separator: "/").last.map(String.init) }
    }
}

extension HTTPField.Name {
    fileprivate static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
}
