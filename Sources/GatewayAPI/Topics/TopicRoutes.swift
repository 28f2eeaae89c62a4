import Hummingbird
import JSON
import PushModel
import Store

/// FCM's topicSubscriptions resource (fcm.v1.json), and the `:subscribe` and `:unsubscribe` that the iOS SDK calls.
enum TopicRoutes {
    static let all: [Route] = [
        .project(.post, base, .topics, create),
        .project(.get, base, .topics, list),
        .project(.get, one, .topics, get),
        .project(.patch, one, .topics, patch),
        .project(.delete, one, .topics, delete),
        .project(.post, one + ":subscribe", .topics, subscribe),
        .project(.post, one + ":unsubscribe", .topics, unsubscribe),
    ]

    private static let base = "registrations/{registration}/topicSubscriptions"
    private static let one = base + "/{topic}"

    @Sendable private static func create(_ call: ProjectCall) async throws -> Response {
        try await checkBody(call)
        guard let text = call.query["topicName"] else {
            throw FCMError.badRequest("topic_name", "The query parameter topic_name is missing.")
        }
        let topic = try topic(text, field: "topic_name")
        let registration = try await call.activeRegistration()
        switch try await subscribed(registration, to: topic, call) {
        case .created(let subscription): return answer(subscription, registration)
        case .existed: throw FCMError(.alreadyExists)
        case .tooManyTopics, .noNewTopic, .notActive: throw FCMError(.notFound)
        }
    }

    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let size = try call.query.pageSize(default: 1000, maximum: 2000)
        let after = try call.query["pageToken"].map(TopicPageToken.topic)
        let registration = try await call.activeRegistration()
        let store = call.services.store
        let found = try await store.subscriptions(of: registration.key, after: after, limit: size + 1)
        let page = found.prefix(size)
        var members: [JSONValue.Member] = []
        if !page.isEmpty {
            members.append(.init("topicSubscriptions", .array(page.map { view($0, registration) })))
        }
        if found.count > size, let last = page.last {
            members.append(.init("nextPageToken", .string(TopicPageToken.text(after: last.topic))))
        }
        return Response(json: .object(members))
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        let topic = try topicOfPath(call)
        let registration = try await call.activeRegistration()
        let store = call.services.store
        guard let subscription = try await store.subscription(of: registration.key, to: topic) else {
            throw FCMError(.notFound)
        }
        return answer(subscription, registration)
    }

    @Sendable private static func patch(_ call: ProjectCall) async throws -> Response {
        try await checkBody(call)
        guard try call.query.flag("allowMissing") else { return try await get(call) }
        return try await subscribe(call)
    }

    @Sendable private static func delete(_ call: ProjectCall) async throws -> Response {
        let allowsMissing = try call.query.flag("allowMissing")
        let topic = try topicOfPath(call)
        let registration = try await call.activeRegistration()
        let was = try await call.services.store.unsubscribe([registration.key], from: topic, at: call.now)
        guard allowsMissing || was.first == true else { throw FCMError(.notFound) }
        return Response(json: .object([]))
    }

    @Sendable private static func subscribe(_ call: ProjectCall) async throws -> Response {
        let topic = try topicOfPath(call)
        let registration = try await call.activeRegistration()
        switch try await subscribed(registration, to: topic, call) {
        case .created(let subscription), .existed(let subscription): return answer(subscription, registration)
        case .tooManyTopics, .noNewTopic, .notActive: throw FCMError(.notFound)
        }
    }

    @Sendable private static func unsubscribe(_ call: ProjectCall) async throws -> Response {
        let topic = try topicOfPath(call)
        let registration = try await call.activeRegistration()
        _ = try await call.services.store.unsubscribe([registration.key], from: topic, at: call.now)
        return Response(json: .object([]))
    }

    /// Subscribes one registration.
    ///
    /// - Throws: RESOURCE_EXHAUSTED when it has too many topics, or the project too many for a client to make another;
    ///   PERMISSION_DENIED for a new topic whose name clients may not make.
    static func subscribed(
        _ registration: Registration, to topic: Topic, _ call: ProjectCall
    ) async throws -> SubscribeResult {
        let result = try await call.services.store.subscribe(
            [registration.key], to: topic, at: call.now, topicLimit: try await call.topicLimit(making: topic)
        ).first
        switch result {
        case .tooManyTopics: throw FCMError.tooManyTopics
        case .noNewTopic: throw FCMError.noNewTopic(topic, in: call.project)
        case .created?, .existed?, .notActive?, nil: return result ?? .notActive
        }
    }

    /// Reads the body, a TopicSubscription: its fields are output only, unknown ones are refused.
    private static func checkBody(_ call: ProjectCall) async throws {
        let body = try await call.json(allowsEmpty: true)
        let names = ["name", "topic_name", "create_time"]
        try body.refuseUnknown(except: names)
        for name in names { _ = try body.string(name) }
    }

    /// The topic that the path names.
    static func topicOfPath(_ call: ProjectCall) throws(FCMError) -> Topic {
        try topic(call.parameter("topic"), field: "name")
    }

    private static func topic(_ text: String, field: String) throws(FCMError) -> Topic {
        guard let topic = Topic(rawValue: text) else {
            throw .badRequest(field, "The topic name must match [a-zA-Z0-9-_.~%]{1,900}.")
        }
        return topic
    }

    private static func answer(_ subscription: Subscription, _ registration: Registration) -> Response {
        Response(json: view(subscription, registration))
    }

    private static func view(_ subscription: Subscription, _ registration: Registration) -> JSONValue {
        .object([
            .init("name", .string("\(registration.resourceName)/topicSubscriptions/\(subscription.topic)")),
            .init("topicName", .string(subscription.topic.rawValue)),
            .init("createTime", .string(subscription.createdAt.rfc3339)),
        ])
    }
}

