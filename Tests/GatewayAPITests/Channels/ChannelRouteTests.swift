import Delivery
import HTTPTypes
import JSON
import Logging
import PushModel
import Store
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// A push service's management of channels in memory: it makes ids, and fails when it is told to.
final class ListedChannels: ChannelService {
    struct State {
        var channels: [(id: ChannelID, policy: StoragePolicy)] = []
        var made = 0
        /// What the next call ends in.
        var failure: ChannelFailure?
        /// Whether it is done all the same.
        var isDone = false
        /// Channels that the list lacks although they are there.
        var unlisted: Set<ChannelID> = []
        /// Runs before the next deletion is answered.
        var beforeDeletionIsAnswered: (@Sendable () async -> Void)?
    }

    let state = Mutex(State())

    /// Fails the next call.
    func fail(_ failure: ChannelFailure, isDone: Bool = false) {
        state.withLock {
            $0.failure = failure
            $0.isDone = isDone
        }
    }

    func forget(_ id: String) { state.withLock { $0.channels.removeAll { $0.id.rawValue == id } } }

    private func call<Value>(_ body: (inout State) -> Result<Value, ChannelFailure>) -> Result<Value, ChannelFailure> {
        state.withLock { state in
            guard let failure = state.failure else { return body(&state) }
            state.failure = nil
            if state.isDone { _ = body(&state) }
            return .failure(failure)
        }
    }

    static let unknown = ChannelFailure(
        .refused(Refusal("ChannelNotRegistered", .addressDead(since: nil))), meaning: "APNs has no such channel.")

    func create(_ policy: StoragePolicy, in home: ChannelHome) async -> Result<ChannelID, ChannelFailure> {
        call { state in
            state.made += 1
            guard let id = ChannelID(rawValue: "made+/\(state.made)==") else { return .failure(Self.unknown) }
            state.channels.append((id, policy))
            return .success(id)
        }
    }

    func storagePolicy(of id: ChannelID, in home: ChannelHome) async -> Result<StoragePolicy, ChannelFailure> {
        call { state in
            state.channels.first { $0.id == id }.map { .success($0.policy) } ?? .failure(Self.unknown)
        }
    }

    func channels(in home: ChannelHome) async -> Result<[ChannelID], ChannelFailure> {
        call { state in .success(state.channels.map(\.id).filter { !state.unlisted.contains($0) }) }
    }

    func delete(_ id: ChannelID, in home: ChannelHome) async -> Result<Void, ChannelFailure> {
        let result: Result<Void, ChannelFailure> = call { state in
            let before = state.channels.count
            state.channels.removeAll { $0.id == id }
            return state.channels.count < before ? .success(()) : .failure(Self.unknown)
        }
        let pause = state.withLock { state in
            defer { state.beforeDeletionIsAnswered = nil }
            return state.beforeDeletionIsAnswered
        }
        await pause?()
        return result
    }
}

@Suite("Broadcast channels", .timeLimit(.minutes(5)))
struct ChannelRouteTests {
    private struct Setup {
        let gateway: TestGateway
        let service = ListedChannels()
        let services: GatewayServices

        init() async throws {
            let gateway = try await TestGateway()
            var services = gateway.services
            services.request.channels = ChannelController(
                store: gateway.store, service: service, wallTime: { gateway.clock.now }, logger: services.logger)
            self.gateway = gateway
            self.services = services
        }

        func create(_ body: String) async throws -> Answer {
            try await gateway.request(.post, "/v1/projects/demo/channels", body, as: .sender, over: services)
        }

        /// A channel of `com.example.app`.
        func channel(_ name: String) async throws -> Answer {
            let answer = try await create(#"{"app":"com.example.app","name":"\#(name)"}"#)
            #expect(answer.status == 200, "\(answer.text)")
            return answer
        }

        func get(_ path: String = "", as role: Role = .sender) async throws -> Answer {
            try await gateway.request(
                .get, "/v1/projects/demo/channels\(path)?app=com.example.app", as: role, over: services)
        }

        func publish(_ name: String, _ message: String, more: String = "") async throws -> Answer {
            try await gateway.request(
                .post, "/v1/projects/demo/messages:send",
                #"{"message":\#(message),"target":{"channel":"\#(name)","app":"com.example.app"}\#(more)}"#,
                as: .sender,
                over: services)
        }
    }

    private static func update(_ more: String = "", headers: String = "", event: String = "update") -> String {
        #"{"apns":{"headers":{"apns-push-type":"liveactivity"\#(headers)},"payload":{"aps":{"timestamp":1700000000,"#
            + #""event":"\#(event)","content-state":{"score":"1:0"}\#(more)}}}}"#
    }

