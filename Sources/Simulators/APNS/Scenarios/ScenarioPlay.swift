import Foundation

/// What happens on a connection, as far as a scenario is concerned.
enum ScenarioEvent: Equatable {
    /// The connection begins to play.
    case opened
    /// A request arrived in full. Nothing was decided about it yet.
    case arrived(stream: Int)
    /// The request was held against the checks and the rules.
    case judged(stream: Int, status: Int?, deviceToken: String)
    /// The client acknowledged SETTINGS.
    case settingsAcknowledged
    /// The time that was asked for by ``ScenarioAction/tick(milliseconds:)`` is over.
    case ticked
}

/// What the connection has to do. Those that concern a push are about the one of the event.
enum ScenarioAction: Equatable {
    /// Give this answer in place of 200.
    case answer(ScenarioAnswer)
    /// Answer so much later.
    case delay(milliseconds: Int)
    /// Answer with so many bytes of headers more.
    case bigHeaders(bytes: Int)
    /// Keep the request, undecided.
    case hold
    /// Decide the requests that are held up to this stream; forget the others.
    case release(upTo: Int)
    /// RST_STREAM in place of an answer.
    case resetStream(code: Int)
    /// GOAWAY; the last stream is the last one that arrived unless it is given.
    case goAway(lastStream: Int?, code: Int, debugData: String)
    /// Close when what was begun is answered.
    case close
    /// End the TCP connection at once, with RST if abrupt.
    case drop(isAbrupt: Bool)
    /// Read and write no more.
    case freeze
    /// SETTINGS with another limit of streams.
    case limitStreams(Int)
    /// WINDOW_UPDATE for the connection and each stream that still receives.
    case openWindows(bytes: Int)
    /// Come back after this time.
    case tick(milliseconds: Int)

    /// What statistics call it; `nil`: too small to be counted.
    var label: String? {
        switch self {
        case .answer(let answer): answer.reason
        case .delay: "delay"
        case .bigHeaders: "bigHeaders"
        case .hold: "hold"
        case .resetStream: "resetStream"
        case .goAway: "goAway"
        case .drop: "drop"
        case .freeze: "freeze"
        case .limitStreams: "limitStreams"
        case .openWindows: "openWindows"
        case .close, .release, .tick: nil
        }
    }
}

/// An answer that a scenario gives.
struct ScenarioAnswer: Hashable {
    var status: Int
    var reason: String
    /// With 410: how old the timestamp is.
    var ageSeconds: Int?
    var retryAfterSeconds: Int?

    init(_ status: Int, _ reason: String, ageSeconds: Int? = nil, retryAfterSeconds: Int? = nil) {
        self.status = status
        self.reason = reason
        self.ageSeconds = ageSeconds
        self.retryAfterSeconds = retryAfterSeconds == 0 ? nil : retryAfterSeconds
    }
}

/// One scenario on one connection, as a value: no I/O, and no clock or chance but what it is given. The connection
/// feeds it events and performs the actions that come back, in their order; what concerns the answer comes before it.
struct ScenarioPlay {
    /// RST_STREAM REFUSED_STREAM: provably not processed (RFC 9113 §8.7).
    private static let refusedStream = 7
    /// Apple's debug data of a GOAWAY.
    private static let shutdown = #"{"reason":"Shutdown"}"#

    /// How far a scenario that befalls a connection once has come.
    private enum Progress: Equatable {
        /// Next: under way.
        case waiting
        /// The number of pushes that it befell so far. Next: over.
        case underWay(Int)
        /// It happened. Next: nothing.
        case over
    }

    let scenario: Scenario
    private let seed: UInt64
    private let start: Int64
    private let fullLimit: Int
    private var generator: SeededGenerator
    /// The push at which it happens; `nil`: not on this connection.
    private let moment: Int?
    private var progress = Progress.waiting
    /// Pushes that arrived.
    private var pushes = 0
    /// Pushes that were answered without complaint about the sender.
    private var answered = 0
    private var limit: Int
    /// SETTINGS that are not acknowledged yet. What the client sends until then it may not have known to be too much.
    private var settingsUnderWay = 0
    private var held: [Int] = []
    /// The time to wait for more requests to hold is not over.
    private var waitsForMore = false

