import Delivery
import HTTPTypes
import Hummingbird
import JSON
import PushModel
import Store

/// `/fcm/notification`: device groups (fcm.md §6, §10.13). An error is 400 with `{"error": "<text>"}`; the texts that senders
/// look for are FCM's own.
enum DeviceGroupRoutes {
    /// Where they are.
    static let path = "/fcm/notification"

    // Room for many more tokens than a group may have, so that a count and not a size is complained about.
    static let all = [
        Route(method: .post, path: path, scope: .keyProject(.deviceGroups, change)).limited(toBytes: 256 << 10),
        Route(method: .get, path: path, scope: .keyProject(.deviceGroups, lookUp)),
    ]

    @Sendable private static func change(_ call: ProjectCall) async throws -> Response {
        try call.checkProjectHeader()
        let request = try DeviceGroupRequest(await call.json())
        let keys = try await registrations(request.tokens, call)
        let store = call.services.store
        let result =
            switch request.operation {
            case .create(let name): try await store.createGroup(name, of: keys, in: call.project.id, at: call.now)
            case .add(let key, let name): try await store.add(keys, to: key, named: name, in: call.project.id)
            case .remove(let key, let name): try await store.remove(keys, from: key, named: name, in: call.project.id)
            }
        return try answer(result)
    }

    @Sendable private static func lookUp(_ call: ProjectCall) async throws -> Response {
        try call.checkProjectHeader()
        guard let text = call.query["notificationKeyName"] else {
            throw FCMError(.badRequest, "notification_key_name is missing.")
        }
        let name = try DeviceGroupRequest.name(text)
        guard let key = try await call.services.store.notificationKey(of: name, in: call.project.id) else {
            throw FCMError(.badRequest, "notification_key not found")
        }
        return try answer(.done(key))
    }

    /// The registrations that are named; the rest is dropped, as FCM does.
    private static func registrations(
        _ tokens: [String], _ call: ProjectCall
    ) async throws -> [RegistrationKey] {
        let names = tokens.compactMap { RegistrationReference(rawValue: $0) }
        return try await call.services.store.registrations(named: names, in: call.project.id).compactMap { $0?.key }
    }

    private static func answer(_ result: DeviceGroupResult) throws(FCMError) -> Response {
        let problem: String
        switch result {
        case .done(let key): return Response(json: .object([.init("notification_key", .string(key.rawValue))]))
        case .nameTaken: problem = "notification_key already exists"
        case .notFound: problem = "notification_key not found"
        case .otherName:
            problem = "notification_key_name doesn't match the group name of the notification_key"
        case .noneActive: problem = "no valid registration ids"
        case .tooMany: problem = "A device group has at most \(DeviceGroupLimit.members) registration ids."
        }
        throw FCMError(.badRequest, problem)
    }
}

/// The body of a change.
private struct DeviceGroupRequest {
    enum Operation {
        case create(DeviceGroupName)
        case add(NotificationKey, DeviceGroupName?)
        case remove(NotificationKey, DeviceGroupName?)
    }

    let operation: Operation
    let tokens: [String]

    init(_ body: ObjectReader) throws(FCMError) {
        try body.refuseUnknown(
            except: ["operation", "notification_key_name", "notification_key", "registration_ids"])
        let name: DeviceGroupName?
        if let text = try body.string("notification_key_name") { name = try Self.name(text) } else { name = nil }
        let key = try body.string("notification_key")
        switch try body.string("operation") {
        case "create":
            guard let name else { throw FCMError(.badRequest, "notification_key_name is missing.") }
            guard key == nil else {
                throw FCMError(.badRequest, "notification_key: a new group gets its key, it can't be chosen.")
            }
            operation = .create(name)
        case "add": operation = .add(try Self.key(key), name)
        case "remove": operation = .remove(try Self.key(key), name)
        default: throw FCMError(.badRequest, "operation must be create, add or remove.")
        }
        tokens = try body.strings("registration_ids") ?? []
        guard !tokens.isEmpty else { throw FCMError(.badRequest, "registration_ids is missing or empty.") }
    }

    static func name(_ text: String) throws(FCMError) -> DeviceGroupName {
        guard let name = DeviceGroupName(rawValue: text) else {
            throw FCMError(.badRequest, "notification_key_name must be \(DeviceGroupName.expectation).")
        }
        return name
    }

    private static func key(_ text: String?) throws(FCMError) -> NotificationKey {
        guard let text else { throw FCMError(.badRequest, "notification_key is missing.") }
        // A text without the form of a key names no group.
        guard let key = NotificationKey(rawValue: text) else {
            throw FCMError(.badRequest, "notification_key not found")
        }
        return key
    }
}

extension ProjectCall {
    /// Checks `project_id`, which FCM asks for beside the key: the project's number (its sender ID); the id is taken too.
    fileprivate func checkProjectHeader() throws(FCMError) {
        guard let text = call.request.headers[.projectID] else {
            throw FCMError(.badRequest, "The header project_id is missing: the sender ID of the project.")
        }
        guard text == String(project.number) || text == project.id.rawValue else {
            throw FCMError(.badRequest, "The header project_id is not the sender ID of the key's project.")
        }
    }

    /// The members of a device group, all active; `nil`: there is no such group.
    func members(of key: NotificationKey) async throws(FCMError) -> [Registration]? {
        do throws(StoreError) {
            return try await services.store.members(of: key, in: project.id)
        } catch {
            throw FCMError(error)
        }
    }

    /// Those of `registrations` that a message to many can go to.
    func addressees(among registrations: [Registration]) -> [Addressee] {
        registrations.filter { $0.isAddressable(at: now) && project.apps[$0.appKey] != nil }
            .map { Addressee(key: $0.key, app: $0.appKey) }
    }
}

extension HTTPField.Name {
    /// `project_id`: a project's sender ID.
    fileprivate static let projectID = HTTPField.Name("project_id")!
}
