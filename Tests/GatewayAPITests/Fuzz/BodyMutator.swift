import JSON
import PushModel
import TestSupport

/// Makes bad bodies of good ones. The same seed, the same body.
struct BodyMutator {
    private var random: SeededRandom

    init(_ random: SeededRandom) {
        self.random = random
    }

    /// Whether something happens that does so one time in `count`.
    mutating func happens(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    /// One of some things.
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &random)]
    }

    /// A body like `text`: its values changed if it is JSON, its bytes now and then.
    mutating func body(like text: String, others: [String]) -> [UInt8] {
        var bytes = Array(text.utf8)
        if let value = try? JSONValue(parsing: bytes) {
            var value = value
            for _ in 0..<Int.random(in: 0...3, using: &random) { value = changed(value) }
            bytes = value.bytes
        }
        guard happens(oneIn: 4) else { return bytes }
        for _ in 0..<Int.random(in: 1...4, using: &random) { change(&bytes, others) }
        return bytes
    }

    // MARK: - Values

    /// The value with one change somewhere in it.
    private mutating func changed(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members): .object(changed(members))
        case .array(let elements): .array(changed(elements))
        case .null, .bool, .number, .string: odd()
        }
    }

    private mutating func changed(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        var members = members
        guard let place = members.indices.randomElement(using: &random) else { return [.init(oddName(), odd())] }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: members.remove(at: place)
        case 1: members.append(.init(oddName(), odd()))
        case 2: members[place].name = oddName()
        case 3: members.append(members[place])
        case 4: members.append(.init(members[place].name.otherSpelling, members[place].value))
        case 5: members[place].value = odd()
        default: members[place].value = changed(members[place].value)
        }
        return members
    }

    private mutating func changed(_ elements: [JSONValue]) -> [JSONValue] {
        var elements = elements
        guard let place = elements.indices.randomElement(using: &random) else { return [odd()] }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: elements.remove(at: place)
        case 1: elements.append(odd())
        case 2: elements += Array(repeating: elements[place], count: Int.random(in: 1...40, using: &random))
        case 3: elements[place] = odd()
        default: elements[place] = changed(elements[place])
        }
        return elements
    }

    private mutating func odd() -> JSONValue {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: .number(pick(Self.numbers))
        case 1: .bool(happens(oneIn: 2))
        case 2: .null
        case 3: .array(happens(oneIn: 2) ? [] : [.string(pick(Self.texts)), .number("1")])
        case 4: .object(happens(oneIn: 2) ? [] : [.init(oddName(), .string(pick(Self.texts)))])
        case 5: nested(Int.random(in: 1...80, using: &random))
        default: .string(pick(Self.texts))
        }
    }

    private mutating func nested(_ depth: Int) -> JSONValue {
        let isList = happens(oneIn: 2)
        return (0..<depth).reduce(.string("x")) { inner, _ in isList ? .array([inner]) : .object([.init("a", inner)]) }
    }

    private mutating func oddName() -> String {
        happens(oneIn: 3) ? pick(Self.texts) : pick(Self.names)
    }

    private static let names = [
        "message", "token", "fid", "topic", "condition", "data", "notification", "android", "android_v2", "webpush",
        "apns", "payload", "aps", "alert", "headers", "fcm_options", "ttl", "validate_only", "tokens", "messages",
        "delivery", "rate", "finish_by", "target", "user", "ios", "apns_token", "to", "registration_tokens", "from",
        "gcm.x", "light_settings", "event_time", "body_loc_args", "color", "analytics_label", "live_activity_token",
        "longDynamicLink", "dynamicLinkInfo", "domainUriPrefix", "dynamicLinkDomain", "link", "suffix", "option",
        "customSuffix", "linkName", "visibility", "expirationTime", "flaggedAttribute", "requestedLink", "bundleId",
        "device", "uniqueMatchLinkToCheck", "installReferrer", "installId", "invitationId", "referralId", "invitee",
    ]
    private static let numbers = [
        "0", "-0", "1", "-1", "1.5", "1e2", "1e400", "-1E-400", "2147483647", "2147483648", "-2147483649",
        "9223372036854775807", "9223372036854775808", "253402300800", "0.30000000000000004",
        String(repeating: "9", count: 400),
    ]
    private static let texts = [
        "", " ", "x", "\0", "\u{7f}", "é", "e\u{301}", "👩‍👩‍👧‍👦", "\u{202e}", "\u{feff}", "null", "true", "5", "5s", "-1s",
        "315576000001s", "9.999999999s", "NaN", "2026-01-02T03:04:05Z", "0000-00-00T00:00:00Z",
        "9999-12-31T23:59:60+23:59", "HIGH", "PRIVATE", "#ffffff", "https://example.com", "/topics/news", "news",
        "'a' in topics", "!(!('a' in topics)) && 'b' in topics", "((((('a' in topics)))))", "'a' in topics &&",
        "00ff", "com.example.app", "com.example.other", "alice", "projects/demo/messages/1", "../../etc/passwd",
        "https://go.example.com/?link=https%3A%2F%2Fa.example%2F", "https://go.example.com/abc",
        "https://a.example\r\n",
        "https://evil.example", "javascript:alert(1)", "https://a.example@evil.example", "CUSTOM", "SHORT", "SPAM",
        "%00", "a\r\nb: c", "<script>", "' OR 1=1 --", String(repeating: "x", count: 5000),
        String(repeating: "é", count: 900), String(repeating: "(", count: 300), String(repeating: "a.", count: 200),
    ]

    // MARK: - Bytes

    private mutating func change(_ bytes: inout [UInt8], _ others: [String]) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, place + Int.random(in: 0...30, using: &random))
        switch Int.random(in: 0..<7, using: &random) {
        case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1 where place < bytes.count: bytes[place] = .random(in: 0...255, using: &random)
        case 2: bytes.insert(contentsOf: pick(Self.pieces), at: place)
        case 3: bytes.removeSubrange(place..<end)
        case 4: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 5: bytes.removeSubrange(place...)
        default:
            let other = Array(pick(others).utf8)
            bytes.replaceSubrange(place..., with: other[Int.random(in: 0...other.count, using: &random)...])
        }
    }

    private static let pieces: [[UInt8]] = [
        [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0], Array("\\ud800".utf8),
        Array("\\u0000".utf8), Array("\"".utf8), Array("{".utf8), Array("]".utf8), Array(",".utf8), Array("\r\n".utf8),
        Array("\r\n--END_OF_PART\r\n".utf8), Array("&assertion=".utf8), Array("%".utf8), Array("1e".utf8),
    ]
}

extension String {
    /// `validateOnly` for `validate_only` and the other way round.
    fileprivate var otherSpelling: String {
        if contains("_") {
            let words = split(separator: "_")
            return String(words.first ?? "") + words.dropFirst().map(\.capitalized).joined()
        }
        return reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}

extension Substring {
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}
