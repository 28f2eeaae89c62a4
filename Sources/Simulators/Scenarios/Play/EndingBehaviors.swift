/// Error codes of HTTP/2 that scenarios use.
enum StreamError {
    /// REFUSED_STREAM: provably not processed (RFC 9113 §8.7).
    static let refusedStream = 7
}

/// Apple's debug data of a GOAWAY.
private let shutdownData = #"{"reason":"Shutdown"}"#

/// `goaway-shutdown`: a few pushes are answered 503 Shutdown, then comes GOAWAY with the last stream that arrived.
struct GoAwayShutdown: ScenarioBehavior {
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        let refusals = connection.whole(.refusals)
        guard connection.isDue else { return [] }
        var actions: [ScenarioAction] = []
        if connection.isAmongFirst(refusals), push.isAccepted {
            actions.append(.answer(ScenarioAnswer(503, "Shutdown")))
        }
        if case .underWay(let count) = connection.progress, count < refusals { return actions }
        connection.progress = .over
        actions.append(.goAway(lastStream: nil, code: connection.whole(.errorCode), debugData: shutdownData))
        actions.append(.tick(milliseconds: connection.whole(.lingerMilliseconds)))
        return actions
    }

    mutating func ticked(_ connection: inout ScenarioConnection) -> [ScenarioAction] { [.close] }
}

/// `goaway-partial`: GOAWAY in the middle of the streams that are open.
struct GoAwayPartial: ScenarioBehavior {
    private var held: [Int] = []
    /// The time to wait for more requests to hold is not over.
    private var waitsForMore = false

    mutating func arrived(_ stream: Int, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard connection.isDue else { return [] }
        held.append(stream)
        let most = connection.whole(.held)
        guard connection.progress == .waiting else {
            return held.count >= most ? [.hold] + goAway(&connection) : [.hold]
        }
        guard most > 1 else { return [.hold] + goAway(&connection) }
        connection.progress = .underWay(1)
        waitsForMore = true
        return [.hold, .tick(milliseconds: connection.whole(.waitMilliseconds))]
    }

    mutating func ticked(_ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard waitsForMore else { return [.close] }
        waitsForMore = false
        return connection.progress == .over ? [] : goAway(&connection)
    }

    /// GOAWAY between the older and the younger half of the requests that are held; of one, before it.
    private mutating func goAway(_ connection: inout ScenarioConnection) -> [ScenarioAction] {
        let streams = held.sorted()
        held = []
        connection.progress = .over
        let last = streams.count > 1 ? streams[streams.count / 2 - 1] : max(0, (streams.first ?? 1) - 2)
        return [
            .goAway(lastStream: last, code: connection.whole(.errorCode), debugData: shutdownData),
            .release(upTo: last), .tick(milliseconds: connection.whole(.lingerMilliseconds)),
        ]
    }
}

/// `drop`: the TCP connection ends right after a push was accepted.
struct Drop: ScenarioBehavior {
    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard connection.isDue else { return [] }
        connection.progress = .over
        return [.drop(isAbrupt: connection.whole(.abrupt) == 1)]
    }
}

/// `half-open`: the peer neither reads nor writes any more.
struct HalfOpen: ScenarioBehavior {
    mutating func arrived(_ stream: Int, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard connection.isDue else { return [] }
        connection.progress = .over
        return [.freeze]
    }
}

/// `reset`: RST_STREAM in place of an answer, before the push is looked at or after it was accepted.
struct Reset: ScenarioBehavior {
    mutating func arrived(_ stream: Int, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        guard connection.whole(.errorCode) == StreamError.refusedStream, connection.drawsShare() else { return [] }
        return [.resetStream(code: StreamError.refusedStream)]
    }

    mutating func judged(_ push: JudgedPush, _ connection: inout ScenarioConnection) -> [ScenarioAction] {
        let code = connection.whole(.errorCode)
        return code != StreamError.refusedStream && connection.drawsShare() ? [.resetStream(code: code)] : []
    }
}
