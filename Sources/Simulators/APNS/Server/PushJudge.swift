import NIOCore

/// Decides about requests, by Apple's checks and then by the rules, and records what became of them.
struct PushJudge: Sendable {
    let checks: RequestChecks
    let rules: RuleBook
    let recording: Recording
    let tally: Tally
    let wallTimeMilliseconds: @Sendable () -> Int64

    /// The answer to a request that arrived in full on a connection, as far as checks and rules go.
    func judge(_ request: PushRequest, at time: Int64, credentials: inout ConnectionCredentials) -> Answer {
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

    /// Counts and records a request with what it is answered in the end.
    func record(_ request: PushRequest, at time: Int64, connection: Int, answer: Answer) {
        tally.pushArrived(status: answer.status ?? 0, reason: answer.reason)
        recording.add(
            RecordedPush(
                number: 0, time: time, connection: connection, deviceToken: request.deviceToken ?? "",
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
