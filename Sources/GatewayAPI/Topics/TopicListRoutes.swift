import Hummingbird
import JSON
import PushModel
import Store

/// The topics of a project and who is subscribed to them: what FCM can't list.
enum TopicListRoutes {
    static let all: [Route] = [
        .project(.get, "topics", .listTopics, list),
        .project(.get, "topics/{topic}", .listTopics, get),
        .project(.get, "topics/{topic}/registrations", .listRegistrations, registrations),
    ]

    /// `?prefix=` keeps the topics whose names begin so.
    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let after = try query["pageToken"].map(TopicPageToken.topic)
        let prefix = query["prefix"] ?? ""
        guard prefix.isEmpty || Topic(rawValue: prefix) != nil else {
            throw FCMError.badRequest("prefix", "The prefix must be the beginning of a topic: [a-zA-Z0-9-_.~%]{1,900}.")
        }
        let found = try await call.services.store.topics(
            in: call.project.id, beginningWith: prefix, after: after, limit: size + 1)
        let page = found.prefix(size)
        var members: [JSONValue.Member] = []
        if !page.isEmpty { members.append(.init("topics", .array(page.map { view($0, call) }))) }
        if found.count > size, let last = page.last {
            members.append(.init("nextPageToken", .string(TopicPageToken.text(after: last.topic))))
        }
        return Response(json: .object(members))
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        let topic = try TopicRoutes.topicOfPath(call)
        guard let found = try await call.services.store.topic(topic, in: call.project.id) else {
            throw FCMError(.notFound)
        }
        return Response(json: view(found, call))
    }

    @Sendable private static func registrations(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let topic = try TopicRoutes.topicOfPath(call)
        let page = try await call.services.store.subscribers(
            of: topic, in: call.project.id, after: query["pageToken"], limit: size)
        guard let page else { throw FCMError(.notFound) }
        var members: [JSONValue.Member] = []
        if !page.elements.isEmpty {
            let views = page.elements.map { subscriber in
                let since = JSONValue.Member("subscribeTime", .string(subscriber.subscribedAt.rfc3339))
                return RegistrationView(subscriber.registration, in: call).full(and: [since])
            }
            members.append(.init("registrations", .array(views)))
        }
        if let next = page.nextCursor { members.append(.init("nextPageToken", .string(next))) }
        return Response(json: .object(members))
    }

    private static func view(_ summary: TopicSummary, _ call: ProjectCall) -> JSONValue {
        .object([
            .init("name", .string("\(call.projectName)/topics/\(summary.topic)")),
            .init("topic", .string(summary.topic.rawValue)),
            .init("registrationCount", .integer(summary.subscribers)),
        ])
    }
}
