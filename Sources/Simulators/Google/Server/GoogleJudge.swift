import Synchronization

/// Decides what a simulated Google answers: who asks, what is asked, and what rules and quotas say. Safe to share.
final class GoogleJudge: Sendable {
    let identity: GoogleIdentity
    let rules: GoogleRuleBook
    let recording: Recording
    let tokens: GoogleTokenEndpoint
    let wallTimeMilliseconds: @Sendable () -> Int64
    private let quota: MinuteQuota
    private let counted = Mutex(0)

    /// An unauthenticated client must not fill the memory.
    static let longestBodyBytes = 1 << 20

    init(
        identity: GoogleIdentity, rules: GoogleRuleBook, recording: Recording, tokens: GoogleTokenEndpoint,
        quota: MinuteQuota,
        wallTimeMilliseconds: @escaping @Sendable () -> Int64
    ) {
        self.identity = identity
        self.rules = rules
        self.recording = recording
        self.tokens = tokens
        self.quota = quota
        self.wallTimeMilliseconds = wallTimeMilliseconds
    }

    /// How many access tokens were asked for.
    var tokenRequests: Int { counted.withLock { $0 } }

    /// Answers a request.
    ///
    /// - Parameter play: what a scenario makes of the answer to a message, by its status and token.
    func reply(
        to request: GoogleRequest, connection: Int,
        play: (_ status: Int, _ token: String) -> ScenarioStage.Verdict = { _, _ in ScenarioStage.Verdict() }
    ) -> GoogleReply {
        if request.path == "/token" { return tokenReply(to: request) }
        guard let project = request.project else { return .page(404, "Not Found") }
        guard request.method == "POST" else { return .page(405, "Method Not Allowed") }
        var (reply, target) = messageReply(to: request, project: project)
        reply.follow(play(reply.status, target))
        if reply.status == 0 { reply.body = "" }
        record(request, target: target, reply: reply, connection: connection)
        return reply
    }

    private func tokenReply(to request: GoogleRequest) -> GoogleReply {
        guard request.method == "POST" else { return .page(404, "Not Found") }
        counted.withLock { $0 += 1 }
        let rule = rules.takeForTokenRequest()
        let own = tokens.reply(
            contentType: request.headers["content-type"], body: request.body, now: wallTimeMilliseconds() / 1000)
        return own.following(rule)
    }

    private func messageReply(to request: GoogleRequest, project: String) -> (GoogleReply, target: String) {
        let bearer = request.headers["authorization"].flatMap {
            $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil
        }
        guard let bearer, tokens.accepts(bearer, at: wallTimeMilliseconds() / 1000) else {
            return (GoogleStatus.unauthenticated.reply, "")
        }
        guard project == identity.projectID || project == identity.projectNumber else {
            return (GoogleStatus.notFound.reply, "")
        }
        switch GoogleMessageCheck.read(request.body) {
        case .failure(let refusal): return (refusal.status.reply, "")
        case .success(let message):
            let rule = message.isBroadcast ? nil : rules.take(for: message.target)
            let reply = exceeded(by: message) ?? accepted(message)
            return (reply.following(rule), message.target)
        }
    }

    private func accepted(_ message: GoogleMessageCheck.Message) -> GoogleReply {
        let time = wallTimeMilliseconds()
        let number = UInt64.random(in: .min ... .max)
        let digits = String(number, radix: 16)
        let id =
            message.isBroadcast
            ? String(1_000_000_000_000_000_000 + number % 8_000_000_000_000_000_000)
            : "0:\(time * 1000 + Int64(number % 1000))%\(String(repeating: "0", count: 16 - digits.count))\(digits)"
        var reply = GoogleReply(
            status: 200, body: "{\n  \"name\": \"projects/\(identity.projectID)/messages/\(id)\"\n}\n")
        reply.name = id
        return reply
    }

    private func exceeded(by message: GoogleMessageCheck.Message) -> GoogleReply? {
        switch quota.take(for: message.target, atMilliseconds: wallTimeMilliseconds()) {
        case nil: nil
        case .sender: GoogleFault.projectQuota.reply
        case .target: GoogleFault.deviceQuota.reply
        }
    }

    private func record(_ request: GoogleRequest, target: String, reply: GoogleReply, connection: Int) {
        var headers = request.headers
        headers["authorization"] = nil
        recording.add(
            RecordedPush(
                number: 0, time: wallTimeMilliseconds(), connection: connection, deviceToken: target, headers: headers,
                payload: String(decoding: request.body.prefix(8192), as: UTF8.self), status: reply.status,
                reason: reply.code, apnsID: reply.name))
    }
}

/// One request, read whole.
struct GoogleRequest: Sendable {
    let method: String
    /// Without the query.
    let path: String
    /// Names in lower case.
    let headers: [String: String]
    let body: [UInt8]

    /// The project that a message is sent for; `nil`: the path is not that of a message.
    var project: String? {
        let prefix = "/v1/projects/"
        let suffix = "/messages:send"
        guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count > prefix.utf8.count + suffix.utf8.count
        else { return nil }
        let project = path.dropFirst(prefix.count).dropLast(suffix.count)
        return project.contains("/") ? nil : String(project)
    }
}

extension GoogleReply {
    /// As a rule says.
    fileprivate func following(_ rule: GoogleRule?) -> GoogleReply {
        guard let rule else { return self }
        var reply = rule.fault?.reply ?? self
        reply.retryAfterSeconds = rule.retryAfterSeconds
        reply.delayMilliseconds = rule.delayMilliseconds ?? 0
        return reply
    }

    /// As a scenario says, whose answers are those of APNs; only an acceptance is replaced.
    fileprivate mutating func follow(_ verdict: ScenarioStage.Verdict) {
        if status == 200, let answer = verdict.answer {
            let fault: GoogleFault =
                switch answer.status {
                case 400: .invalidToken
                case 410: .unregistered
                case 429: .deviceQuota
                default: .unavailable
                }
            self = fault.reply
            retryAfterSeconds = answer.retryAfterSeconds
        }
        delayMilliseconds += verdict.delayMilliseconds
        if verdict.isWithheld { (status, end) = (0, .silence) }
    }
}
