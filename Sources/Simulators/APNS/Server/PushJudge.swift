import NIOCore

/// Decides about requests, by Apple's checks and then by the rules, and records what became of them.
struct PushJudge: Sendable {
    /// Which host it judges for.
    let host: APNSHost
    let checks: RequestChecks
    let channels: ChannelChecks
    let rules: RuleBook
    let recording: Recording
    let tally: Tally
    let wallTimeMilliseconds: @Sendable () -> Int64

    /// The answer to a request that arrived in full on a connection, as far as checks and rules go.
    func judge(_ request: PushRequest, at time: Int64, credentials: inout ConnectionCredentials) -> Answer {
        do throws(Refusal) {
            if let asked = try ChannelRequest(method: request.method, path: request.path, on: host) {
                return judge(asked, request, at: time, credentials: &credentials)
            }
            guard host == .push else { throw .badPath }
        } catch {
            return Answer(status: error.status, reason: error.reason, apnsID: randomUUID())
        }
        let sentID = request.headers["apns-id"]
        var answer = Answer(status: 200, apnsID: sentID.flatMap { isCanonicalUUID($0) ? $0 : nil } ?? randomUUID())
        do throws(Refusal) {
            try checks.check(request, on: &credentials, now: time / 1000)
            apply(rules.take(for: request.deviceToken ?? ""), to: &answer)
        } catch {
            answer.status = error.status
            answer.reason = error.reason
        }
        return answer
    }

    /// The answer to a request about channels.
    private func judge(
        _ asked: ChannelRequest, _ request: PushRequest, at time: Int64, credentials: inout ConnectionCredentials
    ) -> Answer {
        let sentID = request.headers["apns-request-id"]
        var answer = Answer(status: 200, apnsID: sentID.flatMap { isCanonicalUUID($0) ? $0 : nil } ?? randomUUID())
        answer.isOfChannel = true
        do throws(Refusal) {
            try channels.check(asked, request, on: &credentials, now: time / 1000)
            let rule =
                host == .management
                ? rules.takeManagement() : rules.take(forChannel: request.headers["apns-channel-id"] ?? "")
            apply(rule, to: &answer)
            // What is refused is not done; what is not answered is.
            guard answer.reason == nil else { return answer }
            let success = try channels.perform(asked, request)
            if answer.status != nil { answer.status = success.status }
            answer.channelID = success.channelID
            answer.body = success.body
        } catch {
            answer.status = error.status
            answer.reason = error.reason
        }
        return answer
    }

    /// Counts and records a request with what it is answered in the end.
    func record(_ request: PushRequest, at time: Int64, connection: Int, answer: Answer) {
        let isOfChannel = answer.isOfChannel || host == .management
        if host == .management {
            tally.managementRequestArrived(status: answer.status ?? 0, reason: answer.reason)
        } else {
            tally.pushArrived(status: answer.status ?? 0, reason: answer.reason)
        }
        recording.add(
            RecordedPush(
                number: 0, time: time, connection: connection, deviceToken: request.deviceToken ?? "",
                channelRequest: isOfChannel ? "\(request.method) \(request.path)" : nil,
                headers: request.headers, payload: String(decoding: request.body.readableBytesView, as: UTF8.self),
                status: answer.status ?? 0, reason: answer.reason,
                apnsID: answer.status == nil ? nil : answer.apnsID))
    }

    private func apply(_ rule: Rule?, to answer: inout Answer) {
        guard let rule else { return }
        answer.delayMilliseconds = rule.delayMilliseconds
        switch rule.action {
        case .accept:
            break
        case .reject(let status, let reason):
            answer.status = status
            answer.reason = reason
            // Apple sends a timestamp with every 410.
            if status == 410 { answer.timestamp = wallTimeMilliseconds() }
        case .unregistered(let since):
            answer.status = 410
            answer.reason = "Unregistered"
            answer.timestamp = since
        case .neverAnswer:
            answer.status = nil
        }
    }
}

/// A random (version 4) UUID in lower case.
func randomUUID() -> String {
    let digits = Array("0123456789abcdef".utf8)
    let random = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for position in 0..<32 {
        if [8, 12, 16, 20].contains(position) { text.append(UInt8(ascii: "-")) }
        var digit = Int(random[position / 16] >> UInt64(60 - position % 16 * 4) & 0xF)
        if position == 12 { digit = 4 }
        if position == 16 { digit = digit & 0x3 | 0x8 }
        text.append(digits[digit])
    }
    return String(decoding: text, as: UTF8.self)
}
