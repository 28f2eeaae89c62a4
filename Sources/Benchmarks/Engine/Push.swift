import HTTP2Client

/// What a benchmark sends: the same fields as a push to APNs.
enum Push {
    /// About as long as an alert of everyday life.
    static let body =
        #"{"aps":{"alert":{"title":"Breaking news","body":"Something happened just now"},"sound":"default"},"id":"12345"}"#

    /// As long as a provider token; the sink does not look at it.
    static let authorization = "bearer " + String(repeating: "eyJhbGciOiJFUzI1NiIs", count: 12) + "abcd"

    /// The fields that all pushes of a run share.
    static let sharedFields = [
        HeaderField("authorization", authorization, indexing: .never),
        HeaderField("apns-topic", "com.example.app"),
        HeaderField("apns-push-type", "alert"),
        HeaderField("apns-priority", "10"),
        HeaderField("apns-expiration", "1900000000", indexing: .first),
        HeaderField("apns-collapse-id", "breaking-news-12345", indexing: .first),
    ]

    /// The push number `number` to the device `path`.
    static func request(_ number: Int, head: RequestHead, path: String, body: [UInt8]) -> Request {
        Request(
            head: head, path: path, fields: [HeaderField("apns-id", identifier(number), indexing: .first)], body: body,
            isUrgent: false)
    }

    /// A UUID made of a number.
    private static func identifier(_ number: Int) -> String {
        var text = Array("00000000-0000-4000-8000-000000000000".utf8)
        var rest = number
        var place = text.count - 1
        while rest > 0, place > 23 {
            text[place] = DevicePath.digits[rest & 15]
            rest >>= 4
            place -= 1
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Paths of device tokens that look random, so that no two have a long common beginning.
enum DevicePath {
    static let digits = Array("0123456789abcdef".utf8)

    /// `prefix`, which is `/3/device/` or what a ``Sink`` takes for it, and the 64 digits of token number `number`.
    static func of(_ number: Int, prefix: String) -> String {
        var path = Array(prefix.utf8)
        var state = UInt64(truncatingIfNeeded: number)
        for _ in 0..<4 {
            // SplitMix64: a bijection in each step, so the paths differ.
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            mixed ^= mixed >> 31
            for shift in stride(from: 60, through: 0, by: -4) { path.append(digits[Int(mixed >> UInt64(shift) & 15)]) }
        }
        return String(decoding: path, as: UTF8.self)
    }
}
