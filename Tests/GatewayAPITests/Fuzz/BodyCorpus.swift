import HTTPTypes
import TestSupport

@testable import GatewayAPI

/// What is there in a gateway that bodies are sent to.
struct FuzzScene: Sendable {
    /// A registration of the user no-one, and its installation.
    var install: TestGateway.Install
    var token: String
    /// The same once more, for what deletes: the first is to last.
    var spare: TestGateway.Install
    var spareToken: String
    /// A message to the registration.
    var message: String
    /// The key of a device group.
    var group: String
    /// An assertion of a service account.
    var assertion: String
    /// A P-256 public key.
    var webKey: String
    var links: Links

    /// What there is of links.
    struct Links: Sendable {
        /// A short link, and one for what deletes.
        var link: String
        var spare: String
        /// A referral that waits for its conversion.
        var referral: String
        /// An invitation, one install of which waits for its conversion.
        var invitation: String
        /// A click on an Android app's link.
        var click: String
    }
}

/// Good bodies, from which the fuzzing makes bad ones.
struct BodyCorpus: Sendable {
    /// A body.
    struct Entry: Sendable {
        /// What paths of the routes that it is for end in; the others get it now and then.
        let routes: [String]
        let contentType: String
        let text: String
    }

    let entries: [Entry]
    /// What stands for `{name}` in paths.
    let names: [String: [String]]
    /// The same in paths of what deletes.
    let spareNames: [String: [String]]
    private let scene: FuzzScene