    @Test("A channel is made once, shown, listed and deleted, and the audit log has it")
    func wholeLife() async throws {
        let setup = try await Setup()
        let made = try await setup.channel("match-42")
        #expect(try made.json["channelId"] == .string("made+/1=="))
        #expect(try made.json["environment"] == .string("production"))
        #expect(try made.json["storagePolicy"] == .string("MOST_RECENT"))
        #expect(try made.json["state"] == .string("ACTIVE"))
        // The same again is the same channel.
        #expect(try await setup.channel("match-42").text == made.text)
        #expect(setup.service.state.withLock { $0.made } == 1)
        #expect(try await setup.get("/match-42").text == made.text)
        let list = try await setup.get()
        #expect(try list.list("channels")?.count == 1)
        #expect(try list.json["apple"]?["unknownCount"] == .number("0"))
        let deleted = try await setup.gateway.request(
            .delete, "/v1/projects/demo/channels/match-42?app=com.example.app", as: .sender, over: setup.services)
        #expect(deleted.status == 200)
        #expect(setup.service.state.withLock { $0.channels.isEmpty })
        #expect(try await setup.get("/match-42").status == 404)
        let audit = try await setup.gateway.request(.get, "/v1/projects/demo/audit", over: setup.services)
        let actions = try audit.list("entries")?.compactMap { $0["action"]?.stringValue }
        #expect(actions?.prefix(2) == ["channel.delete", "channel.create"], "\(audit.text)")
    }

