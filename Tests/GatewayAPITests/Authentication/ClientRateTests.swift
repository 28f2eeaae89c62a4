import HTTPListener
import HTTPTypes
import HummingbirdTesting
import NIOCore
import PushModel
import Store
import Synchronization
import Testing

@testable import GatewayAPI

/// How often clients may ask.
@Suite(.timeLimit(.minutes(5)))
struct ClientRateTests {
    /// A clock that only a test moves.
    private final class Dial: Sendable {
        private let time = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { time.withLock { $0 } }

        func advance(by duration: Duration) {
            time.withLock { $0 += duration }
        }
    }

    @Test func aBucketHoldsTenSecondsAndFillsWithTime() throws {
        let dial = Dial()
        let limits = ClientRateLimits(
            ClientRateLimits.Rates(address: 2, registration: 0, project: 0), now: { dial.now })
        for _ in 0..<20 { try limits.take(.address("192.0.2.1")) }
        let error = #expect(throws: FCMError.self) { try limits.take(.address("192.0.2.1")) }
        #expect(error?.code == .resourceExhausted && error?.retryAfterSeconds == 1)
        #expect(error?.quotaSubject == "client address")
        // Others are not touched, and a rate of 0 is none.
        try limits.take(.address("192.0.2.2"))
        let id = try #require(RegistrationID(rawValue: "cInstallationOne000000"))
        for _ in 0..<1000 { try limits.take(.registration(id)) }
        dial.advance(by: .milliseconds(400))
        #expect(throws: FCMError.self) { try limits.take(.address("192.0.2.1")) }
        dial.advance(by: .milliseconds(100))
        try limits.take(.address("192.0.2.1"))
        #expect(throws: FCMError.self) { try limits.take(.address("192.0.2.1")) }
        dial.advance(by: .seconds(3600))
        for _ in 0..<20 { try limits.take(.address("192.0.2.1")) }
        #expect(throws: FCMError.self) { try limits.take(.address("192.0.2.1")) }
    }

    @Test func gatewaysThatShareARateHaveAPartOfItEach() throws {
        let dial = Dial()
        let nodes = Mutex(1)
        var rates = ClientRateLimits.Rates(address: 6, registration: 0, project: 0, newRegistrationAddress: 5)
        rates.hourlyNewTopics = 100
        let limits = ClientRateLimits(rates, nodes: { nodes.withLock { $0 } }, now: { dial.now })
        func taken(_ party: ClientRateLimits.Party) -> Int {
            var count = 0
            while (try? limits.take(party)) != nil { count += 1 }  // refused: its bucket is empty
            return count
        }
        #expect(taken(.address("192.0.2.1")) == 60)
        nodes.withLock { $0 = 3 }
        #expect(taken(.address("192.0.2.2")) == 20)
        #expect(taken(.newRegistrationAddress("192.0.2.2")) == 66)
        #expect(taken(.newTopicAddress("192.0.2.2")) == 33)
        dial.advance(by: .seconds(3))
        #expect(taken(.address("192.0.2.1")) == 6)
        // The others ended.
        nodes.withLock { $0 = 1 }
        dial.advance(by: .seconds(3))
        #expect(taken(.address("192.0.2.1")) == 18)
        // However many there are, one request passes when the bucket is full.
        nodes.withLock { $0 = 1000 }
        #expect(taken(.address("192.0.2.3")) == 1)
    }

    @Test func theNumberOfPartiesIsBounded() throws {
        let limits = ClientRateLimits(ClientRateLimits.Rates(address: 1, registration: 0, project: 0))
        for number in 0..<ClientRateLimits.partyLimit + 5 { try limits.take(.address(ClientAddress(String(number)))) }
        #expect(limits.partyCount <= ClientRateLimits.partyLimit)
    }

    @Test func forgettingAddressesFillsNoProjectsBucket() throws {
        let dial = Dial()
        let limits = ClientRateLimits(
            ClientRateLimits.Rates(address: 1, registration: 0, project: 1), now: { dial.now })
        let demo = try #require(ProjectID(rawValue: "demo"))
        for _ in 0..<10 { try limits.take(.project(demo)) }
        for number in 0..<ClientRateLimits.partyLimit + 5 {
            try limits.take(.address(ClientAddress(String(number))))
        }
        #expect(limits.partyCount < ClientRateLimits.partyLimit)
        #expect(throws: FCMError.self) { try limits.take(.project(demo)) }
    }

