import Foundation
import NIOHTTP1

/// A request to the simulated push service, with all of its body.
struct WebPushRequest: Sendable {
    var head: HTTPRequestHead
    var body: [UInt8] = []

    /// The value of a field that stands there once; `nil`: it is missing, or there are several.
    func single(_ name: String) -> String? {
        let values = head.headers[name]
        return values.count == 1 ? values[0] : nil
    }
}

/// What the simulated push service answers.
struct WebPushAnswer: Sendable {
    /// 0: nothing.
    var status: Int
    var headers: HTTPHeaders = [:]
    var body = ""
    var delayMilliseconds = 0
    /// Whether the stream ends without an answer.
    var isReset = false
}

/// Judges pushes: the rules of RFC 8030, RFC 8188, RFC 8291 and RFC 8292 with the deviations and words of one service, then
/// the quotas, what the tester asked for, and what the connection's scenario makes of it.
struct PushServiceJudge: Sendable {
    var dialect = PushServiceDialect.mozilla
    let subscriptions: SubscriptionBook
    let rules: PushServiceRules
    var quota = MinuteQuota(perMinute: nil, perTarget: nil)
    let recording: ArrivalLog<RecordedWebPush>
    let wallTimeMilliseconds: @Sendable () -> Int64

    /// So many bytes of a body are read: one beyond every limit.
    static let readLimitBytes = 4097

    private struct Reading {
        var senderKey: [UInt8]?
        var plaintext: [UInt8]?
    }

    /// The answer to a request, which is recorded.
    ///
    /// - Parameter play: what a scenario makes of the answer, by its status (200 for every acceptance) and subscription.
    func answer(
        to request: WebPushRequest,
        play: (_ status: Int, _ subscription: String) -> ScenarioStage.Verdict = { _, _ in ScenarioStage.Verdict() }
    ) -> WebPushAnswer {
        let now = wallTimeMilliseconds()
        let id = dialect.subscription(of: request.head.uri)
        var reading = Reading()
        var answer: WebPushAnswer
        var problem: String?
        do throws(PushServiceRefusal) {
            let seconds = try check(request, id, at: now, into: &reading)
            answer = dialect.accepted(location: "\(subscriptions.origin)/m/\(UUID().uuidString)", seconds: seconds)
        } catch {
            answer = dialect.answer(to: error)
            problem = error.text
        }
        if problem == nil, let rule = rules.take(for: id) {
            answer = Self.ruled(rule, answer)
            problem = answer.status == 201 ? nil : "a rule"
        }
        let isAccepted = answer.status == 201
        let verdict = play(isAccepted ? 200 : answer.status, id)
        if isAccepted, let refusal = verdict.answer.map(Self.refusal(playing:)) {
            answer = dialect.answer(to: refusal)
            problem = "a scenario: \(refusal.text)"
        }
        if isAccepted, let seconds = verdict.answer?.retryAfterSeconds {
            answer.headers.replaceOrAdd(name: "retry-after", value: "\(seconds)")
        }
        answer.delayMilliseconds += verdict.delayMilliseconds
        if verdict.isWithheld { answer.status = 0 }
        recording.add(
            RecordedWebPush(
                number: 0, time: now, subscription: id, headers: Self.fields(of: request),
                senderKey: reading.senderKey.map(base64URL),
                plaintext: reading.plaintext.map { String(decoding: $0, as: UTF8.self) },
                bodyBytes: request.body.count, status: answer.status, problem: problem))
        return answer
    }

    /// What an answer of APNs' is at a push service of browsers.
    private static func refusal(playing answer: ScenarioAnswer) -> PushServiceRefusal {
        switch answer.status {
        case 400: PushServiceRefusal(.unknownSubscription, "there is no such endpoint")
        case 410: PushServiceRefusal(.endedSubscription, "the subscription has ended")
        case 429: PushServiceRefusal(.subscriptionQuota, "too many pushes for this subscription")
        default: PushServiceRefusal(.unavailable, "the service is down")
        }
    }

    // MARK: Checks

