import Simulators
import TestSupport
import Testing

/// Reports that count each platform by itself, with the whole gateway as a process and all three services simulated.
@Suite(.timeLimit(.minutes(5)))
struct PlatformReportTests {
    @Test func eachPlatformOfATopicFulfilsTheLawOfTheReport() async throws {
        try await WebPushUnderTest.with { web in
            try await AndroidGateway.run(in: web.test) { gateway in
                try await register(hundredOfEachAt: gateway, web)
                let first = try await gateway.report(
                    try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys))
                #expect(first["audience"] as? Int == 300)
                #expect(
                    try Self.figures(first) == [
                        "apple": Self.figures(audience: 100, accepted: 100),
                        "android": Self.figures(audience: 100, accepted: 95, rejected: 5),
                        "web": Self.figures(audience: 100, accepted: 99, rejected: 1),
                    ])
                // What Google and the push service call gone has ended; a mismatch of the sender is asked twice.
                let second = try await gateway.report(
                    try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys))
                #expect(second["audience"] as? Int == 297)
                #expect(
                    try Self.figures(second) == [
                        "apple": Self.figures(audience: 100, accepted: 100),
                        "android": Self.figures(audience: 98, accepted: 95, rejected: 3),
                        "web": Self.figures(audience: 99, accepted: 99),
                    ])
                // Those are in quarantine now.
                let third = try await gateway.report(
                    try await WholeGatewayTests.broadcast(gateway.process, gateway.test.keys))
                #expect(
                    try Self.figures(third)["android"] == Self.figures(audience: 98, passedOver: 3, accepted: 95))
            }
        }
    }

    @Test func aSingleSendNamesItsPlatform() async throws {
        try await WebPushUnderTest.with { web in
            try await AndroidGateway.run(in: web.test) { gateway in
                let android = try await gateway.register("device-0001:APA91bExample")
                let browser = try await web.register(with: gateway.process).token
                let single = try await gateway.report(try await gateway.send(to: browser))
                #expect(try Self.figures(single) == ["web": Self.figures(audience: 1, accepted: 1)])
                let other = try await gateway.report(try await gateway.send(to: android))
                #expect(try Self.figures(other) == ["android": Self.figures(audience: 1, accepted: 1)])
            }
        }
    }

    /// Subscribes 100 registrations of each platform to the topic; three of Android have tokens of another sender, two and one
    /// browser are gone.
    private func register(hundredOfEachAt gateway: AndroidGateway, _ web: WebPushUnderTest) async throws {
        _ = try await WholeGatewayTests.registerDevices(100, gateway.process, gateway.test.keys)
        var tokens: [String] = []
        for number in 1...100 {
            let kind = (50...52).contains(number) ? "mismatch" : (53...54).contains(number) ? "unregistered" : "device"
            tokens.append(try await gateway.register("\(kind)-\(1000 + number):APA91bExample"))
            let (subscription, token) = try await web.register(with: gateway.process)
            if number == 1 { web.service.rules.set(PushServiceRule(status: 410), for: subscription.id) }
            tokens.append(token)
        }
        try await gateway.subscribe(tokens)
    }

    private static func figures(_ report: [String: Any]) throws -> [String: [String: Int]] {
        try #require(report["platforms"] as? [String: [String: Int]])
    }

    private static func figures(
        audience: Int, passedOver: Int = 0, accepted: Int, rejected: Int = 0
    ) -> [String: Int] {
        [
            "audience": audience, "passedOver": passedOver, "recipients": audience - passedOver, "accepted": accepted,
            "rejected": rejected, "expired": 0, "cancelled": 0, "inFlight": 0,
        ]
    }
}