    init(_ scenario: Scenario, seed: UInt64, generator: SeededGenerator, start: Int64, streamLimit: Int) {
        self.scenario = scenario
        self.seed = seed
        self.start = start
        self.generator = generator
        fullLimit = scenario.name == .streamRamp ? min(scenario.whole(.streamLimit), streamLimit) : streamLimit
        limit = scenario.name == .streamRamp ? 1 : streamLimit
        let isAffected = self.generator.unit() < scenario[.share]
        let delay = Int(self.generator.unit() * (scenario[.spread] + 1))
        moment = isAffected ? scenario.whole(.after) + delay : nil
    }

    // MARK: What holds from the beginning

    /// The limit of streams that the connection begins with and that only this scenario changes; `nil`: as usual.
    var firstStreamLimit: Int? { scenario.name == .streamRamp ? 1 : nil }

    /// The initial size of stream windows; `nil`: as usual. With a value only this scenario opens windows.
    var windowBytes: Int? { scenario.name == .flowControlStall ? scenario.whole(.windowBytes) : nil }

    /// The shortest time between two provider tokens; `nil`: as usual.
    var tokenIntervalSeconds: Int? { scenario.name == .tokenUpdates ? scenario.whole(.intervalSeconds) : nil }

    // MARK: Events

    /// What has to be done now.
    ///
    /// - Parameter now: milliseconds since 1970.
    mutating func handle(_ event: ScenarioEvent, at now: Int64) -> [ScenarioAction] {
        switch event {
        case .opened:
            guard windowBytes != nil else { return [] }
            return [.tick(milliseconds: scenario.whole(.everyMilliseconds))]
        case .arrived(let stream):
            pushes += 1
            return arrived(stream)
        case .judged(let stream, let status, let deviceToken):
            guard let status else { return [] }
            return judged(stream, status, deviceToken, at: now)
        case .settingsAcknowledged:
            settingsUnderWay = max(0, settingsUnderWay - 1)
            return []
        case .ticked:
            return ticked()
        }
    }

    /// SETTINGS go out that this scenario did not ask for: those at the beginning.
    mutating func settingsSent() {
        settingsUnderWay += 1
    }

    /// Before the checks: what never gets as far as to be looked at.
    private mutating func arrived(_ stream: Int) -> [ScenarioAction] {
        switch scenario.name {
        case .collapseAfterReject:
            guard limit == 1, settingsUnderWay > 0 else { return [] }
            return [.resetStream(code: Self.refusedStream)]
        case .reset:
            guard scenario.whole(.errorCode) == Self.refusedStream, generator.unit() < scenario[.share] else {
                return []
            }
            return [.resetStream(code: Self.refusedStream)]
        case .halfOpen:
            guard isDue else { return [] }
            progress = .over
            return [.freeze]
        case .goAwayPartial:
            return hold(stream)
        case .flowControlStall, .none, .streamRamp, .goAwayShutdown, .drop, .slow, .tooManyRequests,
            .unavailableBurst, .tokenUpdates, .expiredWedge, .unrelatedKey, .badDeviceShare, .unregisteredShare,
            .settingsFlap, .bigHeaders:
            return []
        }
    }

