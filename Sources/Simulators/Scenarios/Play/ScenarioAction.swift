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
