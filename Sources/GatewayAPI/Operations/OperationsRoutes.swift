import HTTPTypes
import Hummingbird
import PushModel

/// What load balancers, supervisors and Prometheus ask for. Open to everyone: no secret is in the answers.
enum OperationsRoutes {
    static let all: [Route] = [
        .open(.get, "/healthz") { _ in
            Response(json: .object([.init("status", .string("ok"))]))
        },
        .open(.get, "/readyz", readiness),
        .open(.get, "/metrics") { call in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: call.services.metricsText())))
        },
    ]

    // An upstream that is down does not make the gateway unready: it still accepts, and delivers later.
    @Sendable private static func readiness(_ call: Call) async throws -> Response {
        let isWritable = await call.services.isStoreWritable()
        let body = JSONValue.object([
            .init("status", .string(isWritable ? "ready" : "unready")),
            .init("store", .object([.init("writable", .bool(isWritable))])),
            .init("upstreams", .array(call.services.upstreams().map(Self.state))),
        ])
        return Response(json: body, status: isWritable ? .ok : .serviceUnavailable)
    }

    private static func state(_ upstream: UpstreamStatus) -> JSONValue {
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
        return .object(members)
    }
}

extension JSONValue {
    /// A whole number.
    static func integer(_ value: some BinaryInteger) -> JSONValue {
        .number(String(value))
    }
}
