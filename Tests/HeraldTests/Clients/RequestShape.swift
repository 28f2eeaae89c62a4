import Testing

/// A request as an SDK puts it on the wire that is not run here, and what that SDK needs to see in return. Taken from the
/// sources of firebase-admin 14.3.0 for Node, 4.21.0 for Go and 9.10.0 for Java.
struct RequestShape: Sendable {
    /// What the SDK reads of the answer.
    enum Expectation: Sendable {
        /// 200 with a `name`.
        case name
        /// An error with this HTTP status, canonical status and `errorCode`, the FcmError detail first.
        case error(Int, status: String, code: String)
        /// Results of the Instance ID API, in order: an error or, for `nil`, exactly `{}`.
        case results([String?])
        /// Results of the protocol before v1, in order: an error or, for `nil`, a `message_id`.
        case multicast([String?])
        /// A `message_id` that is a number, of the protocol before v1.
        case number
    }

    /// The method of the SDK.
    let call: String
    /// As curl names it.
    var httpVersion = "2"
    let path: String
    let headers: [String: String]
    /// `TOKEN` and `DEAD` stand for registration tokens, of which the second has ended.
    let body: String
    let expectation: Expectation
    /// What a device gets to see by it.
    var title: String?

    static let send = "/v1/projects/demo/messages:send"
}

/// An SDK with the requests that it makes.
struct ReplayedSDK: Sendable, CustomTestStringConvertible {
    let name: String
    let shapes: [RequestShape]

    var testDescription: String { name }
    static let all = [node, go, java, oldNode]
}

extension ReplayedSDK {
    private static let unregistered = RequestShape.Expectation.error(404, status: "NOT_FOUND", code: "UNREGISTERED")
    private static let invalid = RequestShape.Expectation.error(
        400, status: "INVALID_ARGUMENT", code: "INVALID_ARGUMENT")

