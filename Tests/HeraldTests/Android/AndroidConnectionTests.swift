import Foundation
import Simulators
import Synchronization
import TestSupport
import Testing

@testable import herald

/// The way to Google: through a proxy, and over connections that Google ends.
@Suite(.timeLimit(.minutes(5)))
struct AndroidConnectionTests {
    @Test func messagesAndAccessTokensGoThroughTheProxy() async throws {
        try await GatewayUnderTest.with { test in
            let relay = Mutex<(port: Int, relay: TCPRelay)?>(nil)
            try await AndroidGateway.run(
                in: test,
                settings: { port in
                    let made = try TCPRelay(
                        to: port, .proxy(answer: "HTTP/1.1 200 Connection established\r\n\r\n", then: nil))
                    relay.withLock { $0 = (port, made) }
                    return ["proxy: http://127.0.0.1:\(made.port)"]
                },
                { gateway in
                    let token = try await gateway.register("device-0001:APA91bExample")
                    let report = try await gateway.report(try await gateway.send(to: token))
                    #expect(try WholeGatewayTests.ledger(report)["accepted"] == 1)
                    #expect(gateway.google.tokenRequests == 1)
                    // One connection for the access token, another for messages.
                    let (port, used) = try #require(relay.withLock { $0 })
                    #expect(used.heads.count >= 2)
                    #expect(used.heads.allSatisfy { $0.hasPrefix("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\n") })
                })
        }
    }

    /// Google says GOAWAY after some requests: what it took is sent once, what it did not take goes over the next one.
    @Test func connectionsThatGoogleEndsLoseAndRepeatNothing() async throws {
        try await AndroidGateway.with(google: { $0.goAwayAfter = 10 }) { gateway in
            var tokens: [String] = []
            for number in 1...60 { tokens.append(try await gateway.register("device-\(1000 + number):APA91bExample")) }
            try await gateway.subscribe(tokens)
            let report = try await gateway.report(
                try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys))
            #expect(try WholeGatewayTests.ledger(report)["accepted"] == 60)
            let accepted = gateway.google.recording.pushes.filter { $0.status == 200 }.map(\.deviceToken)
            #expect(accepted.count == 60 && Set(accepted).count == 60)
        }
    }
}
