import Foundation
import Testing

@testable import HeraldMessaging

struct RetryDelayTests {
    @Test(
        "waits double up to fifteen minutes, half of each left to chance",
        arguments: [
            (1, 1.0, 2.0), (2, 1.0, 4.0), (2, 0.0, 2.0), (9, 1.0, 512.0), (10, 1.0, 900.0), (4000, 1.0, 900.0),
            (4000, 0.0, 450.0),
        ])
    func doubles(failures: Int, jitter: Double, seconds: Double) {
        #expect(RetryDelay.seconds(failures: failures, jitter: jitter) == seconds)
    }

    @Test("the gateway's own wait is kept to, up to an hour")
    func retryAfter() {
        #expect(RetryDelay.seconds(failures: 1, jitter: 1, retryAfter: 60) == 60)
        #expect(RetryDelay.seconds(failures: 10, jitter: 1, retryAfter: 60) == 900)
        #expect(RetryDelay.seconds(failures: 1, jitter: 1, retryAfter: 1e9) == 3600)
    }
}
