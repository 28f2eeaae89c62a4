import Hummingbird
import JSON
import PushModel
import Store

/// Why a registration gets pushes or not: a verdict with its evidence.
enum WhyRoutes {
    static func all(_ state: GatewayState) -> [Route] {
        [
            .project(.get, "registrations/{registration}:why", .read) { call in
                try await why(call, upstreams: state.upstreams)
            }
        ]
    }

    /// How many deliveries are shown.
    static let shown = 20
    /// How many pages of the registration's ledger are looked through for a message.
    private static let pages = 20

    private static func why(
        _ call: ProjectCall, upstreams: @Sendable () -> [UpstreamStatus]
    ) async throws -> Response {
        guard let name = RegistrationReference(rawValue: try call.parameter("registration")) else {
            throw FCMError.badRequest("name", "The registration is neither an installation id nor a token.")
        }
        let store = call.services.store
        var found = try await name.find(in: call.project, store)
        if found == nil, case .id(let id) = name, id.isOfChannel {
            found = try await store.channelRegistration(id, in: call.project.id)
        }
        guard let registration = found else { throw FCMError(.notFound) }
        var facts = RegistrationVerdict.Facts(
            registration: registration, app: call.project.apps[registration.appKey], stale: call.project.stale,
            pauses: pauses(of: registration, upstreams()), now: call.now)
        var rows: [(message: MessageID, record: DeliveryRecord)]
        if let message = try await call.messageOfQuery() {
            facts.message = message
            facts.subscription = try await subscription(registration, message.message, store)
            rows = try await delivery(of: message.message, to: registration, call).map { [$0] } ?? []
        } else {
            rows = try await store.deliveries(to: registration.id, in: call.project.id, after: nil, limit: shown)
                .elements.map { ($0.message, $0.delivery) }
        }
        facts.delivery = rows.first
        return Response(json: view(RegistrationVerdict(facts), facts, rows, call))
    }

    /// The pauses of the upstream that its pushes go to; those of other credentials hold back nothing of it.
    private static func pauses(of registration: Registration, _ upstreams: [UpstreamStatus]) -> [UpstreamPause] {
        let route = PushRoute(
            project: registration.project, app: registration.app, channel: registration.channel)
        return upstreams.filter { $0.routes.contains(route) }.flatMap(\.pauses)
    }

    private static func subscription(
        _ registration: Registration, _ message: MessageSummary, _ store: any APIStore
    ) async throws -> Subscription? {
        guard case .topic(let topic) = message.recipient else { return nil }
        return try await store.subscription(of: registration.key, to: topic)
    }

    /// The delivery of a message to a registration: ended, or in flight where the message is for it alone.
    private static func delivery(
        of message: MessageSummary, to registration: Registration, _ call: ProjectCall
    ) async throws -> (message: MessageID, record: DeliveryRecord)? {
        let store = call.services.store
        if case .registration(registration.id) = message.recipient {
            let page = try await store.deliveries(
                of: message.id, in: call.project.id, outcome: nil, after: nil, limit: 1)
            return page.elements.first.map { (message.id, $0) }
        }
        var cursor: String?
        for _ in 0..<pages {
            let page = try await store.deliveries(
                to: registration.id, in: call.project.id, after: cursor, limit: 1000)
            if let row = page.elements.first(where: { $0.message == message.id }) { return (row.message, row.delivery) }
            cursor = page.nextCursor
            guard cursor != nil else { return nil }
        }
        return nil
    }

    private static func view(
        _ verdict: RegistrationVerdict, _ facts: RegistrationVerdict.Facts,
        _ rows: [(message: MessageID, record: DeliveryRecord)], _ call: ProjectCall
    ) -> JSONValue {
        let registration = facts.registration
        var members: [JSONValue.Member] = [
            .init("name", .string(registration.resourceName)),
            .init("app", .string(registration.app.rawValue)),
        ]
        members += registration.address.platform.members
        if let user = registration.user { members.append(.init("user", .string(user.rawValue))) }
        members += RegistrationView(registration, in: call).stateMembers
        members += [
            .init("verdict", .string(verdict.code.rawValue)), .init("text", .string(verdict.text)),
            .init(
                "deliveries",
                .array(rows.map { ReportView.delivery($0.record, of: $0.message, in: call.project.id) })),
        ]
        return .object(members)
    }
}

extension ProjectCall {
    /// The message that the query parameter `message` names, by its id or its whole name; `nil`: it names none.
    ///
    /// - Throws: 404 for one that the project does not have.
    fileprivate func messageOfQuery() async throws -> DeliveryReport? {
        guard let text = call.query["message"] else { return nil }
        guard let id = MessageID(rawValue: text.split(separator: "/").last.map(String.init) ?? text) else {
            throw FCMError.badRequest("message", "The message is not a message id.")
        }
        guard let report = try await services.store.report(id, in: project.id) else {
            throw FCMError(.notFound, "The project has no message \(id).")
        }
        return report
    }
}
