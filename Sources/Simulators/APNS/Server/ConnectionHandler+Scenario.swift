import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a scenario asks of the connection. Which and when, ``ScenarioPlay`` decides; how, stands here.
extension ConnectionHandler {
    /// Tells the scenario what happened, and counts what it does.
    func act(_ event: ScenarioEvent) -> [ScenarioAction] {
        guard let name = play?.scenario.name, let actions = play?.handle(event, at: judge.wallTimeMilliseconds())
        else { return [] }
        for action in actions {
            if let label = action.label { judge.tally.scenarioActed(name, label) }
        }
        return actions
    }

    /// Whether a request that arrived is to be decided now.
    func admits(_ request: PushRequest, on id: HTTP2StreamID, context: ChannelHandlerContext) -> Bool {
        let actions = act(.arrived(stream: Int(id)))
        guard !actions.isEmpty else { return true }
        var isAdmitted = true
        for action in actions {
            switch action {
            case .hold:
                streams[id] = .held(request)
                isAdmitted = false
            case .resetStream, .freeze, .drop:
                isAdmitted = false
            default: break
            }
            perform([action], on: id, context: context)
        }
        return isAdmitted
    }

    /// Performs the actions that don't change an answer. `id`: the stream of the push that it is about, if it is about one.
    func perform(_ actions: [ScenarioAction], on id: HTTP2StreamID? = nil, context: ChannelHandlerContext) {
        for action in actions {
            switch action {
            case .answer, .delay, .bigHeaders, .hold: break
            case .release(let last): release(upTo: HTTP2StreamID(last), context: context)
            case .resetStream(let code):
                guard let id else { break }
                streams[id] = nil
                let code = HTTP2ErrorCode(networkCode: code)
                write(HTTP2Frame(streamID: id, payload: .rstStream(code)), context: context)
            case .goAway(let last, let code, let debugData):
                if let last { forget(beyond: HTTP2StreamID(last)) }
                sayGoAway(code: HTTP2ErrorCode(networkCode: code), debugData: debugData, context: context)
                context.flush()
            case .close: close(context: context)
            case .drop(let isAbrupt):
                // The answers before it are on their way.
                context.flush()
                drop(isAbrupt: isAbrupt, context: context)
            case .freeze: freeze(context: context)
            case .limitStreams(let limit): allowStreams(limit, context: context)
            case .openWindows(let bytes): openWindows(bytes: bytes, context: context)
            case .tick(let milliseconds): tick(in: milliseconds, context: context)
            }
        }
    }

    /// Decides the requests that are held up to `last`.
    func release(upTo last: HTTP2StreamID, context: ChannelHandlerContext) {
        for id in streams.keys.sorted() where id <= last {
            if case .held(let request) = streams[id] { decide(request, on: id, context: context) }
        }
    }

    /// Streams beyond `last` were never looked at.
    private func forget(beyond last: HTTP2StreamID) {
        for id in streams.keys.filter({ $0 > last }) {
            streams[id] = nil
            if let play { judge.tally.scenarioActed(play.scenario.name, "beyondLastStream") }
        }
        lastStreamID = last
    }

    /// Ends the TCP connection below TLS, so that there is no close_notify.
    func drop(isAbrupt: Bool, context: ChannelHandlerContext) {
        streams.removeAll()
        gate.isShut = true
        if isAbrupt, let socket = context.channel as? any SocketOptionProvider {
            // Closing then throws away what was not sent and says RST (socket(7), SO_LINGER). On the connection's own
            // loop the option is set before this returns; where the system refuses it, the end is a FIN.
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        do {
            try context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self).close(promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    private func freeze(context: ChannelHandlerContext) {
        context.flush()
        gate.isShut = true
        do {
            try context.channel.syncOptions?.setOption(.autoRead, value: false)
        } catch {
            // The connection is closed already.
        }
    }

    /// Opens the windows of streams whose bodies have used them up, and that of the connection no further than it was
    /// at the beginning.
    private func openWindows(bytes: Int, context: ChannelHandlerContext) {
        windowBytesGiven = windowBytesGiven.filter { streams[$0.key] != nil }
        let first = play?.windowBytes ?? 0
        var receiving = 0
        for (id, stream) in streams {
            guard case .receiving(let request) = stream else { continue }
            receiving += 1
            guard request.bodyBytes >= first + windowBytesGiven[id, default: 0] else { continue }
            windowBytesGiven[id, default: 0] += bytes
            write(HTTP2Frame(streamID: id, payload: .windowUpdate(windowSizeIncrement: bytes)), context: context)
        }
        let missing = min(Self.windowBytes - windowLeftBytes, bytes * max(1, receiving))
        guard missing > 0 else { return }
        write(
            HTTP2Frame(streamID: .rootStream, payload: .windowUpdate(windowSizeIncrement: missing)), context: context)
    }

    private func tick(in milliseconds: Int, context: ChannelHandlerContext) {
        let generation = generation
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(milliseconds))) {
            guard let context = self.context, self.generation == generation, !self.gate.isShut else { return }
            self.perform(self.act(.ticked), context: context)
            context.flush()
        }
    }

    // MARK: Changes while it runs

    func setTokenInterval() {
        credentials.renewalSeconds =
            play?.tokenIntervalSeconds.map(Int64.init) ?? ConnectionCredentials.renewalSeconds
    }

    /// Plays the scenario that is in force now, and undoes what the scenario before it left.
    func drawAgainAfterChange(context: ChannelHandlerContext) {
        guard scenarios.generation != generation else { return }
        let windowBefore = play?.windowBytes
        (play, generation) = scenarios.draw(streamLimit: limits.limit)
        for _ in 0..<settingsUnderWay { play?.settingsSent() }
        setTokenInterval()
        release(upTo: lastStreamID, context: context)
        let limit = play?.firstStreamLimit ?? (isWide ? limits.limit : streamLimit)
        if limit != streamLimit {
            allowStreams(limit, context: context)
            play?.settingsSent()
        }
        if play?.windowBytes != windowBefore {
            let bytes = play?.windowBytes ?? Self.windowBytes
            send([HTTP2Setting(parameter: .initialWindowSize, value: bytes)], context: context)
            play?.settingsSent()
            openWindows(bytes: Self.windowBytes, context: context)
        }
        perform(act(.opened), context: context)
    }
}
