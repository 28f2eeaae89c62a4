import Hummingbird
import JSON
import PushModel
import Store

/// The Instance ID server API: topics for many tokens at once, and the door through which device tokens come in
/// without a release of the app (fcm.md §4).
enum InstanceIDRoutes {
    // Room for 1000 registration tokens, six times as long as ours, or for 100 device tokens of any length. An app has a
    // token of its own, and perhaps those of a few before it.
    static let all: [Route] = [
        .instanceID(.post, "v1:batchAdd", .topicBatch, add).limited(toBytes: 1 << 20, ofClients: 32 << 10),
        .instanceID(.post, "v1:batchRemove", .topicBatch, remove).limited(toBytes: 1 << 20, ofClients: 32 << 10),
        .instanceID(.post, "v1:batchImport", .importTokens, importTokens).limited(toBytes: 512 << 10),
        .instanceID(.post, "v1/{registration}/rel/topics/{topic}", .topics, InstanceIDResource.subscribe),
        .instanceID(.delete, "v1/{registration}/rel/topics/{topic}", .topics, InstanceIDResource.unsubscribe),
        .instanceID(.get, "info/{registration}", .readInstance, InstanceIDResource.info),
        Route(method: .post, path: webPath, scope: .keyProject(.register, importWeb)),
    ]

    /// The path of the web import, which has none of the API's own.
    static let webPath = "/v1/web/iid"

    @Sendable private static func add(_ call: ProjectCall) async throws -> Response {
        let batch = try TopicBatch(await call.json())
        let entries = try await batch.resolve(call)
        let results = try await call.services.store.subscribe(
            entries.keys, to: batch.topic, at: call.now, topicLimit: try await call.topicLimit(making: batch.topic))
        return answer(
            entries.results(
                results.map { result in
                    switch result {
                    case .created, .existed: nil
                    case .tooManyTopics: .tooManyTopics
                    case .noNewTopic: call.project.topics.allows(batch.topic) ? .tooManyTopics : .permissionDenied
                    case .notActive: .notFound
                    }
                }))
    }

    @Sendable private static func remove(_ call: ProjectCall) async throws -> Response {
        let batch = try TopicBatch(await call.json())
        let entries = try await batch.resolve(call)
        _ = try await call.services.store.unsubscribe(entries.keys, from: batch.topic, at: call.now)
        return answer(entries.results(entries.keys.map { _ in nil }))
    }

    /// `{"endpoint": …, "keys": {"auth": …, "p256dh": …}}`: a browser's subscription becomes a registration of the web app
    /// that the Origin header names, or of the project's only one.
    @Sendable private static func importWeb(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["endpoint", "keys"])
        guard let keys = try body.object("keys", type: "TYPE_MESSAGE") else {
            throw FCMError.badRequest("keys", "keys is missing: an object with auth and p256dh.")
        }
        try keys.refuseUnknown(except: ["auth", "p256dh"])
        let app = try WebOrigin(nil, header: call.headers[.origin]).app(of: call.project, field: "Origin")
        guard let web = try WebSubscription(endpointIn: body, keysIn: keys) else {
            throw FCMError.badRequest("endpoint", "endpoint is missing: the URL of the push service.")
        }
        let request = RegistrationRequest(
            project: call.project.id, app: app.id, address: .web(try web.taken(by: app, at: "")),
            isEnvironmentStated: false, appVersion: nil)
        let registration = try await RegistrationRoutes.register(request, appField: "Origin", saidBy: nil, call)
        return Response(json: .object([.init("token", .string(registration.token.rawValue))]))
    }

    // Go and Java count any other than an empty object as a failure.
    private static func answer(_ results: [ItemError?]) -> Response {
        let items = results.map { error in
            JSONValue.object(error.map { [.init("error", .string($0.rawValue))] } ?? [])
        }
        return Response(json: .object([.init("results", .array(items))]))
    }

    @Sendable private static func importTokens(_ call: ProjectCall) async throws -> Response {
        let request = try ImportRequest(await call.json(), project: call.project)
        var results: [JSONValue] = []
        for text in request.deviceTokens {
            var members: [JSONValue.Member] = [.init("apns_token", .string(text))]
            if let token = DeviceToken(registering: text) {
                let registration = try await call.services.store.register(
                    RegistrationRequest(
                        project: call.project.id, app: request.app.id, address: .apple(token, request.environment),
                        isEnvironmentStated: request.isEnvironmentStated,
                        appVersion: nil, credential: ProvenCredential(call.credential)),
                    at: call.now
                ).registration
                members += [
                    .init("status", .string("OK")),
                    .init("registration_token", .string(registration.token.rawValue)),
                ]
            } else {
                members.append(.init("status", .string(ItemError.invalidArgument.rawValue)))
            }
            results.append(.object(members))
        }
        return Response(json: .object([.init("results", .array(results))]))
    }
}