    /// Bodies that name what is there.
    init(_ scene: FuzzScene) {
        self.scene = scene
        let (id, token) = (scene.install.id, scene.token)
        names = [
            "project": ["demo"], "registration": [id, token], "fid": [id], "token": [token], "installation": [id],
            "topic": ["news", "a%25b"],
            "message": [scene.message.replacing("%", with: "%25"), "0:1767323045678000%25aabbccdd11223344"],
            "link": [Self.segment(scene.links.link)], "referral": [scene.links.referral], "user": ["alice"],
        ]
        spareNames = names.merging([
            "registration": [scene.spare.id, scene.spareToken], "installation": [scene.spare.id],
            "link": [Self.segment(scene.links.spare)], "user": ["carol"],
        ]) { $1 }
        entries =
            (Self.json + Self.links).map { routes, text in
                let text = text.replacing("@token@", with: token).replacing("@fid@", with: id)
                    .replacing("@message@", with: scene.message).replacing("@group@", with: scene.group)
                    .replacing("@key@", with: scene.webKey).replacing("@link@", with: scene.links.link)
                    .replacing("@referral@", with: scene.links.referral).replacing("@click@", with: scene.links.click)
                    .replacing("@invitation@", with: scene.links.invitation)
                return Entry(routes: routes, contentType: "application/json", text: text)
            } + [
                Entry(
                    routes: ["/token"], contentType: "application/x-www-form-urlencoded",
                    text:
                        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(scene.assertion)"),
                Entry(
                    routes: ["/batch", "/v1"], contentType: "multipart/mixed; boundary=END_OF_PART",
                    text: Self.multipart(token)),
            ]
    }

    /// A URL as one segment of a path.
    private static func segment(_ url: String) -> String {
        url.replacing(":", with: "%3A").replacing("/", with: "%2F")
    }

    /// The entries for a route's path; all when none is made for it.
    func entries(for path: String) -> [Entry] {
        let own = entries.filter { entry in entry.routes.contains { path.hasSuffix($0) } }
        return own.isEmpty ? entries : own
    }

    /// What a request presents: an administrator's key, or what proves that it is an installation.
    func credentials(for path: String, method: HTTPRequest.Method, key: String) -> HTTPFields {
        let install = method == .delete ? scene.spare : scene.install
        if path.contains("{installation}") {
            return [.googleAPIKey: key, .authorization: "FIS_v2 " + install.refreshToken]
        }
        var fields: HTTPFields = [.authorization: "Bearer " + key]
        if path.hasSuffix("/registrations/{registration}") || path.hasSuffix("/receipts") {
            fields[.installationAuth] = install.authToken
        }
        if path == "/fcm/notification", let name = HTTPField.Name("project_id") { fields[name] = "123456789012" }
        return fields
    }

    private static func multipart(_ token: String) -> String {
        let parts = [
            ("/v1/projects/demo/messages:send", #"{"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#),
            ("/v1/projects/demo/registrations/\(token)/topicSubscriptions/news:subscribe", "{}"),
            ("/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":["\#(token)"]}"#),
        ]
        return parts.enumerated().map { number, part in
            "--END_OF_PART\r\nContent-Type: application/http\r\nContent-Id: \(number + 1)\r\n"
                + "Content-Transfer-Encoding: binary\r\n\r\nPOST \(part.0) HTTP/1.1\r\nHost: fcm.googleapis.com\r\n"
                + "Content-Type: application/json\r\n\r\n\(part.1)\r\n"
        }.joined() + "--END_OF_PART--\r\n"
    }

    private static let send = ["messages:send"]
    private static let batch = ["messages:batchSend"]
    private static let registrations = ["/registrations", "/registrations/{registration}"]

    private static let json: [(routes: [String], text: String)] = [
        (
            send,
            #"{"message":{"token":"@token@","notification":{"title":"Hi","body":"you","image":"https://e.com/i.png"},"#
                + #""data":{"k":"v","n":"1"},"fcm_options":{"analytics_label":"spring"},"apns":{"headers":"#
                + #"{"apns-priority":"10","apns-expiration":"1767325045","apns-collapse-id":"c"},"payload":{"aps":"#
                + #"{"alert":{"title":"t","loc-key":"k","loc-args":["a"]},"badge":1,"sound":{"critical":1,"volume":0.5},"#
                + #""content-available":1,"thread-id":"t","relevance-score":0.5},"custom":{"a":[1,2]}},"fcm_options":"#
                + #"{"analytics_label":"apple","image":"https://e.com/j.png"}}},"validate_only":false}"#
        ),
        (
            send,
            #"{"message":{"topic":"news","android":{"collapse_key":"c","priority":"high","ttl":"3.5s","#
                + #""restricted_package_name":"com.example.app","data":{"a":"b"},"direct_boot_ok":true,"notification":"#
                + ##"{"title":"t","color":"#a1b2c3","body_loc_key":"k","body_loc_args":["a"],"sticky":true,"##
                + #""event_time":"2026-01-02T03:04:05.678Z","notification_priority":"PRIORITY_HIGH","visibility":2,"#
                + #""vibrate_timings":["1s","0.5s"],"notification_count":"5","light_settings":{"color":{"red":0.5,"#
                + #""green":1,"blue":0,"alpha":1},"light_on_duration":"1s","light_off_duration":"2s"},"#
                + #""proxy":"DENY"},"fcm_options":{"analytics_label":"droid"}},"webpush":{"headers":{"TTL":"15","#
                + #""Urgency":"high"},"data":{"w":"x"},"notification":{"title":"t","actions":[{"action":"a"}]},"#
                + #""fcm_options":{"link":"https://e.com"}}},"validateOnly":true}"#
        ),
        (
            send,
            #"{"message":{"condition":"'a' in topics && ('b' in topics || !('c' in topics))","androidV2":{"ttl":"60s","#
                + #""remoteNotification":{"mutableContent":true,"notification":{"id":7,"image":"https://e.com/i"}}},"#
                + #""data":{"k":"v"}},"delivery":{"rate":100,"collapseRepeats":false}}"#
        ),
        (
            send,
            #"{"message":{"fid":"@fid@","apns":{"live_activity_token":"\#(activityToken)","payload":{"aps":"#
                + #"{"timestamp":1767323045,"event":"update","content-state":{"a":1},"stale-date":1767325045}}}}}"#
        ),
        (send, #"{"message":{"notification":{"title":"Hi"}},"target":{"user":"alice"}}"#),
        (
            batch,
            #"{"messages":[{"message":{"token":"@token@","notification":{"title":"Hi"}}},{"message":{"topic":"news","#
                + #""data":{"k":"v"}},"delivery":{"finishBy":"2026-01-02T04:00:00Z"}},{"message":{"fid":"@fid@"}}]}"#
        ),
        (
            batch,
            #"{"message":{"notification":{"title":"Hi"}},"tokens":["@token@","@fid@","12345678:12345678"],"#
                + #""validate_only":true}"#
        ),
        (
            registrations,
            #"{"ios":{"apns_token":"\#("00aa11bb".deviceToken)","app_version":"1.2","apns_environment":"SANDBOX","#
                + #""bundle_id":"com.example.app"},"fcm_sdk_version":"fcm-12.0.0","userToken":null}"#
        ),
        (
            registrations,
            #"{"web":{"origin":"https://www.example.com","endpoint":"https://push.example.com/x","p256dh":"@key@","#
                + #""auth":"AAECAwQFBgcICQoLDA0ODw","applicationPubKey":"@key@"},"fcm_sdk_version":"w:12","user":"bob"}"#
        ),
        (["/topicSubscriptions", "/topicSubscriptions/{topic}"], #"{}"#),
        (
            ["/topicSubscriptions", "/topicSubscriptions/{topic}"],
            #"{"name":"projects/demo/registrations/@fid@/topicSubscriptions/news","topicName":"news"}"#
        ),
        (
            ["v1:batchAdd", "v1:batchRemove"],
            #"{"to":"/topics/news","registration_tokens":["@token@","@fid@","x"]}"#
        ),
        (
            ["v1:batchImport"],
            #"{"application":"com.example.app","sandbox":false,"apns_tokens":["\#("00aa11".deviceToken)","00bb22","zz"]}"#
        ),
        (
            ["/fcm/send"],
            #"{"registration_ids":["@token@","x"],"notification":{"title":"Hi","badge":"1","body_loc_key":"k","body_loc_args":"[\"a\"]"},"#
                + #""data":{"n":1},"priority":"high","time_to_live":60,"collapse_key":"c","dry_run":true}"#
        ),
        (["/fcm/send"], #"{"to":"/topics/news","content_available":true,"data":{"k":"v"}}"#),
        (["/fcm/send"], #"{"to":"@group@","notification":{"body":"b","click_action":"c"},"mutable_content":true}"#),
        (["/fcm/send"], #"{"condition":"'a' in topics || 'B' IN TOPICS","data":{"k":"v"},"time_to_live":"5"}"#),
        (
            ["/fcm/send"],
            #"{"to":"@token@","notification":{"title_loc_key":"k","title_loc_args":["a","1"],"sound":"s","tag":"t"},"#
                + #""restricted_package_name":"com.example.app","delay_while_idle":true,"data":{"a":true,"b":1.5}}"#
        ),
        (
            ["/fcm/notification"],
            #"{"operation":"create","notification_key_name":"user-2","registration_ids":["@token@"]}"#
        ),
        (
            ["/fcm/notification"],
            #"{"operation":"add","notification_key_name":"user-1","notification_key":"@group@","#
                + #""registration_ids":["@token@","x"]}"#
        ),
        (
            ["/fcm/notification"],
            #"{"operation":"remove","notification_key":"@group@","registration_ids":["x:y"]}"#
        ),
        (
            ["/installations"],
            #"{"fid":"@fid@","authVersion":"FIS_v2","appId":"com.example.app","sdkVersion":"i:12.0"}"#
        ),
        (
            ["/authTokens:generate"],
            #"{"installation":{"sdkVersion":"i:12.0","appId":"1:123456789012:ios:abc"}}"#
        ),
        (
            ["/receipts"],
            #"{"receipts":[{"message":"@message@","kind":"received","time":"2026-01-02T03:04:05Z"},{"message":"#
                + #""projects/demo/messages/@message@","kind":"OPENED"}],"registration":"@token@"}"#
        ),
        (["/receipts"], #"{"message":"@message@","kind":"IMPRESSION"}"#),
        (
            ["/receipts"],
            #"{"log_source":1249,"log_event":[{"event_time_ms":"1767323045700","source_extension_json_proto3":"#
                + #""{\"messaging_client_event\":{\"project_number\":\"123456789012\",\"message_id\":\"@message@\","#
                + #"\"event\":\"MESSAGE_DELIVERED\",\"instance_id\":\"@fid@\"}}","compliance_data":{}}]}"#
        ),
    ]
}