    private func check(
        _ request: WebPushRequest, _ id: String, at now: Int64, into reading: inout Reading
    ) throws(PushServiceRefusal) -> Int {
        guard request.head.method == .POST else { throw PushServiceRefusal(.method, "only POST is possible here") }
        let subscription: PushSubscription
        switch subscriptions.standing(of: id) {
        case .live(let found): subscription = found
        case .ended: throw PushServiceRefusal(.endedSubscription, "the subscription has ended")
        case .unknown: throw PushServiceRefusal(.unknownSubscription, "there is no such endpoint")
        }
        let seconds = try checkFields(of: request)
        let key: [UInt8]
        do throws(VAPIDCheck.Failure) {
            key = try VAPIDCheck(origin: subscriptions.origin, nowMilliseconds: now)
                .key(of: request.single("authorization"))
        } catch {
            throw PushServiceRefusal(.token, error.text)
        }
        reading.senderKey = key
        guard subscription.applicationKey.map({ $0 == key }) ?? true else {
            throw PushServiceRefusal(.otherKey, "VAPID public key mismatch")
        }
        reading.plaintext = try plaintext(of: request, for: subscription)
        switch quota.take(for: id, atMilliseconds: now) {
        case nil: break
        case .sender: throw PushServiceRefusal(.senderQuota, "too many pushes of this sender")
        case .target: throw PushServiceRefusal(.subscriptionQuota, "too many pushes for this subscription")
        }
        return seconds
    }

    /// - Returns: the time to live in seconds.
    private func checkFields(of request: WebPushRequest) throws(PushServiceRefusal) -> Int {
        guard let timeToLive = request.single("ttl") else {
            throw PushServiceRefusal(.missingTimeToLive, "TTL is missing")
        }
        guard let seconds = Int(timeToLive), timeToLive.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw PushServiceRefusal(.timeToLive, "TTL must be a number of seconds")
        }
        if let problem = dialect.problem(withTimeToLive: seconds) { throw PushServiceRefusal(.timeToLive, problem) }
        if !request.head.headers["urgency"].isEmpty {
            guard let urgency = request.single("urgency"), ["very-low", "low", "normal", "high"].contains(urgency)
            else { throw PushServiceRefusal(.urgency, "Urgency is wrong") }
        }
        if !request.head.headers["topic"].isEmpty {
            guard let topic = request.single("topic"), topic.wholeMatch(of: /[A-Za-z0-9_-]{1,32}/) != nil else {
                throw PushServiceRefusal(.topic, "Topic must be 1 to 32 of A-Z a-z 0-9 _ -")
            }
            if let problem = dialect.problem(withTopic: topic) { throw PushServiceRefusal(.topic, problem) }
        }
        return seconds
    }

    private func plaintext(
        of request: WebPushRequest, for subscription: PushSubscription
    ) throws(PushServiceRefusal) -> [UInt8]? {
        let limit = dialect.bodyLimitBytes(isBridged: subscription.isBridged)
        guard request.body.count <= limit else {
            throw PushServiceRefusal(.size, "the body has more than \(limit) bytes")
        }
        guard !request.body.isEmpty else {
            guard request.head.headers["content-encoding"].isEmpty else {
                throw PushServiceRefusal(.encoding, "there is an encoding and no body")
            }
            return nil
        }
        guard request.single("content-encoding") == "aes128gcm" else {
            throw PushServiceRefusal(.encoding, "Content-Encoding must be aes128gcm")
        }
        guard request.single("content-length").map({ $0 == "\(request.body.count)" }) ?? true else {
            throw PushServiceRefusal(.encoding, "Content-Length is wrong")
        }
        do {
            return try PushDecryption.plaintext(of: request.body, for: subscription)
        } catch {
            throw PushServiceRefusal(.encoding, error.problem)
        }
    }

    // MARK: Answers

    private static func ruled(_ rule: PushServiceRule, _ accepted: WebPushAnswer) -> WebPushAnswer {
        var answer = rule.status.map { WebPushAnswer(status: $0) } ?? accepted
        if rule.neverAnswer == true || rule.reset == true { answer = WebPushAnswer(status: 0) }
        answer.isReset = rule.reset == true
        answer.delayMilliseconds = rule.delayMilliseconds ?? 0
        if let body = rule.body { answer.body = body }
        if let seconds = rule.retryAfterSeconds { answer.headers.add(name: "retry-after", value: "\(seconds)") }
        if let location = rule.location { answer.headers.replaceOrAdd(name: "location", value: location) }
        return answer
    }

    private static func fields(of request: WebPushRequest) -> [String: String] {
        var fields: [String: String] = [:]
        for (name, value) in request.head.headers where name.lowercased() != "authorization" {
            fields[name.lowercased()] = value
        }
        return fields
    }
}