    /// After the checks: what happens to the answer.
    private mutating func judged(
        _ stream: Int, _ status: Int, _ deviceToken: String, at now: Int64
    ) -> [ScenarioAction] {
        let isAccepted = status == 200
        switch scenario.name {
        case .none, .halfOpen, .goAwayPartial, .flowControlStall: return []
        case .streamRamp: return ramp(status)
        case .collapseAfterReject: return collapse(status, deviceToken)
        case .goAwayShutdown: return shutDown(isAccepted)
        case .drop:
            guard isDue else { return [] }
            progress = .over
            return [.drop(isAbrupt: scenario.whole(.abrupt) == 1)]
        case .reset:
            let code = scenario.whole(.errorCode)
            return code != Self.refusedStream && happens ? [.resetStream(code: code)] : []
        case .slow: return [.delay(milliseconds: delay())]
        case .settingsFlap: return flap()
        case .bigHeaders: return happens ? [.bigHeaders(bytes: scenario.whole(.headerBytes))] : []
        case .tooManyRequests, .unavailableBurst, .tokenUpdates, .expiredWedge, .unrelatedKey, .badDeviceShare,
            .unregisteredShare:
            guard isAccepted, let answer = refusal(deviceToken, at: now) else { return [] }
            return [.answer(answer)]
        }
    }

    /// What an accepted push is answered in its place.
    private mutating func refusal(_ deviceToken: String, at now: Int64) -> ScenarioAnswer? {
        let pause = scenario.whole(.retryAfterSeconds)
        switch scenario.name {
        case .tooManyRequests:
            return happens ? ScenarioAnswer(429, "TooManyRequests", retryAfterSeconds: pause) : nil
        case .unavailableBurst:
            let phase = max(0, now - start) % Int64(scenario.whole(.everyMilliseconds))
            let isBurst = phase < Int64(scenario.whole(.durationMilliseconds))
            return isBurst ? ScenarioAnswer(503, "ServiceUnavailable", retryAfterSeconds: pause) : nil
        case .tokenUpdates:
            return befalls(scenario.whole(.length)) ? ScenarioAnswer(429, "TooManyProviderTokenUpdates") : nil
        case .expiredWedge:
            guard isDue else { return nil }
            return scenario.whole(.status) == 500
                ? ScenarioAnswer(500, "InternalServerError") : ScenarioAnswer(403, "ExpiredProviderToken")
        case .unrelatedKey:
            return isDue ? ScenarioAnswer(403, "UnrelatedKeyIdInToken") : nil
        case .badDeviceShare:
            return isChosen(deviceToken) ? ScenarioAnswer(400, "BadDeviceToken") : nil
        case .unregisteredShare:
            return isChosen(deviceToken)
                ? ScenarioAnswer(410, "Unregistered", ageSeconds: scenario.whole(.ageSeconds)) : nil
        case .none, .streamRamp, .collapseAfterReject, .goAwayShutdown, .goAwayPartial, .drop, .reset, .halfOpen,
            .slow, .flowControlStall, .settingsFlap, .bigHeaders:
            return nil
        }
    }

    private mutating func ticked() -> [ScenarioAction] {
        switch scenario.name {
        case .goAwayShutdown: return [.close]
        case .goAwayPartial:
            guard waitsForMore else { return [.close] }
            waitsForMore = false
            return progress == .over ? [] : goAway()
        case .flowControlStall:
            return [
                .openWindows(bytes: scenario.whole(.stepBytes)),
                .tick(milliseconds: scenario.whole(.everyMilliseconds)),
            ]
        case .none, .streamRamp, .collapseAfterReject, .drop, .reset, .halfOpen, .slow, .tooManyRequests,
            .unavailableBurst, .tokenUpdates, .expiredWedge, .unrelatedKey, .badDeviceShare, .unregisteredShare,
            .settingsFlap, .bigHeaders:
            return []
        }
    }

    // MARK: Single scenarios

    private mutating func ramp(_ status: Int) -> [ScenarioAction] {
        guard status != 403, limit < fullLimit else { return [] }
        answered += 1
        guard (answered - 1).isMultiple(of: scenario.whole(.every)) else { return [] }
        return limitStreams(min(fullLimit, limit * scenario.whole(.factor)))
    }

