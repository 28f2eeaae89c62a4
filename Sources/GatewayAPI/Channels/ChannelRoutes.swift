import Delivery
import Hummingbird
import JSON
import PushModel
import Store

/// `channels`: broadcast channels of Apple's apps, kept here beside Apple's own list. Our own resource.
enum ChannelRoutes {
    static let all: [Route] = [
        .project(.post, "channels", .manageChannels, create),
        .project(.get, "channels", .manageChannels, list),
        .project(.get, "channels/{channel}", .manageChannels, get),
        .project(.delete, "channels/{channel}", .manageChannels, delete),
    ]

    /// Makes a channel, or answers with the one that has the name already.
    @Sendable private static func create(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["app", "environment", "name", "storage_policy", "channel_id"])
        let home = try call.channelHome(
            app: try body.string("app"), environment: try body.string("environment"), in: "app", "environment")
        guard let text = try body.string("name") else { throw FCMError.badRequest("name", "The channel has no name.") }
        let name = try ChannelName(text, field: "name")
        let policy = try body.choice("storage_policy", of: StoragePolicy.self, type: "StoragePolicy") ?? .mostRecent
        let adopted = try body.string("channel_id").map { text throws(FCMError) in
            guard let id = ChannelID(rawValue: text) else {
                throw .badRequest("channelId", "The channelId is not an id that APNs gave a channel.")
            }
            return id
        }
        let (entry, controller) = (call.channelAudit(.channelCreated, name, home), try call.channels())
        do throws(ChannelProblem) {
            let (channel, _) = try await controller.create(name, in: home, policy, adopting: adopted) { id in
                var entry = entry
                entry.details["channelId"] = id.rawValue
                return entry
            }
            return Response(json: ChannelView.channel(channel))
        } catch {
            throw FCMError(error, name, home)
        }
    }

    /// The channels of an app in an environment. The first page says what Apple's list has beside them.
    @Sendable private static func list(_ call: ProjectCall) async throws -> Response {
        let query = call.query
        let size = try query.pageSize(default: 100, maximum: 1000)
        let home = try call.channelHome(
            app: query["app"], environment: query["environment"], in: "app", "environment")
        var members: [JSONValue.Member] = []
        if query["pageToken"] == nil { members = try await comparison(with: home, call) }
        let store = call.services.store
        let page = try await store.channels(in: home, after: query["pageToken"], limit: size)
        var all: [JSONValue.Member] = [.init("channels", .array(page.elements.map(ChannelView.channel)))]
        if let next = page.nextCursor { all.append(.init("nextPageToken", .string(next))) }
        all.append(.init("count", .integer(try await store.channelCount(in: home))))
        all.append(.init("limit", .integer(ChannelController.limit)))
        return Response(json: .object(all + members))
    }

    /// Apple's list against ours; what Apple does not have is lost from then on. Not being able to ask is no error of the
    /// list.
    private static func comparison(with home: ChannelHome, _ call: ProjectCall) async throws -> [JSONValue.Member] {
        let controller = try call.channels()
        do throws(ChannelProblem) {
            return [.init("apple", ChannelView.comparison(try await controller.reconcile(home)))]
        } catch {
            guard case .service(let failure) = error else { throw FCMError(error, nil, home) }
            return [.init("apple", .object([.init("error", .string(failure.text))]))]
        }
    }

    @Sendable private static func get(_ call: ProjectCall) async throws -> Response {
        let (name, home) = try call.namedChannel()
        let controller = try call.channels()
        let found: (channel: BroadcastChannel, failure: ChannelFailure?)?
        do throws(ChannelProblem) {
            found = try await controller.channel(name, in: home)
        } catch {
            throw FCMError(error, name, home)
        }
        guard let found else { throw FCMError.noChannel(name, home) }
        return Response(json: ChannelView.channel(found.channel, failure: found.failure))
    }

    @Sendable private static func delete(_ call: ProjectCall) async throws -> Response {
        let (name, home) = try call.namedChannel()
        let (audit, controller) = (call.channelAudit(.channelDeleted, name, home), try call.channels())
        let isDeleted: Bool
        do throws(ChannelProblem) {
            isDeleted = try await controller.delete(name, in: home, audit: audit)
        } catch {
            throw FCMError(error, name, home)
        }
        guard isDeleted else { throw FCMError.noChannel(name, home) }
        return Response(json: .object([]))
    }
}