    /// `send` over HTTP/1.1, `sendEach` over HTTP/2 alone; camelCase in the API, mostly snake_case on the wire.
    static let node = {
        let headers = [
            "X-Firebase-Client": "fire-admin-node/14.3.0", "access_token_auth": "true",
            "X-Goog-Api-Client": "gl-node/22.11.0 fire-admin/14.3.0",
            "Content-Type": "application/json;charset=utf-8",
        ]
        return ReplayedSDK(
            name: "Node",
            shapes: [
                RequestShape(
                    call: "send", httpVersion: "1.1", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"token":"TOKEN","notification":{"title":"node send","body":"2:1"},"#
                        + #""data":{"score":"2:1"},"android":{"collapse_key":"match","priority":"high","#
                        + #""ttl":"3.500000000s","notification":{"click_action":"OPEN","#
                        + #""event_time":"2026-06-11T18:30:00.250Z","vibrate_timings":["0.100000000s","0.250000000s"],"#
                        + #""light_settings":{"color":{"red":1,"green":0.5,"blue":0,"alpha":1},"#
                        + #""light_on_duration":"0.200000000s","light_off_duration":"0.300000000s"},"#
                        + #""notification_priority":"PRIORITY_MAX","visibility":"PUBLIC"}},"#
                        + #""apns":{"payload":{"aps":{"thread-id":"match","content-available":1,"#
                        + #""alert":{"title":"node send","subtitle-loc-key":"overtime"}}}},"#
                        + #""webpush":{"fcm_options":{"link":"https://example.com/match"}},"#
                        + #""fcm_options":{"analytics_label":"goals"}}}"#,
                    expectation: .name, title: "node send"),
                RequestShape(
                    call: "sendEach", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"token":"TOKEN","notification":{"title":"node sendEach"}}}"#,
                    expectation: .name, title: "node sendEach"),
                RequestShape(
                    call: "sendEach, dryRun", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"token":"TOKEN","notification":{"title":"dry"}},"validate_only":true}"#,
                    expectation: .name),
                RequestShape(
                    call: "sendEach to a dead token", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"token":"DEAD","notification":{"title":"dead"}}}"#, expectation: unregistered),
                RequestShape(
                    call: "send with a reserved key", httpVersion: "1.1", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"token":"TOKEN","data":{"from":"me"}}}"#, expectation: invalid),
                RequestShape(
                    call: "subscribeToTopic", httpVersion: "1.1", path: "/iid/v1:batchAdd", headers: headers,
                    body: #"{"to":"/topics/node","registration_tokens":["TOKEN","DEAD"]}"#,
                    expectation: .results([nil, "NOT_FOUND"])),
                RequestShape(
                    call: "unsubscribeFromTopic", httpVersion: "1.1", path: "/iid/v1:batchRemove", headers: headers,
                    body: #"{"to":"/topics/node","registration_tokens":["TOKEN"]}"#, expectation: .results([nil])),
            ])
    }()

    /// Workers that share a connection of net/http.
    static let go = {
        let headers = [
            "X-GOOG-API-FORMAT-VERSION": "2", "X-Firebase-Client": "fire-admin-go/4.21.0",
            "x-goog-api-client": "gl-go/1.23.4 fire-admin/4.21.0", "User-Agent": "Go-http-client/2.0",
            "Accept-Encoding": "gzip", "Content-Type": "application/json",
        ]
        let topics = ["access_token_auth": "true", "Accept-Encoding": "gzip", "Content-Type": "application/json"]
        return ReplayedSDK(
            name: "Go",
            shapes: [
                RequestShape(
                    call: "SendEach", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"data":{"score":"2:1"},"notification":{"title":"go SendEach","body":"2:1"},"#
                        + ##""android":{"priority":"normal","ttl":"10s","notification":{"color":"#112233"}},"##
                        + #""webpush":{"headers":{"TTL":"60"},"notification":{"title":"t","dir":"ltr"}},"#
                        + #""apns":{"headers":{"apns-collapse-id":"match"},"payload":{"aps":{"alert":"#
                        + #"{"title":"go SendEach"},"badge":0,"sound":"goal.caf"},"custom":{"a":[1,2]}}},"#
                        + #""fcm_options":{"analytics_label":"goals"},"token":"TOKEN"}}"#,
                    expectation: .name, title: "go SendEach"),
                RequestShape(
                    call: "SendDryRun", path: RequestShape.send, headers: headers,
                    body: #"{"validate_only":true,"message":{"notification":{"title":"dry"},"token":"TOKEN"}}"#,
                    expectation: .name),
                RequestShape(
                    call: "Send to a dead token", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"data":{"a":"b"},"token":"DEAD"}}"#, expectation: unregistered),
                RequestShape(
                    call: "SubscribeToTopic", path: "/iid/v1:batchAdd", headers: topics,
                    body: #"{"to":"/topics/go","registration_tokens":["DEAD","TOKEN"]}"#,
                    expectation: .results(["NOT_FOUND", nil])),
                RequestShape(
                    call: "UnsubscribeFromTopic", path: "/iid/v1:batchRemove", headers: topics,
                    body: #"{"to":"/topics/go","registration_tokens":["TOKEN"]}"#, expectation: .results([nil])),
            ])
    }()

    /// A shared asynchronous client that takes what TLS negotiates.
    static let java = {
        let headers = [
            "X-GOOG-API-FORMAT-VERSION": "2", "X-Firebase-Client": "fire-admin-java/9.10.0",
            "User-Agent": "Google-HTTP-Java-Client/1.45.0 (gzip)", "Accept-Encoding": "gzip",
            "Content-Type": "application/json; charset=UTF-8",
        ]
        var topics = headers
        topics["access_token_auth"] = "true"
        return ReplayedSDK(
            name: "Java",
            shapes: [
                RequestShape(
                    call: "sendEach", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"android":{"priority":"high","ttl":"86400s","restricted_package_name":"#
                        + #""com.example.app","data":{"a":"b"},"notification":{"title":"t","body_loc_key":"k","#
                        + #""body_loc_args":["1"],"image":"https://example.com/i.png"}},"#
                        + #""apns":{"payload":{"aps":{"alert":"java sendEach","mutable-content":1}},"#
                        + #""fcm_options":{"analytics_label":"goals"}},"notification":{"title":"java sendEach"},"#
                        + #""token":"TOKEN"}}"#,
                    expectation: .name, title: "java sendEach"),
                RequestShape(
                    call: "send, dryRun", httpVersion: "1.1", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"notification":{"title":"dry"},"token":"TOKEN"},"validate_only":true}"#,
                    expectation: .name),
                RequestShape(
                    call: "send to a dead token", path: RequestShape.send, headers: headers,
                    body: #"{"message":{"notification":{"title":"dead"},"token":"DEAD"}}"#, expectation: unregistered),
                RequestShape(
                    call: "subscribeToTopic", path: "/iid/v1:batchAdd", headers: topics,
                    body: #"{"registration_tokens":["TOKEN"],"to":"/topics/java"}"#, expectation: .results([nil])),
            ])
    }()

    /// Node 11, the last generation that spoke the protocol before v1, with an OAuth bearer.
    static let oldNode = {
        let headers = [
            "X-Firebase-Client": "fire-admin-node/11.0.0", "access_token_auth": "true",
            "Content-Type": "application/json;charset=utf-8",
        ]
        return ReplayedSDK(
            name: "Node 11",
            shapes: [
                RequestShape(
                    call: "sendToDevice", httpVersion: "1.1", path: "/fcm/send", headers: headers,
                    body: #"{"registration_ids":["DEAD","TOKEN"],"notification":{"title":"node 11","badge":"1","#
                        + #""body_loc_key":"k","body_loc_args":"[\"1\"]"},"data":{"a":"b"},"priority":"high","#
                        + #""time_to_live":60,"collapse_key":"match","mutable_content":true,"dry_run":false}"#,
                    expectation: .multicast(["NotRegistered", nil]), title: "node 11"),
                RequestShape(
                    call: "sendToDevice of one", httpVersion: "1.1", path: "/fcm/send", headers: headers,
                    body: #"{"to":"DEAD","notification":{"title":"dead"}}"#, expectation: .multicast(["NotRegistered"])),
                RequestShape(
                    call: "sendToTopic", httpVersion: "1.1", path: "/fcm/send", headers: headers,
                    body: #"{"to":"/topics/empty","data":{"a":"b"}}"#, expectation: .number),
                RequestShape(
                    call: "sendToCondition", httpVersion: "1.1", path: "/fcm/send", headers: headers,
                    body: #"{"condition":"'a' in topics && 'b' in topics","data":{"a":"b"}}"#, expectation: .number),
            ])
    }()
}
