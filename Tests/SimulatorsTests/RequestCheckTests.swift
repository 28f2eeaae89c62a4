import NIOHTTP1
import Simulators
import Testing

@Suite("A push is checked as Apple checks it", .timeLimit(.minutes(5)))
struct RequestCheckTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var status: Int
        var reason: String
        var change: @Sendable (inout TestPush) -> Void

        init(_ name: String, _ status: Int, _ reason: String, _ change: @escaping @Sendable (inout TestPush) -> Void) {
            testDescription = name
            self.status = status
            self.reason = reason
            self.change = change
        }
    }

    static let refused: [Case] = [
        Case("GET", 405, "MethodNotAllowed") { $0.method = .GET },
        Case("another path", 404, "BadPath") { $0.path = "/2/device/00" },
        Case("more path", 404, "BadPath") { $0.path += "/more" },
        Case("path of the management host", 404, "BadPath") { $0.path = "/1/apps/com.example.app/channels" },
        Case("no device token", 400, "MissingDeviceToken") { $0.path = "/3/device/" },
        Case("device token not hex", 400, "BadDeviceToken") { $0.path = "/3/device/xy" },
        Case("device token of odd length", 400, "BadDeviceToken") { $0.path = "/3/device/00f" },
        Case("topic twice", 400, "DuplicateHeaders") { $0.headers.append(("apns-topic", "com.example.app")) },
        Case("no topic", 400, "MissingTopic") { $0 = $0.setting("apns-topic", nil) },
        Case("empty topic", 400, "MissingTopic") { $0 = $0.setting("apns-topic", "") },
        Case("topic with a space", 400, "BadTopic") { $0 = $0.setting("apns-topic", "com example") },
        Case("topic with a foreign suffix", 400, "BadTopic") {
            $0 = $0.setting("apns-topic", "com.example.app.voip")
        },
        Case("topic without its suffix", 400, "BadTopic") { $0 = $0.setting("apns-push-type", "liveactivity") },
        Case("topic of another app", 400, "TopicDisallowed") { $0 = $0.setting("apns-topic", "com.example.other") },
        Case("voip topic of another app", 400, "TopicDisallowed") {
            $0 = $0.setting("apns-topic", "com.example.other.voip").setting("apns-push-type", "voip")
        },
        Case("device management with a provider token", 400, "TopicDisallowed") {
            $0 = $0.setting("apns-push-type", "mdm").setting("apns-topic", "com.apple.mgmt.External.1")
            $0.body = #"{"mdm":"magic"}"#
        },
        Case("unknown push type", 400, "InvalidPushType") { $0 = $0.setting("apns-push-type", "Alert") },
        Case("priority 7", 400, "BadPriority") { $0 = $0.setting("apns-priority", "7") },
        Case("background with priority 10", 400, "BadPriority") {
            $0 = $0.setting("apns-push-type", "background").setting("apns-priority", "10")
            $0.body = #"{"aps":{"content-available":1}}"#
        },
        Case("negative expiration", 400, "BadExpirationDate") { $0 = $0.setting("apns-expiration", "-1") },
        Case("expiration with fraction", 400, "BadExpirationDate") { $0 = $0.setting("apns-expiration", "1.5") },
        Case("id in upper case", 400, "BadMessageId") {
            $0 = $0.setting("apns-id", "EC1BF194-B3B2-424A-89A9-5A918A6E6B5D")
        },
        Case("id too short", 400, "BadMessageId") { $0 = $0.setting("apns-id", "ec1bf194-b3b2-424a-89a9") },
        Case("collapse id of 65 bytes", 400, "BadCollapseId") {
            $0 = $0.setting("apns-collapse-id", String(repeating: "x", count: 65))
        },
        Case("no body", 400, "PayloadEmpty") { $0.body = "" },
        Case("body not JSON", 400, "PayloadEmpty") { $0.body = "hello" },
        Case("body not an object", 400, "PayloadEmpty") { $0.body = "[1]" },
        Case("body of 4097 bytes", 413, "PayloadTooLarge") { $0.body = payload(bytes: 4097) },
        Case("body of 300,000 bytes", 413, "PayloadTooLarge") { $0.body = payload(bytes: 300_000) },
        Case("voip body of 5121 bytes", 413, "PayloadTooLarge") {
            $0 = $0.setting("apns-topic", "com.example.app.voip").setting("apns-push-type", "voip")
            $0.body = payload(bytes: 5121)
        },
        Case("background with an alert", 400, "InvalidPushType") {
            $0 = $0.setting("apns-push-type", "background").setting("apns-priority", "5")
            $0.body = #"{"aps":{"content-available":1,"alert":"x"}}"#
        },
        Case("background without content-available", 400, "InvalidPushType") {
            $0 = $0.setting("apns-push-type", "background").setting("apns-priority", "5")
        },
    ]

    static let accepted: [Case] = [
        Case("as plain as can be", 200, "") { _ in },
        Case("without a push type", 200, "") { $0 = $0.setting("apns-push-type", nil) },
        Case("short device token", 200, "") { $0.path = "/3/device/0f" },
        Case("device token in upper case", 200, "") { $0.path = "/3/device/0F" },
        Case("body of 4096 bytes", 200, "") { $0.body = payload(bytes: 4096) },
        Case("voip body of 5120 bytes", 200, "") {
            $0 = $0.setting("apns-topic", "com.example.app.voip").setting("apns-push-type", "voip")
            $0.body = payload(bytes: 5120)
        },
        Case("collapse id of 64 bytes", 200, "") {
            $0 = $0.setting("apns-collapse-id", String(repeating: "x", count: 64))
        },
        Case("all headers", 200, "") {
            $0 = $0.setting("apns-priority", "5").setting("apns-expiration", "0")
                .setting("apns-id", "ec1bf194-b3b2-424a-89a9-5a918a6e6b5d")
        },
        Case("background", 200, "") {
            $0 = $0.setting("apns-push-type", "background").setting("apns-priority", "5")
            $0.body = #"{"aps":{"content-available":1},"key":"value"}"#
        },
        Case("background with an empty sound", 200, "") {
            $0 = $0.setting("apns-push-type", "background").setting("apns-priority", "5")
            $0.body = #"{"aps":{"content-available":1,"sound":""}}"#
        },
        Case("background without a priority", 200, "") {
            $0 = $0.setting("apns-push-type", "background")
            $0.body = #"{"aps":{"content-available":1}}"#
        },
        Case("live activity", 200, "") {
            $0 = $0.setting("apns-push-type", "liveactivity")
                .setting("apns-topic", "com.example.app.push-type.liveactivity")
        },
    ]

    static func payload(bytes: Int) -> String {
        let frame = #"{"aps":{"alert":""}}"#
        return #"{"aps":{"alert":""# + String(repeating: "x", count: bytes - frame.utf8.count) + #""}}"#
    }

    @Test("A wrong request gets Apple's status and reason", arguments: refused)
    func wrongRequestIsRefused(_ wrong: Case) async throws {
        try await SimulatorHarness.run { harness async throws in
            var push = TestPush()
            wrong.change(&push)
            let answer = try await harness.send(push)
            #expect(answer.status == wrong.status)
            #expect(answer.reason == wrong.reason)
            #expect(answer.headers.first(name: "apns-id")?.count == 36)
            #expect(harness.simulator.statistics.byReason == [wrong.reason: 1])
            // The connection is none the worse for it.
            #expect(try await harness.send().status == 200)
        }
    }

    @Test("A good request is accepted", arguments: accepted)
    func goodRequestIsAccepted(_ good: Case) async throws {
        try await SimulatorHarness.run { harness async throws in
            var push = TestPush()
            good.change(&push)
            let answer = try await harness.send(push)
            #expect(answer.status == 200)
            #expect(answer.body == "")
        }
    }

    @Test("The apns-id is echoed, or made when there is none")
    func idIsEchoed() async throws {
        try await SimulatorHarness.run { harness async throws in
            let id = "ec1bf194-b3b2-424a-89a9-5a918a6e6b5d"
            let answer = try await harness.send(TestPush().setting("apns-id", id))
            #expect(answer.headers["apns-id"] == [id])
            #expect(answer.headers["apns-unique-id"].count == 1)
            #expect(answer.headers["date"] == ["Fri, 15 Jan 2027 08:00:00 GMT"])
            let refused = try await harness.send(TestPush().setting("apns-id", id).setting("apns-priority", "2"))
            #expect(refused.headers["apns-id"] == [id])
            let made = try await harness.send().headers["apns-id"].first
            let other = try await harness.send().headers["apns-id"].first
            #expect(made != other)
            #expect(made?.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        }
    }

    /// A push type that a provider token may send, as Apple's table has it.
    struct TypeRow: Sendable, CustomTestStringConvertible {
        let name: String
        let suffix: String
        var limit = 4096
        var refusesTen = false
        var aps = "{}"
        var testDescription: String { name }

        static let all = [
            TypeRow(name: "alert", suffix: ""),
            TypeRow(name: "background", suffix: "", refusesTen: true, aps: #"{"content-available":1}"#),
            TypeRow(name: "voip", suffix: ".voip", limit: 5120),
            TypeRow(name: "complication", suffix: ".complication"),
            TypeRow(name: "fileprovider", suffix: ".pushkit.fileprovider"),
            TypeRow(name: "liveactivity", suffix: ".push-type.liveactivity"),
            TypeRow(name: "location", suffix: ".location-query"),
            TypeRow(name: "pushtotalk", suffix: ".voip-ptt"),
            TypeRow(name: "widgets", suffix: ".push-type.widgets", aps: #"{"content-changed":true}"#),
            TypeRow(name: "controls", suffix: ".push-type.controls", aps: #"{"content-changed":true}"#),
        ]

        func push(bytes: Int = 100) -> TestPush {
            var push = TestPush().setting("apns-push-type", name).setting("apns-topic", "com.example.app" + suffix)
            let frame = #"{"aps":\#(aps),"k":""}"#
            push.body = frame.dropLast(2) + String(repeating: "x", count: bytes - frame.utf8.count) + #""}"#
            return push
        }
    }

    @Test("Each push type has its own topic, size and priorities", arguments: TypeRow.all)
    func pushTypeIsCheckedByItsRow(_ row: TypeRow) async throws {
        try await SimulatorHarness.run { harness async throws in
            #expect(try await harness.send(row.push(bytes: row.limit)).status == 200)
            #expect(try await harness.send(row.push(bytes: row.limit + 1)).reason == "PayloadTooLarge")
            let immediate = try await harness.send(row.push().setting("apns-priority", "10"))
            #expect(immediate.reason == (row.refusesTen ? "BadPriority" : nil))
            #expect(try await harness.send(row.push().setting("apns-priority", "5")).status == 200)
            for suffix in Set(TypeRow.all.map(\.suffix)).subtracting([row.suffix]) {
                let wrong = row.push().setting("apns-topic", "com.example.app" + suffix)
                #expect(try await harness.send(wrong).reason == "BadTopic")
            }
            let foreign = row.push().setting("apns-topic", "com.example.other" + row.suffix)
            #expect(try await harness.send(foreign).reason == "TopicDisallowed")
        }
    }
}
