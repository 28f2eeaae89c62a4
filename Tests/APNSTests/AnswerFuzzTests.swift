import HTTP2Client
import PushModel
import Testing

@testable import APNS
@testable import Upstream

/// Whatever body and headers come back, there is an outcome, and it is one that the status allows.
struct AnswerFuzzTests {
    /// A small random source that repeats.
    private struct Chance: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private static let bodies: [[UInt8]] = [
        #"{"reason":"BadDeviceToken"}"#, #"{"reason":"Unregistered","timestamp":1700000000123}"#,
        #"{"timestamp":1.7e12,"reason":"\u0055nregistered","more":{"a":[1,2,{"b":null}]}}"#,
        #"{"reason":"TooManyRequests","timestamp":-9223372036854775808}"#, #"[[[[[[[[[[[[]]]]]]]]]]]]"#,
        #"{"reason":"😀\ud83d\ude00","timestamp":1e308}"#, "<html><body>503</body></html>", "",
    ].map { Array($0.utf8) }
    private static let known: Set = ["BadDeviceToken", "Unregistered"]
    private static let statuses = [200, 400, 403, 404, 405, 410, 413, 429, 500, 502, 503, 999]
    private static let pauses = ["30", "0", "86400", "99999999999999999999", "-1", "+5", "1.5", " 7", "0x10", "٣", ""]

    private static func mutated(_ body: [UInt8], _ random: inout Chance) -> [UInt8] {
        var bytes = body
        for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
            let place = bytes.indices.randomElement(using: &random) ?? 0
            let end = min(bytes.count, place + Int.random(in: 1...10, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.removeSubrange(place...)
            case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 4: bytes.removeSubrange(place..<end)
            default:
                let other = bodies.randomElement(using: &random) ?? []
                bytes.insert(contentsOf: other, at: place)
            }
        }
        // Depth is the parser's affair, too.
        if Int.random(in: 0..<200, using: &random) == 0 { bytes = Array(repeating: 0x5B, count: 16_000) + bytes }
        return bytes
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `Any answer has the outcome that its status allows`(seed: UInt64) {
        var random = Chance(state: seed)
        for input in 0..<2500 {
            let status = Self.statuses.randomElement(using: &random) ?? 0
            let body = Self.mutated(Self.bodies.randomElement(using: &random) ?? [], &random)
            let pause = Self.mutated(Array((Self.pauses.randomElement(using: &random) ?? "").utf8), &random)
            let headers = [HeaderField("retry-after", String(decoding: pause, as: UTF8.self))]
            let response = Response(status: status, headers: headers, body: body)
            let outcome = Answer(.answered(response), of: APNSService.sample, at: Timestamp(seconds: 1_800_000_000))
                .outcome
            switch outcome {
            case .accepted: #expect(status == 200, "seed \(seed), input \(input)")
            case .rejected(let refusal):
                let reason = refusal.reason
                // A reason that is known counts for more than the status; one that is not, for less.
                #expect(
                    (400..<500).contains(status) || (status != 200 && Self.known.contains(reason.rawValue)),
                    "seed \(seed), input \(input): \(reason) with \(status)")
            case .throttled(_, let after):
                #expect(status != 200, "seed \(seed), input \(input)")
                if let after { #expect(after >= .zero && after <= .seconds(3600), "seed \(seed), input \(input)") }
            case .notSent, .unknown: Issue.record("\(outcome) of an answer; seed \(seed), input \(input)")
            }
        }
    }
}
