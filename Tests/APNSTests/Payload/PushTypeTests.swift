import APNS
import FCMWire
import PushModel
import TestSupport
import Testing

/// A row of the table of push types in Apple's "Sending notification requests to APNs", written down a second time,
/// and a message of the type that is as small as it may be.
struct PushTypeRow: Sendable, CustomTestStringConvertible {
    let type: PushType
    let suffix: String
    var priorities: [PushPriority] = [.low, .conserving, .immediate]
    var standard = PushPriority.immediate
    var expiration: APNSExpiration?
    var limit = 4096
    /// The one that it needs; `nil`: either.
    var credential: CredentialKind?
    /// `apns.payload`, keys sorted; `@` stands where a text of any length fits.
    let payload: String

    var testDescription: String { type.rawValue }

    static let all = [
        PushTypeRow(type: .alert, suffix: "", payload: #"{"aps":{"alert":"x@"}}"#),
        PushTypeRow(
            type: .background, suffix: "", priorities: [.conserving], standard: .conserving,
            payload: #"{"aps":{"content-available":1},"k":"@"}"#),
        PushTypeRow(type: .voip, suffix: ".voip", limit: 5120, payload: #"{"caller":"@"}"#),
        PushTypeRow(type: .complication, suffix: ".complication", payload: #"{"score":"@"}"#),
        PushTypeRow(
            type: .fileprovider, suffix: ".pushkit.fileprovider", credential: .providerToken,
            payload: #"{"container-identifier":"x@","domain":"d"}"#),
        PushTypeRow(type: .mdm, suffix: "", credential: .certificate, payload: #"{"mdm":"x@"}"#),
        PushTypeRow(
            type: .liveactivity, suffix: ".push-type.liveactivity", priorities: [.conserving, .immediate],
            payload: #"{"aps":{"content-state":{"s":"@"},"event":"update","timestamp":1700000000}}"#),
        PushTypeRow(
            type: .location, suffix: ".location-query", priorities: [.conserving, .immediate],
            credential: .providerToken, payload: #"{"query":"@"}"#),
        PushTypeRow(type: .pushtotalk, suffix: ".voip-ptt", expiration: .once, payload: #"{"speaker":"@"}"#),
        PushTypeRow(
            type: .widgets, suffix: ".push-type.widgets", credential: .providerToken,
            payload: #"{"aps":{"content-changed":true},"k":"@"}"#),
        PushTypeRow(
            type: .controls, suffix: ".push-type.controls", credential: .providerToken,
            payload: #"{"aps":{"content-changed":true},"k":"@"}"#),
    ]

    /// The topic of the app `com.example.app`.
    var topic: String { type == .mdm ? "com.apple.mgmt.External.1" : "com.example.app" + suffix }

    func payload(filledWith count: Int) -> String {
        payload.replacing("@", with: String(repeating: "x", count: count))
    }

    /// A message of the type with more headers.
    func message(_ headers: [String: String] = [:], filledWith count: Int = 0) -> String {
        var headers = headers
        headers["apns-push-type"] = type.rawValue
        if type == .mdm, headers["apns-topic"] == nil { headers["apns-topic"] = topic }
        let text = headers.map { #""\#($0.key)":"\#($0.value)""# }.joined(separator: ",")
        return #"{"apns":{"headers":{\#(text)},"payload":\#(payload(filledWith: count))}}"#
    }

    func push(_ headers: [String: String] = [:], filledWith count: Int = 0) throws -> ApplePush {
        try makePush(message(headers, filledWith: count), credential: credential ?? .providerToken)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct PushTypeTests {
    @Test func everyPushTypeHasItsRow() {
        #expect(PushTypeRow.all.map(\.type) == PushType.allCases)
    }

    @Test(arguments: PushTypeRow.all)
    func aPushGoesOutAsItsTypeAsks(row: PushTypeRow) throws {
        let push = try row.push()
        #expect(push.pushType == row.type)
        #expect(push.topic == row.topic)
        #expect(push.priority == row.standard)
        #expect(push.expiration == row.expiration ?? .until(expiry))
        #expect(String(decoding: push.payload, as: UTF8.self) == row.payload(filledWith: 0))
    }

    @Test(arguments: PushTypeRow.all, PushPriority.allCases)
    func onlyThePrioritiesOfTheTypeAreTaken(row: PushTypeRow, priority: PushPriority) throws {
        let headers = ["apns-priority": String(priority.rawValue)]
        if row.priorities.contains(priority) {
            #expect(try row.push(headers).priority == priority)
        } else {
            let error = try #require(throws: InvalidMessage.self) { try row.push(headers) }
            #expect(error.violations.map(\.field) == ["message.apns.headers.apns-priority"])
        }
    }

    @Test(arguments: PushTypeRow.all)
    func theExpirationOfTheSenderIsKept(row: PushTypeRow) throws {
        #expect(
            try row.push(["apns-expiration": "1700000000"]).expiration == .until(Timestamp(seconds: 1_700_000_000)))
        #expect(try row.push(["apns-expiration": "0"]).expiration == .once)
    }

    @Test(arguments: PushTypeRow.all, CredentialKind.allCases)
    func aTypeThatTheCredentialCannotSendIsRefused(row: PushTypeRow, credential: CredentialKind) throws {
        #expect(row.type.requiresProviderToken == (row.credential == .providerToken))
        #expect(row.type.requiresCertificate == (row.credential == .certificate))
        if row.credential ?? credential == credential {
            #expect(try makePush(row.message(), credential: credential).pushType == row.type)
        } else {
            let error = try #require(throws: InvalidMessage.self) {
                try makePush(row.message(), credential: credential)
            }
            #expect(error.violations.map(\.field) == ["message.apns.headers.apns-push-type"])
            #expect(error.violations[0].description.contains("com.example.app"))
        }
    }

    @Test(arguments: PushTypeRow.all)
    func theLimitOfTheTypeHolds(row: PushTypeRow) throws {
        let room = row.limit - row.payload(filledWith: 0).utf8.count
        #expect(try row.push(filledWith: room).payload.count == row.limit)
        let error = try #require(throws: InvalidMessage.self) { try row.push(filledWith: room + 1) }
        #expect(error.violations.map(\.field) == ["message.apns.payload"])
        #expect(error.violations[0].description.contains("\(row.limit + 1) bytes, the limit is \(row.limit)"))
    }

    @Test(arguments: PushTypeRow.all)
    func theTopicOfTheSenderHasTheSuffixOfTheType(row: PushTypeRow) throws {
        #expect(try row.push(["apns-topic": row.topic]).topic == row.topic)
        let wrong = ["com.example.app.x", "org.example" + row.suffix]
        let others = PushTypeRow.all.map { "com.example.app" + $0.suffix }.filter { $0 != row.topic }
        for topic in wrong + others {
            let error = try #require(throws: InvalidMessage.self) { try row.push(["apns-topic": topic]) }
            #expect(error.violations.map(\.field) == ["message.apns.headers.apns-topic"])
        }
    }

    @Test func deviceManagementNeedsATopicOfItsOwn() throws {
        let message = #"{"apns":{"headers":{"apns-push-type":"mdm"},"payload":{"mdm":"magic"}}}"#
        let error = try #require(throws: InvalidMessage.self) { try makePush(message, credential: .certificate) }
        #expect(error.violations.map(\.field) == ["message.apns.headers.apns-topic"])
    }

    static let contradictions: [(String, [String])] = [
        // Background, widgets and controls show nothing and say what they are for.
        (
            #"{"notification":{"title":"t"},"apns":{"headers":{"apns-push-type":"background"}}}"#,
            ["headers.apns-push-type"]
        ),
        (
            #"{"apns":{"headers":{"apns-push-type":"background"},"payload":{"aps":{"thread-id":"t"}}}}"#,
            ["payload.aps.content-available"]
        ),
        (
            #"{"apns":{"headers":{"apns-push-type":"background"},"payload":{"aps":{"content-available":0}}}}"#,
            ["payload.aps.content-available"]
        ),
        (#"{"apns":{"headers":{"apns-push-type":"widgets"}}}"#, ["payload.aps.content-changed"]),
        (
            #"{"apns":{"headers":{"apns-push-type":"controls"},"payload":{"aps":{"content-changed":false}}}}"#,
            ["payload.aps.content-changed"]
        ),
        (
            #"{"notification":{"body":"b"},"apns":{"headers":{"apns-push-type":"widgets"},"#
                + #""payload":{"aps":{"content-changed":true}}}}"#,
            ["headers.apns-push-type"]
        ),
        (
            #"{"apns":{"headers":{"apns-topic":"com.example.app.push-type.controls"},"#
                + #""payload":{"aps":{"content-changed":true,"badge":1}}}}"#,
            ["headers.apns-topic"]
        ),
        // File Provider.
        (#"{"apns":{"headers":{"apns-push-type":"fileprovider"}}}"#, ["payload.container-identifier"]),
        (
            #"{"apns":{"headers":{"apns-push-type":"fileprovider"},"payload":{"container-identifier":1,"domain":[]}}}"#,
            ["payload.container-identifier", "payload.domain"]
        ),
        (
            #"{"apns":{"headers":{"apns-push-type":"fileprovider"},"payload":{"aps":{"container-identifier":"x"}}}}"#,
            ["payload.container-identifier"]
        ),
        // Device management.
        (#"{"apns":{"headers":{"apns-push-type":"mdm"}}}"#, ["payload.mdm"]),
        (#"{"apns":{"headers":{"apns-push-type":"mdm"},"payload":{"mdm":""}}}"#, ["payload.mdm"]),
        (
            #"{"apns":{"headers":{"apns-push-type":"mdm"},"payload":{"mdm":"m","aps":{},"k":1}}}"#,
            ["payload.aps", "payload.k"]
        ),
        // A token of a Live Activity.
        (
            #"{"apns":{"live_activity_token":"\#(activityToken)","headers":{"apns-push-type":"alert"}}}"#,
            ["headers.apns-push-type"]
        ),
        (
            #"{"apns":{"live_activity_token":"\#(activityToken)","headers":{"apns-topic":"com.example.app.voip"}}}"#,
            ["headers.apns-topic"]
        ),
        // What only a Live Activity may say.
        (#"{"apns":{"payload":{"aps":{"alert":{"title":{"loc-key":"k"}}}}}}"#, ["payload.aps.alert.title"]),
        (
            #"{"apns":{"payload":{"aps":{"alert":{"title":"t","body":{"loc-key":"k"},"sound":"s"}}}}}"#,
            ["payload.aps.alert.body", "payload.aps.alert.sound"]
        ),
        (#"{"apns":{"payload":{"aps":{"alert":"a","relevance-score":2}}}}"#, ["payload.aps.relevance-score"]),
    ]

    @Test(arguments: contradictions)
    func headersAndPayloadMustFitTheType(message: String, fields: [String]) throws {
        let found = try #require(try refusal(of: message))
        #expect(found.violations.map(\.field) == fields.map { "message.apns." + $0 })
        #expect(!found.isFrontEnd)
    }

    @Test func deviceManagementTakesNothingElse() throws {
        let message =
            #"{"notification":{"title":"t"},"data":{"mdm":"m","k":"v"},"apns":{"headers":{"apns-push-type":"mdm"}}}"#
        #expect(
            try refusal(of: message)?.violations.map(\.field) == ["message.notification", "message.data[1].key"])
        let data = #"{"data":{"mdm":"m"},"apns":{"headers":{"apns-push-type":"mdm"}}}"#
        #expect(try refusal(of: data) == nil)
    }

    @Test(arguments: [
        // An older version took these; they go out as they are.
        #"{"apns":{"headers":{"apns-push-type":"background","apns-priority":"1"}}}"#,
        #"{"apns":{"headers":{"apns-push-type":"widgets"},"payload":{"k":1}}}"#,
        #"{"apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":{"event":"update"}}}}"#,
    ])
    func anAcceptedMessageIsStillSent(message: String) throws {
        #expect(try refusal(of: message) != nil)
        let app = App(id: AppID(rawValue: "com.example.app")!, environment: .production, firebaseKeys: .none)
        let context = PushContext(
            message: MessageID(rawValue: "0:1700000000000000-00000000000000ab")!, projectNumber: 1,
            broadcastTopic: nil, app: app, expiresAt: expiry)
        #expect(throws: Never.self) { try ApplePush(FCMMessage(stored: json(message)), in: context) }
    }
}
