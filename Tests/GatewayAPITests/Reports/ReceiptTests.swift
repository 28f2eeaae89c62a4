import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

/// What devices report of messages.
@Suite(.timeLimit(.minutes(5)))
struct ReceiptTests {
    private static let path = "/v1/projects/demo/receipts"

    private static func event(
        _ message: Substring, _ event: String = #""MESSAGE_DELIVERED""#, project: String = "\"123456789012\"",
        instance: String? = nil
    ) -> String {
        let instance = instance.map { #",\"instance_id\":\"\#($0)\""# } ?? ""
        let text =
            #"{\"messaging_client_event\":{\"project_number\":\#(escaped(project)),\"message_id\":\"\#(message)\","#
            + #"\"event\":\#(escaped(event)),\"sdk_platform\":\"WEB\"\#(instance)}}"#
        return #"{"event_time_ms":"1767323045700","source_extension_json_proto3":"\#(text)","compliance_data":{}}"#
    }

    private static func escaped(_ text: String) -> String { text.replacing("\"", with: "\\\"") }

    @Test func receiptsAreCountedShownAndExported() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let install = try await gateway.register()
        let name = try await gateway.send(#""token":"\#(install.token)""#)
        let id = name.split(separator: "/").last ?? ""
        // The device is faster than the commit of APNs' answer.
        let body = #"{"registration":"\#(install.token)","message":"\#(name)","kind":"RECEIVED"}"#
        let early = try await gateway.request(.post, Self.path, body, as: .client)
        #expect(early.status == 200, "\(early.text)")
        #expect(early.text == #"{"results":[{}]}"#)
        try await gateway.finish(.interactive)
        let list = #"""
            {"registration":"\#(install.token)","receipts":[{"message":"\#(id)","kind":"received"},
            {"message":"\#(name)","kind":"opened","time":"2026-01-02T03:04:05.700Z"},
            {"message":"projects/123456789012/messages/\#(id)","kind":"Impression"},
            {"message":"0:1-unknown","kind":"opened"},{"message":"projects/other/messages/\#(id)","kind":"opened"}]}
            """#
        for _ in 0..<2 {
            let answer = try await gateway.request(.post, Self.path, list, as: .client)
            #expect(answer.text == #"{"results":[{},{},{},{"error":"NOT_FOUND"},{"error":"NOT_FOUND"}]}"#)
        }
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(
            report["receipts"].map { String(decoding: $0.bytes, as: UTF8.self) }
                == #"{"received":1,"opened":1,"impression":1}"#)
        let deliveries = try await gateway.request(.get, "/v1/\(name)/deliveries").json
        let shown = try deliveries.requireList("deliveries")
        #expect(shown.first?["receipts"]?["opened"] == .string("2026-01-02T03:04:05.700Z"))
        #expect(shown.first?["receipts"]?["received"] == .string(TestGateway.startText))
        gateway.clock.advance(by: .seconds(1))
        let export = try await gateway.request(.get, "/v1/projects/demo/export")
        let rows = try export.text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        let names = rows.compactMap { $0["event"]?.stringValue }
        #expect(names == ["MESSAGE_ACCEPTED", "MESSAGE_DELIVERED", "MESSAGE_OPEN", "MESSAGE_IMPRESSION"])
        #expect(rows.allSatisfy { $0["instance_id"] == .string(install.id) && $0["message_id"] == .string(String(id)) })
        #expect(rows[2]["event_timestamp"] == .string("2026-01-02T03:04:05.700Z"))
        #expect(rows[2]["attempts"] == nil && rows[2]["outcome"] == nil && rows[0]["attempts"] != nil)
        let csv = try await gateway.request(.get, "/v1/projects/demo/export?format=csv").text.split(separator: "\r\n")
        #expect(csv.count == 5)
    }

    @Test func aReceiptForAnotherDeviceIsNotKept() async throws {
        let gateway = try await TestGateway()
        let mine = try await gateway.install()
        _ = try await gateway.register(mine, "00aa11")
        let theirs = try await gateway.register("00bb22")
        let message = try await gateway.send(#""token":"\#(theirs.token)""#)
        let id = message.split(separator: "/").last ?? ""
        let body = #"{"message":"\#(message)","kind":"opened"}"#
        // The client's key alone proves nothing.
        #expect(try await gateway.request(.post, Self.path, body, as: .client).badFields == ["registration"])
        let forged = try await gateway.request(.post, Self.path, body, of: mine)
        #expect(forged.text == #"{"results":[{"error":"NOT_FOUND"}]}"#)
        let log = #"{"log_source":1249,"log_event":[\#(Self.event(id, instance: theirs.id))]}"#
        let logged = try await gateway.request(.post, Self.path, log, of: mine)
        #expect(try logged.json["results"] == .array([.object([.init("error", .string("NOT_FOUND"))])]))
        let wrong = theirs.token.dropLast() + (theirs.token.hasSuffix("A") ? "B" : "A")
        let guessed = #"{"registration":"\#(wrong)","message":"\#(message)","kind":"opened"}"#
        #expect(try await gateway.request(.post, Self.path, guessed, as: .client).status == 404)
        #expect(try await gateway.request(.get, "/v1/\(message)").json["receipts"] == nil)
        #expect(try await gateway.request(.post, Self.path, body, as: .sender).status == 403)
    }

    @Test func oneWrongReceiptOfAListSpoilsNoOther() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        _ = try await gateway.register(install)
        let message = try await gateway.send(#""fid":"\#(install.id)""#)
        let list = #"""
            {"receipts":[{"message":"0:1501%85e8","kind":"RECEIVED"},{"message":"\#(message)","kind":"EATEN"},
            {"message":"projects/demo/messages/","kind":"RECEIVED"},{"message":"\#(message)","kind":"RECEIVED"}]}
            """#
        let answer = try await gateway.request(.post, Self.path, list, of: install)
        let wrong = #"{"error":"INVALID_ARGUMENT"}"#
        #expect(answer.text == #"{"results":[\#(wrong),\#(wrong),\#(wrong),{}]}"#)
        let report = try await gateway.request(.get, "/v1/\(message)").json
        #expect(report["receipts"] == .object([.init("received", .integer(1))]))
    }

    @Test func theSDKsLogOfEventsIsTaken() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        _ = try await gateway.register(install)
        let message = try await gateway.send(#""fid":"\#(install.id)""#)
        let id = message.split(separator: "/").last ?? ""
        let events = [
            Self.event(id, instance: install.id), Self.event(id, "1"), Self.event(id, "2", project: "123456789012"),
            Self.event(id, "3"), Self.event(id, project: "7"), Self.event("0:1-x"),
            Self.event(id, instance: "dSomebodyElse000000000"), #"{"source_extension_json_proto3":"{"}"#, "{}",
        ].joined(separator: ",")
        let answer = try await gateway.request(
            .post, Self.path, #"{"log_source":"FCM_CLIENT_EVENT_LOGGING","client_info":{},"log_event":[\#(events)]}"#,
            of: install, prefix: "FIS ")
        #expect(answer.status == 200, "\(answer.text)")
        let results = try answer.requireList("results")
        #expect(
            results.map { $0["error"]?.stringValue } == [
                nil, nil, nil, "INVALID_ARGUMENT", "NOT_FOUND", "NOT_FOUND", "NOT_FOUND", "INVALID_ARGUMENT",
                "INVALID_ARGUMENT",
            ])
        #expect(try answer.json["nextRequestWaitMillis"] != nil)
        let report = try await gateway.request(.get, "/v1/\(message)").json
        #expect(report["receipts"] == .object([.init("received", .integer(1)), .init("opened", .integer(1))]))
    }

    @Test func theInstallationsOwnFIDIsTakenAfterAChangeOfUser() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        _ = try await gateway.register(install, user: "alice")
        let forAlice = try await gateway.send(#""fid":"\#(install.id)""#).split(separator: "/").last ?? ""
        let changed = try await gateway.register(install, user: "bob").json
        let name = try #require(changed["name"]?.stringValue)
        let own = String(name.split(separator: "/").last ?? "")
        #expect(own != install.id)
        let forBob = try await gateway.send(#""fid":"\#(own)""#).split(separator: "/").last ?? ""
        let events = [
            Self.event(forBob, instance: install.id), Self.event(forBob, instance: own),
            Self.event(forBob, instance: "dSomebodyElse000000000"), Self.event(forAlice, instance: install.id),
        ].joined(separator: ",")
        let answer = try await gateway.request(
            .post, Self.path, #"{"log_source":1249,"log_event":[\#(events)]}"#, of: install)
        let results = try answer.requireList("results")
        // What alice was sent is not bob's to report.
        #expect(results.map { $0["error"]?.stringValue } == [nil, nil, "NOT_FOUND", "NOT_FOUND"])
    }

    @Test(arguments: [
        (#"{"registration":"x","message":"0:1","kind":"opened"}"#, "registration"),
        (#"{"kind":"opened"}"#, "message"), (#"{"message":"a/b","kind":"opened"}"#, "message"),
        (#"{"message":"0:1","kind":"eaten"}"#, "kind"), (#"{"message":"0:1"}"#, "kind"),
        (#"{"message":"0:1","kind":"opened","time":"noon"}"#, "time"), (#"{"receipts":[]}"#, "receipts"),
        (#"{"receipts":[{"message":"0:1","kind":"opened"},{"message":"0:1","kind":1}]}"#, "receipts[1].kind"),
        (#"{"receipts":[1]}"#, "receipts[0]"), (#"{"log_event":[]}"#, "log_event"),
    ])
    func aWrongReceiptNamesItsField(body: String, field: String) async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.install()
        _ = try await gateway.register(install)
        let answer = try await gateway.request(.post, Self.path, body, of: install)
        #expect(answer.status == 400, "\(answer.text)")
        #expect(try answer.badFields == [field])
    }
}
