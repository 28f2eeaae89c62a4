import HTTP2Client
import Logging
import PushModel
import Synchronization

/// What comes back from the pools.
extension UpstreamClient {
    /// Reads what came back, on a loop thread.
    func read(
        _ completions: [RequestCompletion], at indices: [Int], of batch: [Push], _ generation: Int,
        token: AuthorizationToken?
    ) -> [PushReport] {
        let received = wallTime()
        var findings = Findings(count: completions.count)
        let judged = service.mismatches.map { judge(completions, at: indices, of: batch, by: $0, received) }
        var reports = completions.indices.map { place in
            let completion = completions[place]
            var answer = judged?[place] ?? Answer(completion.exchange, of: service, at: received)
            let index = indices[completion.index]
            if answer.outcome.refusal?.scope == .load(.sender), !slowsSender(batch[index].address) {
                answer.slowAddressAlone()
            }
            if service.notesAnswers { service.note(answer.outcome, of: batch[index]) }
            findings.add(answer, of: index, completion.exchange)
            if case .notSent(let failure) = completion.exchange, failure.kind == .withdrawn {
                return givenBack(index, of: batch, generation, after: completion.latency)
            }
            let start = received + (.zero - completion.latency)
            return PushReport(
                index: index, outcome: service.seesDeathAtOnce ? answer.outcome.dated(by: start) : answer.outcome,
                latency: completion.latency, upstreamID: answer.acceptance?.text)
        }
        if let reason = service.unknownAddress { judge(&reports, of: reason, batch) }
        // The token first, so that the new connections begin with the new one.
        if findings.sawExpiredToken, let token { tokens?.expire(token.issuedAt) }
        follow(findings, of: batch, generation, token: token, received)
        congestion.leave(completions.count, good: findings.good, overload: findings.overload)
        if let overload = findings.overload, overload.isSlowed || overload.after ?? .zero > .zero {
            pools.reconsider()
        }
        return reports
    }

    /// Whether an answer that slows the sender down, to a push to this address, is about more than the address.
    private func slowsSender(_ address: Address) -> Bool {
        let now = uptime()
        return state.withLock { $0.slowed.isOfSender(address, at: now) }
    }

    /// Reads answers, and says of each that an address is of another credential whether the address is at fault.
    private func judge(
        _ completions: [RequestCompletion], at indices: [Int], of batch: [Push], by limits: MismatchLimits,
        _ received: Timestamp
    ) -> [Answer] {
        var answers = completions.map { Answer($0.exchange, of: service, at: received) }
        let mismatched = answers.indices.filter { answers[$0].outcome.refusal?.reason == limits.reason }
        let accepted = answers.indices.filter { answers[$0].meaning == .accepted }
        let now = uptime()
        func push(_ place: Int) -> Push { batch[indices[completions[place].index]] }
        let suspects = mismatched.count { !push($0).isProven }
        state.withLock { state in
            state.mismatched.count(accepted: accepted.count, mismatched: mismatched.count - suspects, at: now)
            state.mismatchedSuspects.count(accepted: accepted.count, mismatched: suspects, at: now)
            if !state.mismatched.isEmpty { for place in accepted { state.mismatched.accepted(push(place).address) } }
            if !state.mismatchedSuspects.isEmpty {
                for place in accepted { state.mismatchedSuspects.accepted(push(place).address) }
            }
            for place in mismatched {
                let address = push(place).address
                let verdict =
                    push(place).isProven
                    ? state.mismatched.verdict(on: address, by: limits)
                    : state.mismatchedSuspects.verdict(on: address, by: limits)
                switch verdict {
                case .address: break
                case .push: answers[place].refuse(by: Refusal(limits.reason, .push(.address)), isOfGroup: false)
                case .credential: answers[place].refuse(by: Refusal(limits.reason, .credential), isOfGroup: true)
                }
            }
        }
        return answers
    }

    /// Says of each address that the service does not know whether it is dead. Otherwise the push ends, and nothing is held
    /// against the registration.
    private func judge(_ reports: inout [PushReport], of reason: Reason, _ batch: [Push]) {
        let now = uptime()
        let received = wallTime()
        state.withLock { state in
            let unknown = reports.indices.filter { reports[$0].outcome.refusal?.reason == reason }
            let answers = reports.count { $0.outcome == .accepted || $0.outcome.refusal?.scope.isFinal == true }
            guard answers > 0 else { return }
            state.unknownAddresses.count(answers: answers, unknown: unknown.count, at: now)
            if !state.unknownAddresses.isEmpty {
                for report in reports where report.outcome == .accepted {
                    state.unknownAddresses.accepted(batch[report.index].address)
                }
            }
            for place in unknown {
                let report = reports[place]
                let isDead = state.unknownAddresses.isDead(batch[report.index].address, at: now)
                let scope: Refusal.Scope =
                    isDead ? .addressDead(since: received + (.zero - report.latency)) : .push(.address)
                reports[place] = report.answering(.rejected(Refusal(reason, scope)))
            }
        }
    }

    /// Ends pushes that no request can be made of.
    func refuse(
        _ refused: [Int: Refusal], of batch: [Push], _ generation: Int, token: AuthorizationToken?
    ) -> [PushReport] {
        keep(Array(refused.keys), of: batch, generation, token: token)
        return refused.map { PushReport(index: $0, outcome: .rejected($1), latency: .zero, isAttempt: false) }
    }

