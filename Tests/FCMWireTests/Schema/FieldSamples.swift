import FCMWire
import JSON
import PushModel
import TestSupport

/// Values for a field of the discovery document, and messages that hold them.
struct FieldSamples {
    let field: DiscoveryDocument.Field

    /// JSON texts that the field takes, in all spellings of its type.
    var right: [String] {
        if let own = Self.own[field.text.droppingMessage] ?? Self.ownByName[field.path.last ?? ""],
            field.kind == .string || field.kind == .stringMap
        {
            return own
        }
        if field.path.last == "light_settings" { return [Self.light] }
        return Self.right(field.kind)
    }

    /// JSON texts that the field does not take, and where below it the wrong value stands.
    var wrong: [(text: String, place: String)] { Self.wrong(field.kind) }

    /// A message that says `text` in this field, and beside it what FCM wants to see there.
    func message(_ text: String, isCamelCase: Bool) throws -> JSONValue {
        try object((isCamelCase ? field.camelPath : field.path)[...], text)
    }

    /// A message that has the field in both spellings; `nil` when it has but one.
    func messageWithBoth(_ text: String) throws -> JSONValue? {
        guard let (snake, camel) = field.path.last.map({ ($0, field.camelPath.last ?? "") }), snake != camel
        else { return nil }
        let value = try json(text)
        var object = JSONValue.object([.init(snake, value), .init(camel, value)])
        for name in field.path.dropLast().reversed() { object = .object([.init(name, object)]) }
        return object
    }

    private func object(_ path: ArraySlice<String>, _ text: String, inside parent: String = "") throws -> JSONValue {
        guard let name = path.first else { return try json(text) }
        var members = [JSONValue.Member(name, try object(path.dropFirst(), text, inside: name))]
        if ["light_settings", "lightSettings"].contains(parent), case .object(let others) = try json(Self.light) {
            members += others.filter { ![$0.name, $0.name.camelCase].contains(name) }
        }
        if let (other, value) = Self.beside[name] { members.append(.init(other, try json(value))) }
        return .object(members)
    }

    private static let light = #"{"color":{},"light_on_duration":"1s","light_off_duration":"0.5s"}"#

    /// What has to stand beside a field.
    private static let beside = [
        "body_loc_args": ("body_loc_key", #""k""#), "bodyLocArgs": ("bodyLocKey", #""k""#),
        "title_loc_args": ("title_loc_key", #""k""#), "titleLocArgs": ("titleLocKey", #""k""#),
        "live_activity_token": activity, "liveActivityToken": activity,
    ]
    private static let activity = ("payload", #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#)

    /// Values of fields for which FCM has a rule of its own.
    private static let own = [
        "apns.headers": [#"{"apns-collapse-id":"k"}"#], "webpush.headers": [#"{"TTL":"15"}"#],
        "topic": [#""x""#], "fid": [#""cabcdefghijklmnopqrstu""#],
        "condition": [#""'a' in topics && !('b' in topics)""#],
        "android_v2.remote_notification.notification.image": [#""https://example.com/x.png""#, #""""#],
        "notification.image": [#""https://example.com/x.png""#, #""""#],
        "apns.fcm_options.image": [#""HTTPS://example.com/x.png""#, #""""#],
    ]
    private static let ownByName = [
        "color": [##""#a1B2c3""##, #""""#], "restricted_package_name": [#""com.example.app_2""#, #""""#],
        "link": [#""https://example.com/x""#, #""""#], "live_activity_token": ["\"\(activityToken)\""],
    ]

    private static func right(_ kind: DiscoveryDocument.Kind) -> [String] {
        switch kind {
        case .string: [#""x""#, #""""#]
        case .bool: ["true", "false"]
        case .int32: ["7", #""7""#, "7.0", "5e2", "-2147483648", #""2147483647""#]
        case .float: ["0.5", #""0.5""#, "1", "0", "1e-3"]
        case .duration: [#""3.5s""#, #""0s""#, #""3.500000000s""#, #""2419200.999999999s""#]
        case .timestamp: [#""2026-01-02T03:04:05Z""#, #""0001-01-01T00:00:00.123456789-01:00""#]
        case .enumeration(let names):
            (names + names.map { $0.lowercased() }).map { "\"\($0)\"" } + names.indices.map { "\($0)" }
                + names.indices.map { "\"\($0)\"" }
        case .list(let element): ["[]"] + right(element).map { "[\($0)]" }
        case .stringMap: [#"{"k":"v"}"#, "{}"]
        case .message: ["{}"]
        case .structure: [#"{"a":[1,{"b":null}],"c":1.5}"#, "{}"]
        }
    }

    private static func wrong(_ kind: DiscoveryDocument.Kind) -> [(text: String, place: String)] {
        switch kind {
        case .string: ["12", "true", "[]", "{}"].map { ($0, "") }
        case .bool: [#""true""#, "1", "[]", "{}"].map { ($0, "") }
        case .int32:
            [#""x""#, "1.5", "2147483648", #"" 7""#, #""+7""#, #""0x7""#, #""""#, "1e400", "true", "[]", "{}"]
                .map { ($0, "") }
        case .float: [#""x""#, #""0x1""#, #""inf""#, "1e39", "true", "[]", "{}"].map { ($0, "") }
        case .duration:
            [
                "3", #""3""#, #""3.5""#, #""s""#, #""-s""#, #"".5s""#, #""3.s""#, #""+3s""#, #""1.0000000001s""#,
                #""315576000001s""#, #""315576000000.1s""#, #""99999999999999999999s""#, #"" 3s""#, #""""#, "true",
                "[]", "{}",
            ].map { ($0, "") }
        case .timestamp:
            [
                "5", #""yesterday""#, #""2026-01-02""#, #""2026-02-30T00:00:00Z""#, #""0000-12-31T00:00:00Z""#,
                #""9999-12-31T23:59:59-01:00""#, #""""#, "true", "[]", "{}",
            ].map { ($0, "") }
        case .enumeration(let names):
            [
                #""NOPE""#, #""nope""#, "\" \(names[1])\"", "\"\(names[1])S\"", "\(names.count)",
                "\"\(names.count)\"", "-1", "0.5", #""""#, "true", "[]", "{}",
            ].map { ($0, "") }
        case .list(let element):
            [#""x""#, "1", "true", "{}"].map { ($0, "") } + [("[null]", "[0]")]
                + wrong(element).filter { $0.text != "[]" }.map { ("[\($0.text)]", "[0]\($0.place)") }
        case .stringMap:
            [#""x""#, "1", "true", "[]"].map { ($0, "") } + [
                (#"{"a":"b","k":1}"#, "[1].value"), (#"{"k":[]}"#, "[0].value"), (#"{"k":{}}"#, "[0].value"),
                (#"{"k":null}"#, "[0].value"),
            ]
        case .message: [#""x""#, "1", "true", "[]", #"{"no_such_name":1}"#].map { ($0, "") }
        case .structure: [#""x""#, "1", "true", "[]"].map { ($0, "") } + [(#"{"a":[1e400]}"#, ".a[0]")]
        }
    }
}

extension String {
    /// The path below the message.
    fileprivate var droppingMessage: String { String(dropFirst("message.".count)) }

    /// `lightOnDuration` for `light_on_duration`.
    fileprivate var camelCase: String {
        let words = split(separator: "_")
        return String(words[0]) + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