    @Test(
        "Mistakes name their field",
        arguments: [
            (#"{"name":"a"}"#, "app"), (#"{"app":"com.example.none","name":"a"}"#, "app"),
            (#"{"app":"com.example.app"}"#, "name"), (#"{"app":"com.example.app","name":"a b"}"#, "name"),
            (#"{"app":"com.example.app","name":"a","environment":"test"}"#, "environment"),
            (#"{"app":"com.example.app","name":"a","storagePolicy":"SOME"}"#, "storage_policy"),
            (#"{"app":"com.example.app","name":"a","channelId":""}"#, "channelId"),
            (#"{"app":"com.example.app","name":"a","ttl":1}"#, ""),
        ])
    func mistakes(body: String, field: String) async throws {
        let answer = try await Setup().create(body)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
    }

    @Test("A client key may do nothing with channels")
    func roles() async throws {
        let setup = try await Setup()
        #expect(try await setup.get(as: .client).status == 403)
    }

    @Test("A storage policy can't be changed, and an id not be had twice")
    func conflicts() async throws {
        let setup = try await Setup()
        _ = try await setup.channel("match-42")
        let other = try await setup.create(#"{"app":"com.example.app","name":"match-42","storagePolicy":"NONE"}"#)
        #expect(other.status == 409)
        #expect(try other.badFields == ["storagePolicy"])
        let adopted = try await setup.create(
            #"{"app":"com.example.app","name":"other","channelId":"made+/1==","storagePolicy":"NONE"}"#)
        #expect(adopted.status == 400)
        #expect(try adopted.badFields == ["storagePolicy"])
    }

    @Test("What Apple refuses is not kept, and what it may have done is seen and taken over")
    func failures() async throws {
        let setup = try await Setup()
        setup.service.fail(ChannelFailure(.refused(Refusal("FeatureNotEnabled", .topic)), meaning: "Off."))
        let refused = try await setup.create(#"{"app":"com.example.app","name":"a"}"#)
        #expect(refused.status == 401)
        #expect(try refused.errorMessage?.contains("Off.") == true)
        #expect(try await setup.get().list("channels")?.isEmpty == true)
        // Made there, and the answer is lost: as after a crash before the commit.
        setup.service.fail(ChannelFailure(.unknown(.connectionLost)), isDone: true)
        #expect(try await setup.create(#"{"app":"com.example.app","name":"a"}"#).status == 503)
        let list = try await setup.get()
        #expect(try list.list("channels")?.first?["state"] == .string("CREATING"))
        guard case .array(let unknown)? = try list.json["apple"]?["unknown"] else {
            Issue.record("\(list.text)")
            return
        }
        #expect(unknown == [.string("made+/1==")])
        let refusal = try await setup.publish("a", Self.update())
        #expect(refusal.status == 400 && refusal.text.contains("CHANNEL_UNUSABLE"))
        let adopted = try await setup.create(
            #"{"app":"com.example.app","name":"a","channelId":"made+/1=="}"#)
        #expect(try adopted.json["state"] == .string("ACTIVE"), "\(adopted.text)")
        #expect(try await setup.get().json["apple"]?["unknownCount"] == .number("0"))
        setup.service.fail(ChannelFailure(.notSent(.connectFailed)))
        #expect(try await setup.get().json["apple"]?["error"] == .string("connect_failed"))
    }

    @Test("A channel that Apple lost is said to be lost, and can be made anew")
    func lost() async throws {
        let setup = try await Setup()
        _ = try await setup.channel("a")
        setup.service.forget("made+/1==")
        setup.gateway.clock.advance(by: .seconds(1))
        let shown = try await setup.get("/a")
        #expect(try shown.json["state"] == .string("LOST"), "\(shown.text)")
        #expect(try await setup.publish("a", Self.update()).text.contains("CHANNEL_UNUSABLE"))
        #expect(try await setup.channel("a").json["channelId"] == .string("made+/2=="))
    }

    @Test("A publication is a message to one recipient, which no look-up of registrations finds")
    func publication() async throws {
        let setup = try await Setup()
        let channel = try await setup.channel("match-42")
        let sent = try await setup.publish("match-42", Self.update())
        let name = try #require(try sent.json["name"]?.stringValue, "\(sent.text)")
        let report = try await setup.gateway.request(.get, "/v1/\(name)", as: .sender, over: setup.services)
        let shown = try channel.json
        #expect(try report.json["channel"] == shown)
        #expect(try report.json["audience"] == .number("1"))
        let claimed = try await setup.gateway.claim(.interactive)
        #expect(claimed.map(\.registration.channel) == [.broadcast(.production)])
        let fid = try #require(try channel.json["registration"]?.stringValue)
        #expect(fid.hasPrefix("channel-"))
        #expect(try await setup.gateway.request(.get, "/v1/projects/demo/registrations/\(fid)").status == 404)
        let direct = try await setup.gateway.request(
            .post, "/v1/projects/demo/messages:send", #"{"message":{"fid":"\#(fid)","notification":{"title":"x"}}}"#)
        #expect(direct.status == 404)
        let why = try await setup.gateway.request(.get, "/v1/projects/demo/registrations/\(fid):why")
        #expect(why.status == 200)
    }

    @Test(
        "What a channel can't take is refused before it is kept",
        arguments: [
            (
                update(#","attributes-type":"A","attributes":{},"alert":{"title":"a","body":"b"}"#, event: "start"),
                "message.apns.payload.aps.event"
            ),
            (#"{"notification":{"title":"Hi"}}"#, "message.apns.headers.apns-push-type"),
            (update(headers: #","apns-collapse-id":"x""#), "message.apns.headers.apns-collapse-id"),
            (update(headers: #","apns-expiration":"1800000000""#), "message.apns.headers.apns-expiration"),
            (update(#","alert":"\#(String(repeating: "x", count: 5200))""#), "message"),
        ])
    func refused(message: String, field: String) async throws {
        let setup = try await Setup()
        _ = try await setup.create(#"{"app":"com.example.app","name":"a","storagePolicy":"NONE"}"#)
        let answer = try await setup.publish("a", message)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(try answer.badFields.first?.hasPrefix(field) == true, "\(answer.text)")
    }

    @Test("A dry run says the size, more than a device could take, and keeps nothing")
    func dryRun() async throws {
        let setup = try await Setup()
        _ = try await setup.channel("a")
        let text = String(repeating: "x", count: 4600)
        let answer = try await setup.publish("a", Self.update(#","alert":"\#(text)""#), more: #","validate_only":true"#)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.json["audience"] == .number("1"))
        guard case .number(let bytes)? = try answer.json["payloadBytes"]?["com.example.app"] else {
            Issue.record("\(answer.text)")
            return
        }
        #expect((4097...5120).contains(Int(bytes) ?? 0))
        #expect(try await setup.gateway.claim(.interactive).isEmpty)
    }

    @Test("A target is one of user and channel, and app belongs to channel")
    func targets() async throws {
        let setup = try await Setup()
        for (target, field) in [
            (#"{"user":"a","channel":"b"}"#, "target"), (#"{"user":"a","app":"com.example.app"}"#, "target.app"),
            (#"{"channel":"b"}"#, "target.app"),
            (#"{"channel":"b","app":"com.example.app","environment":"x"}"#, "target.environment"),
            (#"{}"#, "target"),
        ] {
            let answer = try await setup.gateway.request(
                .post, "/v1/projects/demo/messages:send", #"{"message":\#(Self.update()),"target":\#(target)}"#,
                over: setup.services)
            #expect(answer.status == 400)
            #expect(try answer.badFields == [field], "\(answer.text)")
        }
        let unknown = try await setup.publish("none", Self.update())
        #expect(unknown.status == 404)
    }
}
