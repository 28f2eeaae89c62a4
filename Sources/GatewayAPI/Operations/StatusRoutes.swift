import Delivery
import Hummingbird
import JSON
import PushModel
import Store

/// How deliveries of a project go now: pauses, backlog, the last hour's reasons, connections, store, certificates.
enum StatusRoutes {
    static func all(_ state: GatewayState) -> [Route] {
        [.project(.get, "status", .readStatus) { try await status($0, state) }]
    }

    /// How many reasons are shown.
    static let shownReasons = 20

    /// Only what is the project's: of upstreams those that its apps use, without pauses of others' topics and apps.
    private static func status(_ call: ProjectCall, _ state: GatewayState) async throws -> Response {
        let backlog = try await call.services.store.backlog(of: call.project.id)
        let store = await state.store()
        let upstreams = state.upstreams().filter { $0.projects.contains(call.project.id) }
        let pauses = upstreams.flatMap { upstream in
            upstream.pauses.filter { call.project.isMet(by: $0.part) }.map { pause in
                JSONValue.object([.init("upstream", .string(upstream.name))] + Readiness.pause(pause))
            }
        }
        let disk = state.disk().map { [JSONValue.Member("disk", Self.disk($0))] } ?? []
        return Response(
            json: .object(
                [
                    .init("time", .string(call.now.rfc3339)),
                    .init("pauses", .array(pauses)),
                    .init("backlog", .array(backlog.map(share))),
                    .init("reasons", .array(state.recentReasons(call.project.id).prefix(shownReasons).map(reason))),
                    .init("upstreams", .array(upstreams.map(upstream))),
                    .init(
                        "store",
                        .object([
                            .init("writable", .bool(store.isWritable)),
                            .init("problems", .array(store.problems.map { .string($0) })),
                        ])),
                    .init("certificates", .array(state.certificates(call.project.id).map(certificate))),
                    .init(
                        "credentials",
                        .array(
                            state.credentials(call.project.id).map { credential($0, upstreams, in: call.project.id) })),
                ] + disk))
    }

    private static func disk(_ disk: DiskSpace.State) -> JSONValue {
        var members: [JSONValue.Member] = []
        if let free = disk.freeBytes { members.append(.init("freeBytes", .integer(free))) }
        members += [.init("limitBytes", .integer(disk.limitBytes)), .init("low", .bool(disk.isLow))]
        if let days = disk.daysLeft { members.append(.init("daysLeft", .integer(Int(min(days, 36_500))))) }
        return .object(members)
    }

    private static func share(_ share: BacklogShare) -> JSONValue {
        var members: [JSONValue.Member] = [.init("lane", .string(share.lane.rawValue))]
        if let app = share.app { members += [.init("app", .string(app.id.rawValue))] + app.platform.members }
        members += [
            .init("waiting", .integer(share.waiting)), .init("inFlight", .integer(share.inFlight)),
            .init("paused", .integer(share.paused)),
        ]
        return .object(members)
    }

    private static func reason(_ reason: ReasonCount) -> JSONValue {
        .object([
            .init("outcome", .string(reason.outcome.rawValue.uppercased())), .init("reason", .string(reason.reason)),
            .init("count", .integer(reason.count)),
        ])
    }

    /// As on the listener for operations; its pauses stand in a list of their own.
    private static func upstream(_ upstream: UpstreamStatus) -> JSONValue {
        var unpaused = upstream
        unpaused.pauses = []
        return Readiness.state(unpaused)
    }

    /// A credential, with what the upstreams that use it know of it.
    private static func credential(
        _ credential: CredentialStatus, _ upstreams: [UpstreamStatus], in project: ProjectID
    ) -> JSONValue {
        let used = upstreams.filter { credential.isUsed(by: $0, in: project) }
        var members: [JSONValue.Member] =
            [.init("app", .string(credential.app.id.rawValue))] + credential.app.platform.members + [
                .init("kind", .string(credential.kind.rawValue)), .init("name", .string(credential.name)),
                .init("file", .string(credential.file)),
            ]
        func add(_ name: String, _ time: Timestamp?) {
            if let time { members.append(.init(name, .string(time.rfc3339))) }
        }
        add("fileTime", credential.modified)
        add("validUntil", credential.validUntil)
        add("lastUsed", used.compactMap(\.lastWorked).max())
        if let trouble = used.compactMap(\.lastTrouble).max(by: { $0.time < $1.time }) {
            members.append(.init("lastError", .string(trouble.reason)))
            add("lastErrorTime", trouble.time)
        }
        return .object(members)
    }

    private static func certificate(_ certificate: CertificateStatus) -> JSONValue {
        .object([
            .init("subject", .string(certificate.subject)), .init("file", .string(certificate.file)),
            .init("validUntil", .string(certificate.validUntil.rfc3339)),
        ])
    }
}

extension Project {
    /// Whether a pause of an upstream that the project uses holds back pushes of it.
    fileprivate func isMet(by part: UpstreamPause.Part) -> Bool {
        switch part {
        case .everything: true
        // A topic is a bundle id, or one with a suffix such as `.voip`.
        case .topic(let topic):
            apps.keys.contains { topic == $0.id.rawValue || topic.hasPrefix("\($0.id.rawValue).") }
        case .route(let route), .suspects(let route): route.project == id
        }
    }
}