    private mutating func collapse(_ status: Int, _ deviceToken: String) -> [ScenarioAction] {
        var actions: [ScenarioAction] = []
        var status = status
        if status == 200, isChosen(deviceToken) {
            actions.append(.answer(ScenarioAnswer(400, "BadDeviceToken")))
            status = 400
        }
        // Unregistered "does not count as an error" (Apple).
        let isRejected = (400..<500).contains(status) && status != 410
        if isRejected, limit > 1 {
            actions += limitStreams(1)
        } else if status == 200, limit == 1 {
            actions += limitStreams(fullLimit)
        }
        return actions
    }

    private mutating func shutDown(_ isAccepted: Bool) -> [ScenarioAction] {
        let refusals = scenario.whole(.refusals)
        guard isDue else { return [] }
        var actions: [ScenarioAction] = []
        if befalls(refusals), isAccepted { actions.append(.answer(ScenarioAnswer(503, "Shutdown"))) }
        if case .underWay(let count) = progress, count < refusals { return actions }
        progress = .over
        actions.append(.goAway(lastStream: nil, code: scenario.whole(.errorCode), debugData: Self.shutdown))
        actions.append(.tick(milliseconds: scenario.whole(.lingerMilliseconds)))
        return actions
    }

    private mutating func hold(_ stream: Int) -> [ScenarioAction] {
        guard isDue else { return [] }
        held.append(stream)
        guard progress != .waiting else {
            guard scenario.whole(.held) > 1 else { return [.hold] + goAway() }
            progress = .underWay(1)
            waitsForMore = true
            return [.hold, .tick(milliseconds: scenario.whole(.waitMilliseconds))]
        }
        return held.count >= scenario.whole(.held) ? [.hold] + goAway() : [.hold]
    }

    /// GOAWAY between the older and the younger half of the requests that are held; of one, before it.
    private mutating func goAway() -> [ScenarioAction] {
        let streams = held.sorted()
        held = []
        progress = .over
        let last = streams.count > 1 ? streams[streams.count / 2 - 1] : max(0, (streams.first ?? 1) - 2)
        return [
            .goAway(lastStream: last, code: scenario.whole(.errorCode), debugData: Self.shutdown),
            .release(upTo: last), .tick(milliseconds: scenario.whole(.lingerMilliseconds)),
        ]
    }

    private mutating func flap() -> [ScenarioAction] {
        guard pushes.isMultiple(of: scenario.whole(.every)) else { return [] }
        let low = 1 + Int(generator.unit() * scenario[.streamLimit])
        return limitStreams(limit == fullLimit ? min(low, fullLimit) : fullLimit)
    }

    private mutating func limitStreams(_ new: Int) -> [ScenarioAction] {
        guard new != limit else { return [] }
        limit = new
        settingsUnderWay += 1
        return [.limitStreams(new)]
    }

    /// A log-normal time: `median · e^(σ·z)`, where σ puts 99 of 100 below the 99th percentile.
    private mutating func delay() -> Int {
        let median = scenario[.medianMilliseconds]
        let sigma = max(0, log(scenario[.p99Milliseconds] / median) / 2.326_347_874)
        let normal = sqrt(-2 * log(1 - generator.unit())) * cos(2 * .pi * generator.unit())
        return Int(min(scenario[.longestMilliseconds], median * exp(sigma * normal)))
    }

    // MARK: Draws

    /// Whether the moment of this connection has come, and not gone.
    private var isDue: Bool { progress != .over && moment.map { pushes >= $0 } ?? false }

    /// Whether it befalls this push, by the share.
    private var happens: Bool {
        mutating get { generator.unit() < scenario[.share] }
    }

    /// Whether it befalls this device token, on every connection that plays this.
    private func isChosen(_ deviceToken: String) -> Bool {
        SeededGenerator.unit(seed: seed, text: deviceToken) < scenario[.share]
    }

    /// Whether this push is among the first `length` ones from the moment on.
    private mutating func befalls(_ length: Int) -> Bool {
        guard isDue else { return false }
        let count = if case .underWay(let count) = progress { count } else { 0 }
        guard count < length else { return false }
        progress = .underWay(count + 1)
        return true
    }
}
