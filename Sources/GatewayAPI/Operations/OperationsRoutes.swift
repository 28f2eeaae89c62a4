import Delivery
import HTTPTypes
import Hummingbird
import JSON
import PushModel
import Store

/// What load balancers, supervisors and Prometheus ask for. Open to everyone: no secret is in the answers, and on the
/// API's listener nothing of teams, keys and apps.
enum OperationsRoutes {
    /// Those of a listener.
    static func all(on routes: GatewayListener.Routes, _ state: GatewayState) -> [Route] {
        switch routes {
        case .api(withOperations: false): [health, readiness(on: routes, state)]
        case .api(withOperations: true), .operations: [health, readiness(on: routes, state), metrics(state)]
        }
    }

    /// The body of `/healthz`: the process answers.
    static let alive = JSONValue.object([.init("status", .string("ok"))])

    private static let health = Route.open(.get, "/healthz") { _ in Response(json: alive) }.withAnyQuery

    private static func metrics(_ state: GatewayState) -> Route {
        Route.open(.get, "/metrics") { _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: state.metricsText())))
        }.withAnyQuery
    }

    // An upstream that is down does not make the gateway unready: it still accepts, and delivers later.
    private static func readiness(on routes: GatewayListener.Routes, _ state: GatewayState) -> Route {
        Route.open(.get, "/readyz") { call in
            let store = await state.store()
            let problems = (call.services.acceptor.isStopping ? ["The gateway is stopping."] : []) + store.problems
            return Readiness(
                problems: problems, isWritable: store.isWritable, upstreams: state.upstreams()
            ).response(on: routes)
        }.withAnyQuery
    }
}

/// Whether the gateway takes messages, and how its parts are.
struct Readiness: Sendable {
    /// Why it does not, in sentences.
    var problems: [String]
    /// Whether the store takes writes.
    var isWritable: Bool
    /// The upstreams.
    var upstreams: [UpstreamStatus] = []

    /// The answer of `/readyz`: on the API's listener only whether it is ready, and why not when there is no listener for
    /// operations; there everything.
    func response(on routes: GatewayListener.Routes) -> Response {
        let isReady = problems.isEmpty && isWritable
        var members: [JSONValue.Member] = [.init("status", .string(isReady ? "ready" : "unready"))]
        if routes != .api(withOperations: false) {
            members += [
                .init("problems", .array(problems.map { .string($0) })),
                .init("store", .object([.init("writable", .bool(isWritable))])),
            ]
        }
        if routes == .operations { members.append(.init("upstreams", .array(upstreams.map(Self.state)))) }
        var response = Response(json: .object(members), status: isReady ? .ok : .serviceUnavailable)
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
        if !upstream.pauses.isEmpty {
            members.append(.init("paused", .array(upstream.pauses.map { .object(Self.pause($0)) })))
        }
        return .object(members)
    }

    /// What is held back, why, and since when.
    static func pause(_ pause: UpstreamPause) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        switch pause.part {
        case .everything: members.append(.init("part", .string("everything")))
        case .topic(let topic):
            members += [.init("part", .string("topic")), .init("topic", .string(topic))]
        case .route(let route), .suspects(let route):
            let isSuspects = pause.part == .suspects(route)
            members += [
                .init("part", .string(isSuspects ? "unproven" : "app")),
                .init("project", .string(route.project.rawValue)),
                .init("app", .string(route.app.rawValue)),
            ]
            members += route.channel.platform.members
            if let environment = route.channel.environment {
                members.append(.init("environment", .string(environment.rawValue)))
            }
        }
        members += [
            .init("reason", .string(pause.reason.rawValue)), .init("since", .string(pause.since.rfc3339)),
            .init("nextProbe", .string(pause.nextProbe.rfc3339)),
        ]
        return members
    }
}

extension JSONValue {
    /// A whole number.
    static func integer(_ value: some BinaryInteger) -> JSONValue {
        .number(String(value))
    }
}