extension ProjectCall {
    /// How many topics the project may have for this caller to make this one; `nil`: any number. One that is not there yet
    /// counts for the caller's address.
    func topicLimit(making topic: Topic) async throws(FCMError) -> Int? {
        guard caller.role == .client else { return nil }
        guard project.topics.allows(topic) else { return project.topics.limit(making: topic) }
        do throws(StoreError) {
            if try await services.store.topic(topic, in: project.id) != nil {
                return project.topics.limit(making: topic)
            }
        } catch {
            throw FCMError(error)
        }
        try call.checkNewTopic(of: caller)
        return project.topics.limit(making: topic)
    }
}

extension FCMError {
    /// A topic that is not there and that a client may not make.
    fileprivate static func noNewTopic(_ topic: Topic, in project: Project) -> FCMError {
        guard project.topics.allows(topic) else {
            return FCMError(
                .permissionDenied,
                "There is no such topic, and clients may not make one of this name (topics.clientPattern). Subscribe "
                    + "or send with the role admin or sender first.", reason: .topicNotAllowed)
        }
        var error = FCMError(
            .resourceExhausted,
            "There is no such topic, and the project has as many as its clients may make (topics.clientLimit).",
            reason: .tooManyProjectTopics)
        error.quotaSubject = "project:\(project.id)"
        return error
    }
}

/// The page token of a list of topics: the last topic of the page before.
enum TopicPageToken {
    /// Where the page after `topic` begins.
    static func text(after topic: Topic) -> String {
        Base64URL.text(topic.rawValue.utf8)
    }

    /// The topic after which a page begins.
    static func topic(_ text: String) throws(FCMError) -> Topic {
        guard let bytes = Base64URL.bytes(text),
            let topic = String(validating: bytes, as: UTF8.self).flatMap(Topic.init(rawValue:))
        else { throw .badRequest("page_token", "The page token is not one of this list's.", reason: .invalidPageToken) }
        return topic
    }
}
