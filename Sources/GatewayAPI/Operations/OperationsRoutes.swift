import Delivery
import HTTPTypes
import Hummingbird
import PushModel
import Store

/// What load balancers, supervisors and Prometheus ask for. Open to everyone: no secret is in the answers.
enum OperationsRoutes {
    static let all: [Route] = [
        .open(.get, "/healthz") { _ in
            Response(json: alive)
        },
        .open(.get, "/readyz", readiness),
        .open(.get, "/metrics") { call in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: call.services.metricsText())))
        },
    ]

    /// The body of `/healthz`: the process answers.
    static let alive = JSONValue.object([.init("status", .string("ok"))])

    // An upstream that is down does not make the gateway unready: it still accepts, and delivers later.
    @Sendable private static func readiness(_ call: Call) async throws -> Response {
        let store = await call.services.storeState()
        let problems = (call.services.acceptor.isStopping ? ["The gateway is stopping."] : []) + store.problems
        return readiness(problems: problems, isWritable: store.isWritable, upstreams: call.services.upstreams())
    }

    /// The answer of `/readyz`.
    static func readiness(problems: [String], isWritable: Bool, upstreams: [UpstreamStatus]) -> Response {
        let isReady = problems.isEmpty && isWritable
        let body = JSONValue.object([
            .init("status", .string(isReady ? "ready" : "unready")),
            .init("problems", .array(problems.map { .string($0) })),
            .init("store", .object([.init("writable", .bool(isWritable))])),
            .init("upstreams", .array(upstreams.map(Self.state))),
        ])
        var response = Response(json: body, status: isReady ? .ok : .serviceUnavailable)
        if !isReady { response.headers[.retryAfter] = FCMError.Code.unavailable.retryAfterSeconds.map(String.init) }
        return response
    }

    /// How one upstream is doing; what is usual is left out.
    static func state(_ upstream: UpstreamStatus) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("name", .string(upstream.name)),
            .init("reachable", .bool(upstream.isReachable)),
        ]
        if let failure = upstream.lastFailure { members.append(.init("lastFailure", .string(failure))) }
        members += [
            .init("connections", .integer(upstream.connections)),
            .init("streamsInUse", .integer(upstream.streamsInUse)),
            .init("streamLimit", .integer(upstream.streamLimit)),
            .init("queued", .integer(upstream.queued)),
            .init("queueLimit", .integer(upstream.queueLimit)),
            .init("circuit", .string(upstream.circuit.rawValue)),
        ]
        if let limit = upstream.paceLimit { members.append(.init("paceLimit", .integer(limit))) }
        if let skew = upstream.clockSkew {
            members.append(.init("clockSkew", .string(durationText(milliseconds: skew.wholeMilliseconds))))
        }
        if !upstream.pauses.isEmpty { members.append(.init("paused", .array(upstream.pauses.map(Self.pause)))) }
        return .object(members)
    }

    private static func pause(_ pause: UpstreamPause) -> JSONValue {
        var members: [JSONValue.Member] = []
        switch pause.part {
        case .everything: members.append(.init("part", .string("everything")))
        case .topic(let topic):
            members += [.init("part", .string("topic")), .init("topic", .string(topic))]
        case .route(let route):
            members += [
                .init("part", .string("app")), .init("project", .string(route.project.rawValue)),
                .init("app", .string(route.app.rawValue)),
                .init("environment", .string(route.environment.rawValue)),
            ]
        }
        members += [
            .init("reason", .string(pause.reason.rawValue)), .init("since", .string(pause.since.rfc3339)),
            .init("nextProbe", .string(pause.nextProbe.rfc3339)),
        ]
        return .object(members)
    }
}

extension JSONValue {
    /// A whole number.
    static func integer(_ value: some BinaryInteger) -> JSONValue {
        .number(String(value))
    }
}
