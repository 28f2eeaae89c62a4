import Hummingbird
import JSON
import PushModel
import Store

/// One registration in the Instance ID API: its topics, and what is known of it (fcm.md §4).
enum InstanceIDResource {
    /// `POST /iid/v1/{token}/rel/topics/{topic}`: answered `{}`, also when the subscription is there already.
    @Sendable static func subscribe(_ call: ProjectCall) async throws -> Response {
        // Clients send nothing, or {}.
        _ = try await call.json(allowsEmpty: true)
        let topic = try TopicRoutes.topicOfPath(call)
        let registration = try await call.activeRegistration()
        switch try await TopicRoutes.subscribed(registration, to: topic, call) {
        case .created, .existed: return Response(json: .object([]))
        case .tooManyTopics, .noNewTopic, .notActive: throw FCMError(.notFound)
        }
    }

    /// `DELETE /iid/v1/{token}/rel/topics/{topic}`: answered `{}`, also when there is no subscription.
    @Sendable static func unsubscribe(_ call: ProjectCall) async throws -> Response {
        let topic = try TopicRoutes.topicOfPath(call)
        let registration = try await call.activeRegistration()
        _ = try await call.services.store.unsubscribe([registration.key], from: topic, at: call.now)
        return Response(json: .object([]))
    }

    /// `GET /iid/info/{token}`; with `details=true` also the topics.
    @Sendable static func info(_ call: ProjectCall) async throws -> Response {
        let hasDetails = try call.query.flag("details")
        let registration = try await call.activeRegistration()
        var members: [JSONValue.Member] = [
            .init("application", .string(registration.app.rawValue)),
            .init("authorizedEntity", .string(String(call.project.number))),
        ]
        if let version = registration.appVersion { members.append(.init("applicationVersion", .string(version))) }
        let platform =
            switch registration.address.platform {
            case .apple: "IOS"
            case .android: "ANDROID"
            case .web: "CHROME"
            }
        members.append(.init("platform", .string(platform)))
        if hasDetails {
            let subscriptions = try await call.services.store.subscriptions(
                of: registration.key, after: nil, limit: Topic.limitPerRegistration)
            let topics = subscriptions.map { subscription in
                // The day alone, as Google's server has it.
                let date = JSONValue.string(String(subscription.createdAt.rfc3339.prefix { $0 != "T" }))
                return JSONValue.Member(subscription.topic.rawValue, .object([.init("addDate", date)]))
            }
            members.append(.init("rel", .object([.init("topics", .object(topics))])))
        }
        return Response(json: .object(members))
    }
}
