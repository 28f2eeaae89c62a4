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

/// Judges pushes: the rules of RFC 8030, RFC 8188, RFC 8291 and RFC 8292 with the words of Mozilla's service, then what the
/// tester asked for.
struct PushServiceJudge: Sendable {
    /// What a push service must take (RFC 8030 §7.2), and this one takes no more.
    static let bodyLimitBytes = 4096
    /// Thirty days: a longer time to live is cut to it, as at Mozilla's.
    private static let longestTimeToLive = 30 * 86_400

    let subscriptions: SubscriptionBook
    let rules: PushServiceRules
    let recording: ArrivalLog<RecordedWebPush>
    let wallTimeMilliseconds: @Sendable () -> Int64

    /// Why a push is refused.
    private struct Refusal: Error {
        let status: Int
        let errno: Int
        let text: String
    }

    private struct Reading {
        var senderKey: [UInt8]?
        var plaintext: [UInt8]?
    }

    /// The answer to a request, which is recorded.
    func answer(to request: WebPushRequest) -> WebPushAnswer {
        let now = wallTimeMilliseconds()
        let id = Self.subscription(of: request.head.uri)
        var reading = Reading()
        var answer: WebPushAnswer
        var problem: String?
        do throws(Refusal) {
            let seconds = try check(request, id, at: now, into: &reading)
            answer = accepted(id, seconds: seconds)
        } catch {
            answer = Self.refused(error)
            problem = error.text
        }
        if problem == nil, let rule = rules.take(for: id) {
            answer = Self.ruled(rule, answer)
            problem = answer.status == 201 ? nil : "a rule"
        }
        recording.add(
            RecordedWebPush(
                number: 0, time: now, subscription: id, headers: Self.fields(of: request),
                senderKey: reading.senderKey.map(base64URL),
                plaintext: reading.plaintext.map { String(decoding: $0, as: UTF8.self) },
                bodyBytes: request.body.count, status: answer.status, problem: problem))
        return answer
    }

    // MARK: Checks

    private func check(
        _ request: WebPushRequest, _ id: String, at now: Int64, into reading: inout Reading
    ) throws(Refusal) -> Int {
        guard request.head.method == .POST else {
            throw Refusal(status: 405, errno: 999, text: "only POST is possible here")
        }
        let subscription: PushSubscription
        switch subscriptions.standing(of: id) {
        case .live(let found): subscription = found
        case .ended: throw Refusal(status: 410, errno: 106, text: "the subscription has ended")
        case .unknown: throw Refusal(status: 404, errno: 102, text: "there is no such endpoint")
        }
        let seconds = try Self.checkFields(of: request)
        let key: [UInt8]
        do throws(VAPIDCheck.Failure) {
            key = try VAPIDCheck(origin: subscriptions.origin, nowMilliseconds: now)
                .key(of: request.single("authorization"))
        } catch {
            throw Refusal(status: error.status, errno: error.errno, text: error.text)
        }
        reading.senderKey = key
        guard subscription.applicationKey.map({ $0 == key }) ?? true else {
            throw Refusal(status: 401, errno: 109, text: "VAPID public key mismatch")
        }
        reading.plaintext = try Self.plaintext(of: request, for: subscription)
        return seconds
    }

    /// - Returns: the time to live in seconds.
    private static func checkFields(of request: WebPushRequest) throws(Refusal) -> Int {
        guard let timeToLive = request.single("ttl") else {
            throw Refusal(status: 400, errno: 111, text: "TTL is missing")
        }
        guard let seconds = Int(timeToLive), timeToLive.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw Refusal(status: 400, errno: 112, text: "TTL must be a number of seconds")
        }
        if !request.head.headers["urgency"].isEmpty {
            guard let urgency = request.single("urgency"), ["very-low", "low", "normal", "high"].contains(urgency)
            else { throw Refusal(status: 400, errno: 110, text: "Urgency is wrong") }
        }
        if !request.head.headers["topic"].isEmpty {
            guard let topic = request.single("topic"), topic.wholeMatch(of: /[A-Za-z0-9_-]{1,32}/) != nil else {
                throw Refusal(status: 400, errno: 113, text: "Topic must be 1 to 32 of A-Z a-z 0-9 _ -")
            }
        }
        return seconds
    }

    private static func plaintext(
        of request: WebPushRequest, for subscription: PushSubscription
    ) throws(Refusal) -> [UInt8]? {
        guard request.body.count <= bodyLimitBytes else {
            throw Refusal(status: 413, errno: 104, text: "the body has more than \(bodyLimitBytes) bytes")
        }
        guard !request.body.isEmpty else {
            guard request.head.headers["content-encoding"].isEmpty else {
                throw Refusal(status: 400, errno: 110, text: "there is an encoding and no body")
            }
            return nil
        }
        guard request.single("content-encoding") == "aes128gcm" else {
            throw Refusal(status: 400, errno: 110, text: "Content-Encoding must be aes128gcm")
        }
        guard request.single("content-length").map({ $0 == "\(request.body.count)" }) ?? true else {
            throw Refusal(status: 400, errno: 110, text: "Content-Length is wrong")
        }
        do {
            return try PushDecryption.plaintext(of: request.body, for: subscription)
        } catch {
            throw Refusal(status: 400, errno: 110, text: error.problem)
        }
    }

    // MARK: Answers

    private func accepted(_ id: String, seconds: Int) -> WebPushAnswer {
        var answer = WebPushAnswer(status: 201)
        answer.headers.add(name: "location", value: "\(subscriptions.origin)/m/\(UUID().uuidString)")
        answer.headers.add(name: "ttl", value: "\(min(seconds, Self.longestTimeToLive))")
        return answer
    }

    private static func refused(_ refusal: Refusal) -> WebPushAnswer {
        var answer = WebPushAnswer(status: refusal.status)
        if refusal.status == 410 { answer.headers.add(name: "cache-control", value: "max-age=86400") }
        answer.headers.add(name: "content-type", value: "application/json")
        answer.body =
            "{\"code\":\(refusal.status),\"errno\":\(refusal.errno),\"error\":\"\",\"message\":\(jsonString(refusal.text))}"
        return answer
    }

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

    /// The id of `/push/<id>`; empty for any other path.
    private static func subscription(of path: String) -> String {
        path.hasPrefix("/push/") ? String(path.dropFirst("/push/".count)) : ""
    }

    private static func fields(of request: WebPushRequest) -> [String: String] {
        var fields: [String: String] = [:]
        for (name, value) in request.head.headers where name.lowercased() != "authorization" {
            fields[name.lowercased()] = value
        }
        return fields
    }
}