    /// Gives pushes back whose addresses get no more for a while.
    func rest(
        _ rests: [Int: Duration], of batch: [Push], _ generation: Int, token: AuthorizationToken?
    ) -> [PushReport] {
        keep(Array(rests.keys), of: batch, generation, token: token)
        return rests.map {
            PushReport(
                index: $0, outcome: .throttled(service.addressOverload, after: $1), latency: .zero, isAttempt: false)
        }
    }

    /// The reports of pushes that were admitted and that another gateway may have by now.
    func keepForOthers(
        _ indices: [Int], of batch: [Push], _ generation: Int, token: AuthorizationToken?
    ) -> [PushReport] {
        keep(indices, of: batch, generation, token: token)
        return indices.map {
            PushReport(index: $0, outcome: .notSent(.leaseOver), latency: .zero, isAttempt: false)
        }
    }

    /// Pushes that were admitted do not go. One of them may have been a probe: it shows nothing.
    private func keep(_ indices: [Int], of batch: [Push], _ generation: Int, token: AuthorizationToken?) {
        var findings = Findings(count: indices.count)
        findings.answers = indices.map { UpstreamControl.Answered(index: $0, meaning: .nothing) }
        follow(findings, of: batch, generation, token: token, wallTime())
        congestion.leave(indices.count, good: 0)
    }

    /// What the answers of one call say.
    private struct Findings {
        var answers: [UpstreamControl.Answered] = []
        var signs: [UpstreamSign] = []
        var good = 0
        var overload: CongestionGate.Overload?
        var sawExpiredToken = false
        /// Why a push was refused because of its credential or topic.
        var refused: Reason?
        /// The `date` of an answer that has one.
        var date: String?
        var unknown: (reason: Reason, status: Int)?
        var unusualSuccess: Int?

        init(count: Int) {
            answers.reserveCapacity(count)
            signs.reserveCapacity(count)
        }

        mutating func add(_ answer: Answer, of index: Int, _ exchange: Exchange) {
            answers.append(UpstreamControl.Answered(index: index, meaning: answer.meaning))
            signs.append(answer.sign)
            if answer.meaning.isAnswered { good += 1 }
            if case .overloaded(let after) = answer.meaning {
                overload = CongestionGate.Overload(
                    after: [overload?.after, after].compactMap { $0 }.max(), isSlowed: overload?.isSlowed ?? false)
            }
            if case .slowed = answer.meaning {
                overload = CongestionGate.Overload(after: overload?.after, isSlowed: true)
            }
            if case .tokenExpired = answer.meaning { sawExpiredToken = true }
            if let refusal = answer.meaning.refusalOfSender { refused = refusal.reason }
            guard case .answered(let response) = exchange else { return }
            if date == nil, !response.headers.isEmpty { date = response.header("date") }
            if let reason = answer.unknownReason { unknown = (reason, response.status) }
            if let status = answer.unusualSuccess { unusualSuccess = status }
        }
    }

    private func follow(
        _ findings: Findings, of batch: [Push], _ generation: Int, token: AuthorizationToken?, _ received: Timestamp
    ) {
        let now = uptime()
        let dispatch = UpstreamControl.Dispatch(
            generation: generation, tokenAge: token.map { received - $0.issuedAt } ?? .zero)
        let (skew, control, health, isNew, isUnusual, mayHold) = state.withLock { state in
            let wasHolding = state.control.isHolding
            // The clock first: it may explain what is refused.
            let skew = Self.sample(findings.date, into: &state.skew, received: received, at: now)
            var actions = state.control.note(
                findings.answers, of: batch, dispatch, skew: state.skew, at: now, wallTime: received)
            let health = state.health.note(findings.signs, at: received)
            state.use.note(findings.signs, refused: findings.refused, at: received)
            if health.contains(.recycle) { actions += state.control.replacement(at: now) }
            let isNew = findings.unknown.map { state.unknownReasons.note($0.reason.rawValue, at: now) } ?? false
            let isUnusual =
                findings.unusualSuccess.map { state.unknownReasons.note("HTTP\($0)", at: now) } ?? false
            return (skew, actions, health, isNew, isUnusual, wasHolding || state.control.isHolding)
        }
        if let skew { tell(skew) }
        if isNew, let unknown = findings.unknown { tell(unknown.reason, status: unknown.status) }
        if isUnusual, let status = findings.unusualSuccess {
            logger.warning(
                "\(service.name) accepted a push with a status that it does not document; it counts as accepted",
                metadata: ["status": "\(status)"])
        }
        act(on: control)
        act(on: health)
        if mayHold { updateHold() }
    }

    private static func sample(
        _ date: String?, into skew: inout ClockSkew, received: Timestamp, at now: Duration
    ) -> ClockSkew.Action? {
        guard let date, skew.wantsSample(at: now), let time = HTTPDate.time(of: date, now: received) else { return nil }
        return skew.sample(date: time, received: received, at: now)
    }
}

extension PushReport {
    /// The same report of another outcome.
    fileprivate func answering(_ outcome: Outcome) -> PushReport {
        PushReport(
            index: index, outcome: outcome, latency: latency, isAttempt: isAttempt, isBeingProbed: isBeingProbed,
            upstreamID: upstreamID)
    }
}

extension Outcome {
    /// The outcome, with the time when the push set out where the service does not say since when an address is dead: who
    /// registers after that lives.
    fileprivate func dated(by start: Timestamp) -> Outcome {
        guard case .rejected(let refusal) = self, refusal.scope == .addressDead(since: nil) else { return self }
        return .rejected(Refusal(refusal.reason, .addressDead(since: start), label: refusal.label))
    }
}
