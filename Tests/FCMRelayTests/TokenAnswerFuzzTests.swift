import PushModel
import TestSupport
import Testing

@testable import FCMRelay
@testable import HTTP2Client
@testable import Upstream

/// Whatever the token endpoint answers, there is a token that may stand in a header field, or a refusal with a wait.
struct TokenAnswerFuzzTests {
    private static let bodies = [
        #"{"access_token":"ya29.c-Ab_1","expires_in":3599,"token_type":"Bearer"}"#,
        #"{"access_token":"a\r\nx: y","expires_in":"3600"}"#,
        #"{"access_token":"t","expires_in":-9223372036854775808}"#,
        #"{"access_token":"t","expires_in":1e999}"#, #"{"error":"invalid_grant","error_description":"Invalid JWT."}"#,
        #"{"error":{"a":[]},"error_description":"in a reasonable timeframe"}"#, "<html>", "[[[[[[[[", "",
    ].map { Array($0.utf8) }
    private static let statuses = [200, 201, 302, 400, 401, 403, 408, 429, 500, 503, 999]
    private static let fields = ["7", "-1", "99999999999999999999", "Tue, 14 Nov 2023 22:00:20 GMT", "soon", ""]

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func anyAnswerIsRead(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for input in 0..<2500 {
            var body = Self.bodies.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 0...3, using: &random) where !body.isEmpty {
                let place = Int.random(in: 0..<body.count, using: &random)
                if Bool.random(using: &random) {
                    body[place] = UInt8.random(in: 0...255, using: &random)
                } else {
                    body.removeSubrange(place...)
                }
            }
            let status = Self.statuses.randomElement(using: &random) ?? 0
            let headers = ["retry-after", "date"].map {
                HeaderField($0, Self.fields.randomElement(using: &random) ?? "")
            }
            let answer = ServiceAnswer(.answered(Response(status: status, headers: headers, body: body)))
            switch TokenAnswer.reading(answer, at: Timestamp(seconds: 1_700_000_000)) {
            case .success(let token):
                #expect(status == 200 && !token.token.isEmpty, "seed \(seed), input \(input)")
                #expect(token.token.utf8.allSatisfy { (0x21...0x7e).contains($0) }, "seed \(seed), input \(input)")
                #expect(token.lifetime >= .seconds(1) && token.lifetime <= .seconds(86_400), "\(token.lifetime)")
            case .failure(let refusal):
                #expect(!refusal.refusal.scope.isFinal, "seed \(seed), input \(input)")
                let wait = refusal.wait(attempt: Int.random(in: 0...100, using: &random))
                #expect(wait >= .seconds(1) && wait <= .seconds(3600), "seed \(seed), input \(input): \(wait)")
                #expect(refusal.detail.count <= 400, "seed \(seed), input \(input)")
            }
        }
    }
}