/// The body of `batchAdd` and `batchRemove`.
private struct TopicBatch {
    let topic: Topic
    let tokens: [String]

    init(_ body: ObjectReader) throws(FCMError) {
        try body.refuseUnknown(except: ["to", "registration_tokens"])
        guard let to = try body.string("to") else { throw .badRequest("to", "to is missing: /topics/<name>.") }
        let name = to.hasPrefix("/topics/") ? String(to.dropFirst("/topics/".count)) : to
        guard let topic = Topic(rawValue: name) else {
            throw .badRequest("to", "to must be /topics/<name> with a name of [a-zA-Z0-9-_.~%]{1,900}.")
        }
        self.topic = topic
        tokens = try body.strings("registration_tokens") ?? []
        guard (1...1000).contains(tokens.count) else {
            throw .badRequest("registration_tokens", "registration_tokens must hold 1 to 1000 tokens.")
        }
    }

    /// Finds the registrations; the order stays.
    func resolve(_ call: ProjectCall) async throws -> Entries {
        // One was counted with the request.
        try call.checkRate(ofItems: tokens.count - 1)
        let names = tokens.map(RegistrationReference.init(rawValue:))
        let found = try await call.named(names.compactMap { $0 })
        let own = call.caller.role == .client ? try await call.installation()?.registration : nil
        var rest = found.makeIterator()
        var entries = Entries()
        for name in names {
            guard let name else {
                entries.items.append(.failed(.invalidArgument))
                continue
            }
            let named = rest.next() ?? .unknown
            if case .id = name, call.caller.role == .client {
                // A FID is no secret: a client proves with the token that the registration is its own.
                entries.items.append(.failed(.permissionDenied))
            } else if case .ofOtherProject = named {
                entries.items.append(.failed(.invalidArgument))
            } else if case .known(let registration) = named, call.caller.role == .client,
                registration.isBound ? registration.key != own : call.project.requiresInstallation
            {
                entries.items.append(.failed(.permissionDenied))
            } else if case .known(let registration) = named, registration.isActive {
                guard (try? call.checkRate(of: registration.id)) != nil else {
                    // The other items stand.
                    entries.items.append(.failed(.resourceExhausted))
                    continue
                }
                entries.items.append(.found(registration.key))
            } else {
                entries.items.append(.failed(.notFound))
            }
        }
        return entries
    }

    struct Entries {
        var items: [Item] = []

        enum Item {
            case found(RegistrationKey)
            case failed(ItemError)
        }

        var keys: [RegistrationKey] {
            items.compactMap { item in
                guard case .found(let key) = item else { return nil }
                return key
            }
        }

        /// The results of all items, given those of ``keys``.
        func results(_ found: [ItemError?]) -> [ItemError?] {
            var rest = found.makeIterator()
            return items.map { item in
                switch item {
                case .found: rest.next() ?? nil
                case .failed(let error): error
                }
            }
        }
    }
}

/// The body of `batchImport`.
private struct ImportRequest {
    let app: App
    let environment: PushEnvironment
    let isEnvironmentStated: Bool
    let deviceTokens: [String]

    init(_ body: ObjectReader, project: Project) throws(FCMError) {
        try body.refuseUnknown(except: ["application", "sandbox", "apns_tokens"])
        guard let text = try body.string("application") else {
            throw .badRequest("application", "application is missing: the bundle id.")
        }
        let (app, service) = try project.appleApp(text, field: "application")
        self.app = app
        let stated: PushEnvironment? = try body.bool("sandbox").map { $0 ? .sandbox : .production }
        environment = stated ?? service.environment
        isEnvironmentStated = stated != nil
        deviceTokens = try body.strings("apns_tokens") ?? []
        guard (1...100).contains(deviceTokens.count) else {
            throw .badRequest("apns_tokens", "apns_tokens must hold 1 to 100 device tokens.")
        }
    }
}
