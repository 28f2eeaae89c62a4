import APNS
import Delivery
import Hummingbird
import HummingbirdTesting
import JSON
import NIOCore
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import Testing

@testable import GatewayAPI

/// What a legacy call answers when a part of it can't be kept.
@Suite(.timeLimit(.minutes(5)))
struct LegacyFailureTests {
    /// A store whose accepts fail from the second one on.
    private static func oneAccept(_ store: SQLiteStore) -> StoreWithAccept {
        let accepts = Atomic(0)
        return StoreWithAccept(store) { (messages, worker) throws(StoreError) in
            guard accepts.add(1, ordering: .relaxed).newValue == 1 else { throw StoreError(.unavailable, "disk full") }
            return try await store.accept(messages, claimedBy: worker)
        }
    }

    private func send(_ body: String, to gateway: TestGateway, _ services: GatewayServices) async throws -> Answer {
        let application = Application(
            responder: GatewayRouter(services: services, limits: BodyLimits()).responder(), logger: services.logger)
        let key = try #require(gateway.keys[.sender]).text
        return try await application.test(.router) { client in
            let response = try await client.executeRequest(
                uri: "/fcm/send", method: .post, headers: [.authorization: "key=\(key)"],
                body: ByteBuffer(string: body))
            return Answer(
                status: response.status.code, headers: response.headers, text: String(buffer: response.body))
        }
    }

    @Test func whatAFailedTransactionHeldIsUnavailableAndTheRestStands() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let store = Self.oneAccept(gateway.store)
        var services = gateway.services
        services.request.acceptor = MessageAcceptor(
            store: store, composer: AppleComposer(), admission: Admission(in: store, limits: DeliveryLimits()),
            runner: nil,
            wallTime: { TestGateway.startTime })
        let list = Array(repeating: "\"\(token)\"", count: MessageAcceptor.chunkSize + 7).joined(separator: ",")
        let body = #"{"registration_ids":[\#(list)],\#(LegacySendTests.title)}"#
        let some = try await send(body, to: gateway, services)
        #expect(some.status == 200)
        #expect(some.headers[.retryAfter] == nil, "who repeats the call would send most messages twice")
        let chunk = MessageAcceptor.chunkSize
        #expect(try some.json["success"] == .number("\(chunk)"))
        #expect(try some.json["failure"] == .number("7"))
        let results = try some.requireList("results")
        try #require(results.count == chunk + 7)
        #expect(results[..<chunk].allSatisfy { $0["message_id"] != nil })
        #expect(results[chunk...].allSatisfy { $0["error"] == .string("Unavailable") })
        #expect(gateway.store.load.total.messages == chunk)

        let none = try await send(body, to: gateway, services)
        #expect(none.status == 200)
        #expect(try none.json["success"] == .number("0"))
        #expect(none.headers[.retryAfter] == "5")
        let topic = #"{"to":"/topics/news",\#(LegacySendTests.title)}"#
        let broadcast = try await send(topic, to: gateway, services)
        #expect(broadcast.text == #"{"error":"Unavailable"}"#)
        #expect(broadcast.headers[.retryAfter] == "5")
    }

    @Test func aStoppingGatewayIsUnavailable() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        gateway.acceptor.stop()
        for body in [#"{"to":"\#(token)"}"#, #"{"to":"\#(token)","dry_run":true}"#] {
            let answer = try await send(body, to: gateway, gateway.services)
            #expect(answer.status == 200)
            #expect(answer.text.contains(#""results":[{"error":"Unavailable"}]"#))
            #expect(answer.headers[.retryAfter] == "5")
        }
    }
}
