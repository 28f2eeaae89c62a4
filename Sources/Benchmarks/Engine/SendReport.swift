/// What one run of ``SendCommand`` saw.
struct SendReport: Codable {
    let seconds: Double
    /// Answers with status 200.
    let accepted: Int
    let other: Int
    /// What went wrong first, in words.
    let failure: String?
    /// From the HEADERS to the end of the answer.
    let streamLatency: Percentiles
    let figures: EngineFigures
    /// Bytes given to the sockets.
    let bytesSent: Int64
}

/// What only the engine has to tell of a run.
struct EngineFigures: Codable {
    /// From `submit` to the end: the wait for a stream is part of it.
    let wholeLatency: Percentiles
    /// Connections that were open when the last push had ended.
    let connections: Int
    /// Connections opened; more than ``connections`` means that some were closed meanwhile.
    let dials: Int
    /// Pushes taken by a loop each time that its mailbox woke it.
    let pushesPerWakeUp: Double
    /// Ends handed over by a call of the completion.
    let endsPerDelivery: Double
}