    @Test func whatTheProjectRefusesLeavesNoAddressBehind() async throws {
        let dial = Dial()
        let limits = ClientRateLimits(
            ClientRateLimits.Rates(address: 2, registration: 0, project: 1, proxies: 1), now: { dial.now })
        let gateway = try await TestGateway(clientLimits: limits)
        for number in 0..<20 {
            let answer = try await gateway.request(
                .post, "/v1/projects/demo/installations", #"{"appId":"a"}"#, as: .client,
                headers: [.forwardedFor: "192.0.2.\(number)"])
            #expect(answer.status == (number < 10 ? 200 : 429))
        }
        #expect(limits.partyCount == 10)
    }

    @Test func whatAnAddressIsRefusedIsNotTheProjectsLoss() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 1, registration: 0, project: 2, proxies: 1), now: { dial.now }))
        func ask(_ address: String) async throws -> Int {
            try await gateway.request(
                .post, "/v1/projects/demo/installations", #"{"appId":"a"}"#, as: .client,
                headers: [.forwardedFor: address]
            ).status
        }
        for number in 0..<30 { #expect(try await ask("192.0.2.1:\(1000 + number)") == (number < 10 ? 200 : 429)) }
        #expect(try await ask("192.0.2.2") == 200)
    }

    @Test func topicBatchesCountForEachRegistration() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            requiresInstallation: false,
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 0, registration: 1, project: 0), now: { dial.now }))
        let (first, second) = (try await gateway.register("01").token, try await gateway.register("02").token)
        func ask(_ call: String, _ topic: Int, as role: Role, _ tokens: String...) async throws -> String {
            let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
            let body = #"{"to":"/topics/t\#(topic)","registration_tokens":[\#(list)]}"#
            return try await gateway.request(.post, "/iid/v1:\(call)", body, as: role).text
        }
        for topic in 0..<10 { #expect(try await ask("batchAdd", topic, as: .client, first) == #"{"results":[{}]}"#) }
        for call in ["batchAdd", "batchRemove"] {
            let answer = try await ask(call, 10, as: .client, first, second)
            #expect(answer == #"{"results":[{"error":"RESOURCE_EXHAUSTED"},{}]}"#)
            #expect(try await ask(call, 11, as: .admin, first) == #"{"results":[{}]}"#)
        }
    }

    @Test func anAddressMakesOnlySoManyNewRegistrations() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            requiresInstallation: false,
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(
                    address: 0, registration: 0, project: 0, newRegistrationAddress: 5, newRegistrationProject: 1000,
                    proxies: 1), now: { dial.now }))
        let path = "/v1/projects/demo/registrations"
        func register(_ number: Int, user: String = "", as role: Role = .client) async throws -> Answer {
            try await gateway.request(
                .post, path,
                #"{"ios":{"apns_token":"\#(String(number).deviceToken)","bundle_id":"com.example.app"}\#(user)}"#,
                as: role, headers: [.forwardedFor: "192.0.2.1"])
        }
        let alice = #","userToken":"\#(try await gateway.customToken("alice"))""#
        let bob = #","userToken":"\#(try await gateway.customToken("bob"))""#
        for number in 1..<200 { #expect(try await register(number).status == 200) }
        #expect(try await register(200, user: alice).status == 200)
        let refused = try await register(201)
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "1")
        #expect(refused.text.contains("limits.newRegistrationAddressRate"))
        // A refresh makes nothing new. Another user does.
        #expect(try await register(1).status == 200)
        #expect(try await register(200, user: alice).status == 200)
        #expect(try await register(200, user: bob).status == 429)
        #expect(try await register(202, as: .admin).status == 200)
        dial.advance(by: .seconds(1))
        for number in 203..<208 { #expect(try await register(number).status == 200) }
        #expect(try await register(208).status == 429)
    }

    @Test func anotherDeviceTokenCountsAsARegistration() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 0, registration: 0, project: 0, newRegistrationProject: 1),
                now: { dial.now }))
        // The first registration was counted with the installation.
        let install = try await gateway.install()
        #expect(try await gateway.register(install, "01").status == 200)
        for number in 2...10 { #expect(try await gateway.register(install, "0\(number)").status == 200) }
        #expect(try await gateway.register(install, "0b").status == 429)
        let path = "/v1/projects/demo/registrations/\(install.id)"
        let patch = #"{"ios":{"apns_token":"\#("0c".deviceToken)"}}"#
        #expect(try await gateway.request(.patch, path, patch, of: install).status == 429)
        // What changes nothing of it is never refused, and backends are not either.
        #expect(try await gateway.register(install, "010").status == 200)
        #expect(try await gateway.request(.patch, path, #"{"ios":{"app_version":"2"}}"#, of: install).status == 200)
        #expect(try await gateway.request(.patch, path, patch).status == 200)
        dial.advance(by: .seconds(1))
        #expect(try await gateway.request(.patch, path, patch.replacing("0c", with: "0d"), of: install).status == 200)
    }

    @Test func installationsCountAsRegistrations() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(
                    address: 0, registration: 0, project: 0, newRegistrationAddress: 5, newRegistrationProject: 1000,
                    proxies: 1), now: { dial.now }))
        func install(_ address: String) async throws -> Int {
            try await gateway.request(
                .post, "/v1/projects/demo/installations", #"{"appId":"a"}"#, as: .client,
                headers: [.forwardedFor: address]
            ).status
        }
        for _ in 0..<200 { #expect(try await install("192.0.2.1") == 200) }
        #expect(try await install("192.0.2.1") == 429)
        #expect(try await install("192.0.2.2") == 200)
    }

    @Test func anAddressMakesOnlySoManyTopics() async throws {
        let dial = Dial()
        var rates = ClientRateLimits.Rates(address: 0, registration: 0, project: 0, proxies: 1)
        rates.hourlyNewTopics = 3
        let gateway = try await TestGateway(
            requiresInstallation: false, clientLimits: ClientRateLimits(rates, now: { dial.now }))
        let token = try await gateway.register().token
        func subscribe(_ topic: String, from address: String = "192.0.2.1", as role: Role = .client) async throws
            -> Answer
        {
            try await gateway.request(
                .post, "/iid/v1/\(token)/rel/topics/\(topic)", as: role, headers: [.forwardedFor: address])
        }
        for topic in ["a", "b", "c", "a", "b"] { #expect(try await subscribe(topic).status == 200) }
        let refused = try await subscribe("d")
        #expect(refused.status == 429 && refused.text.contains("3 an hour"), "\(refused.text)")
        let batch = #"{"to":"/topics/d","registration_tokens":["\#(token)"]}"#
        #expect(
            try await gateway.request(
                .post, "/iid/v1:batchAdd", batch, as: .client, headers: [.forwardedFor: "192.0.2.1"]
            ).status == 429)
        #expect(try await subscribe("d", from: "192.0.2.2").status == 200)
        #expect(try await subscribe("d").status == 200, "it is there by now")
        #expect(try await subscribe("e", as: .admin).status == 200)
        dial.advance(by: .seconds(1200))
        #expect(try await subscribe("f").status == 200)
        #expect(try await subscribe("g").status == 429)
    }

    @Test func browsersCountAsNewRegistrationsToo() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            webApps: ["www.example.com"], requiresInstallation: false,
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 0, registration: 0, project: 0, newRegistrationProject: 1),
                now: { dial.now }))
        func register(_ number: Int) async throws -> Int {
            let body =
                #"{"endpoint":"https://push.example.com/\#(number)","keys":{"p256dh":"\#(WebRegistrationTests.key)","auth":"AAECAwQFBgcICQoLDA0ODw"}}"#
            return try await gateway.request(.post, "/v1/web/iid", body, as: .client).status
        }
        for number in 0..<10 { #expect(try await register(number) == 200) }
        #expect(try await register(10) == 429)
        #expect(try await register(0) == 200)
    }

    @Test func theItemsOfATopicBatchCountEach() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 0, registration: 0, project: 2), now: { dial.now }))
        let list = Array(repeating: "\"abcdefgh:APA91bxyz\"", count: 12).joined(separator: ",")
        let body = #"{"to":"/topics/news","registration_tokens":[\#(list)]}"#
        #expect(try await gateway.request(.post, "/iid/v1:batchAdd", body, as: .client).status == 200)
        #expect(try await gateway.request(.post, "/iid/v1:batchRemove", body, as: .client).status == 429)
        #expect(try await gateway.request(.post, "/iid/v1:batchRemove", body, as: .admin).status == 200)
        dial.advance(by: .seconds(5))
        #expect(try await gateway.request(.post, "/iid/v1:batchRemove", body, as: .client).status == 200)
    }

    @Test func moreThanABucketIsTakenWhenItIsFullAndPaidBack() throws {
        let dial = Dial()
        let limits = ClientRateLimits(
            ClientRateLimits.Rates(address: 1, registration: 0, project: 0), now: { dial.now })
        try limits.take(.address("192.0.2.1"), 25)
        dial.advance(by: .seconds(15))
        #expect(throws: FCMError.self) { try limits.take(.address("192.0.2.1")) }
        dial.advance(by: .seconds(1))
        try limits.take(.address("192.0.2.1"))
        #expect(throws: FCMError.self) { try limits.take(.address("192.0.2.1"), 25) }
    }

    @Test func clientsOfAProjectAreLimitedAndOthersAreNot() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            requiresInstallation: false,
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 0, registration: 0, project: 1), now: { dial.now }))
        let body = #"{"ios":{"apns_token":"\#("00".deviceToken)","bundle_id":"com.example.app"}}"#
        for _ in 0..<10 {
            #expect(
                try await gateway.request(.post, "/v1/projects/demo/registrations", body, as: .client).status == 200)
        }
        let refused = try await gateway.request(.post, "/v1/projects/demo/registrations", body, as: .client)
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "1")
        #expect(try refused.errorStatus == "RESOURCE_EXHAUSTED")
        #expect(refused.text.contains("project:demo"))
        #expect(try await gateway.request(.post, "/v1/projects/demo/registrations", body).status == 200)
        dial.advance(by: .seconds(1))
        #expect(try await gateway.request(.post, "/v1/projects/demo/registrations", body, as: .client).status == 200)
    }

    @Test func oneRegistrationIsLimited() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            requiresInstallation: false,
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 0, registration: 1, project: 0), now: { dial.now }))
        let (first, second) = (try await gateway.register("01"), try await gateway.register("02"))
        func path(_ token: String) -> String {
            "/v1/projects/demo/registrations/\(token.replacing(":", with: "%3A"))"
        }
        for _ in 0..<10 {
            #expect(try await gateway.request(.get, path(first.token), as: .client).status == 200)
        }
        #expect(try await gateway.request(.get, path(first.token), as: .client).status == 429)
        let receipt = #"{"registration":"\#(first.token)","message":"0:1","kind":"opened"}"#
        #expect(try await gateway.request(.post, "/v1/projects/demo/receipts", receipt, as: .client).status == 429)
        #expect(try await gateway.request(.get, path(second.token), as: .client).status == 200)
    }

    @Test func theAddressOfAPeerIsLimited() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 1, registration: 0, project: 0), now: { dial.now }))
        let key = try #require(gateway.keys[.client]).text
        let statuses = try await gateway.application.test(.live) { client in
            var statuses: [Int] = []
            for number in 0..<11 {
                let response = try await client.executeRequest(
                    uri: "/v1/projects/demo/installations", method: .post,
                    // Whatever a client says of itself counts for nothing without a proxy.
                    headers: [.googleAPIKey: key, .forwardedFor: "192.0.2.\(number)"],
                    body: ByteBuffer(string: #"{"appId":"a"}"#))
                statuses.append(response.status.code)
            }
            return statuses
        }
        #expect(statuses == Array(repeating: 200, count: 10) + [429])
    }

    @Test func theAddressIsThatWhichTheOutermostProxySaw() async throws {
        let dial = Dial()
        let gateway = try await TestGateway(
            clientLimits: ClientRateLimits(
                ClientRateLimits.Rates(address: 1, registration: 0, project: 0, proxies: 2), now: { dial.now }))
        func ask(_ hops: String) async throws -> Int {
            try await gateway.request(
                .post, "/v1/projects/demo/installations", #"{"appId":"a"}"#, as: .client,
                headers: [.forwardedFor: hops]
            ).status
        }
        // What the client itself wrote comes first and counts for nothing.
        for number in 0..<10 { #expect(try await ask("10.0.0.\(number), 192.0.2.7, 10.1.1.1") == 200) }
        #expect(try await ask("10.0.0.99, 192.0.2.7, 10.1.1.1") == 429)
        #expect(try await ask("192.0.2.8, 10.1.1.1") == 200)
    }
}
