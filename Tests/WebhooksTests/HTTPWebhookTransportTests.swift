import Dispatch
import IPAddresses
import Logging
import PushModel
import Store
import TestSupport
import Testing

@testable import Webhooks

/// Requests over real sockets to receivers that behave in every way.
@Suite(.timeLimit(.minutes(2)))
struct HTTPWebhookTransportTests {
    private static let endpoint = WebhookID.random()

    private static func request(_ url: String, _ body: String = "{}") -> WebhookRequest {
        WebhookRequest(
            endpoint: endpoint, project: EndpointScene.project, url: url, headers: [("webhook-id", "msg_1")],
            body: Array(body.utf8))
    }

    private static let loopback = WebhookPolicy(
        allowedHTTP: ["127.0.0.1", "hooks.test"], allowedNetworks: [IPNetwork("127.0.0.0/8")].compactMap { $0 })

    private static func with<Result>(
        policy: WebhookPolicy = loopback, proxy: WebhookProxy? = nil, timeout: Duration = .seconds(30),
        lookup: @escaping HTTPWebhookTransport.Lookup = { _, _ in .failure(WebhookLookupFailure("no name server")) },
        _ body: (HTTPWebhookTransport) async throws -> Result
    ) async throws -> Result {
        let transport = HTTPWebhookTransport(
            policy: policy, lookup: lookup, proxy: proxy, timeout: timeout,
            wallTime: { Timestamp(seconds: 1_767_225_600) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        do {
            let result = try await body(transport)
            await transport.shutdown()
            return result
        } catch {
            await transport.shutdown()
            throw error
        }
    }

    private func answer(_ reply: WebhookReceiver.Reply, timeout: Duration = .seconds(30)) async throws -> WebhookAnswer
    {
        let receiver = try WebhookReceiver { _, _ in reply }
        return try await Self.with(timeout: timeout) { await $0.send(Self.request(receiver.url())) }
    }

    @Test func aReceiverGetsWhatIsSentOnOneConnection() async throws {
        let receiver = try WebhookReceiver { request, _ in .answer("200 OK", body: "got \(request.text)") }
        let answers = try await Self.with { transport in
            [
                await transport.send(Self.request(receiver.url("/a?b=c"), #"{"n":1}"#)),
                await transport.send(Self.request(receiver.url("/a?b=c"), #"{"n":2}"#)),
            ]
        }
        #expect(answers.map(\.status) == [200, 200] && answers.allSatisfy { $0.failure == nil })
        #expect(answers.map(\.text) == [#"got {"n":1}"#, #"got {"n":2}"#])
        let request = try #require(receiver.requests.first)
        #expect(request.path == "/a?b=c" && request.id == "msg_1" && request.text == #"{"n":1}"#)
        #expect(request.headers["content-type"] == "application/json; charset=utf-8")
        #expect(request.headers["user-agent"] == "Herald-Webhooks/1")
        #expect(request.headers["host"] == "127.0.0.1:\(receiver.port)")
    }

    @Test(
        arguments: [
            ("200 OK", WebhookAnswer.Failure?.none), ("204 No Content", nil), ("202 Accepted", nil),
            ("400 Bad Request", .status), ("404 Not Found", .status), ("500 Internal Server Error", .status),
            ("503 Service Unavailable", .status), ("410 Gone", .gone), ("304 Not Modified", .redirect),
        ] as [(String, WebhookAnswer.Failure?)])
    func onlySuccessIsSuccess(status: String, failure: WebhookAnswer.Failure?) async throws {
        let answer = try await answer(.answer(status))
        #expect(answer.failure == failure && answer.status == Int(status.prefix(3)))
    }

    /// The place that it points to is never asked, be it the gateway's own network.
    @Test func redirectsAreNotFollowed() async throws {
        let other = try WebhookReceiver()
        let answer = try await answer(.answer("301 Moved Permanently", headers: ["location: \(other.url("/x"))"]))
        #expect(answer.failure == .redirect && other.requests.isEmpty)
    }

    @Test(
        arguments: [
            ("7", Duration?.some(.seconds(7))), ("0", .seconds(0)), ("Thu, 01 Jan 2026 00:02:00 GMT", .seconds(120)),
            ("Wed, 31 Dec 2025 00:00:00 GMT", nil), ("soon", nil), ("-5", nil), ("99999999999999999999", nil),
        ] as [(String, Duration?)])
    func retryAfterIsSecondsOrADate(text: String, rest: Duration?) async throws {
        let answer = try await answer(.answer("429 Too Many Requests", headers: ["retry-after: \(text)"]))
        #expect(answer.retryAfter == rest && answer.honouredRest == rest)
    }

    @Test func aRestIsTakenFromThoseAloneThatAreBusy() async throws {
        let answer = try await answer(.answer("500 Internal Server Error", headers: ["retry-after: 7"]))
        #expect(answer.retryAfter == .seconds(7) && answer.honouredRest == nil)
    }

    @Test func aReceiverThatHangsIsLeftAfterTheTime() async throws {
        for reply in [WebhookReceiver.Reply.silence, .headOnly] {
            let answer = try await answer(reply, timeout: .milliseconds(300))
            #expect(answer.failure == .timeout && answer.status == nil)
        }
    }

    @Test func aBodyWithoutEndIsReadNoFurtherThanItsBeginning() async throws {
        let answer = try await answer(.endless)
        #expect(answer.failure == nil && answer.status == 200)
        #expect(answer.text?.utf8.count == WebhookAttempt.answerLimitBytes)
    }

    @Test func brokenConnectionsAndOtherProtocolsAreFailures() async throws {
        #expect(try await answer(.reset).failure == .reset)
        let garbage = try await answer(.garbage).failure
        #expect(garbage == .notHTTP || garbage == .reset)
    }

    @Test func nobodyListens() async throws {
        let port = try WebhookReceiver().port
        let answer = try await Self.with { await $0.send(Self.request("http://127.0.0.1:\(port)/")) }
        #expect(answer.failure == .connect)
    }

    /// A receiver that speaks no TLS.
    @Test func withoutTLSNothingIsSent() async throws {
        let receiver = try WebhookReceiver()
        let answer = try await Self.with(timeout: .milliseconds(500)) {
            await $0.send(Self.request("https://127.0.0.1:\(receiver.port)/"))
        }
        #expect([.tls, .reset, .connect, .timeout].contains(answer.failure) && receiver.requests.isEmpty)
    }

    // MARK: Names

    @Test(arguments: ["hooks.test", "Hooks.TEST"])
    func theConnectionGoesToTheAddressThatWasCheckedWithTheName(host: String) async throws {
        let receiver = try WebhookReceiver()
        let url = "http://\(host):\(receiver.port)/"
        let answer = try await Self.with(lookup: { _, _ in .success([IPAddress("127.0.0.1")].compactMap { $0 }) }) {
            await $0.send(Self.request(url))
        }
        #expect(answer.status == 204 && receiver.requests.first?.headers["host"] == "hooks.test:\(receiver.port)")
    }

    /// A name that the resolver of this machine knows as the receiver's address, in whatever case: the connection goes to
    /// the address that was checked, where nothing listens, and the name is never looked up a second time.
    @Test(arguments: ["localhost", "Localhost", "LOCALHOST", "localhosT"])
    func theClientLooksUpNothingItself(host: String) async throws {
        let receiver = try WebhookReceiver()
        let policy = WebhookPolicy(
            allowedHTTP: ["localhost"], allowedNetworks: [IPNetwork("127.0.0.2/32")].compactMap { $0 })
        let asked = Shared<[String]>([])
        let answer = try await Self.with(
            policy: policy,
            lookup: { host, _ in
                asked.withLock { $0.append(host) }
                return .success([IPAddress("127.0.0.2")].compactMap { $0 })
            }
        ) { await $0.send(Self.request("http://\(host):\(receiver.port)/")) }
        #expect(answer.failure == .connect && receiver.requests.isEmpty, "\(answer)")
        #expect(asked.withLock { $0 } == ["localhost"])
    }

    @Test func aURLWhoseHostIsNotAmongTheClientsSettingsIsNotPinned() {
        #expect(HTTPWebhookTransport.isPinned("https://hooks.test:8443/a?b", to: "hooks.test"))
        #expect(HTTPWebhookTransport.isPinned("http://[::1]:8080/", to: "::1"))
        for url in ["https://Hooks.test/", "https://hooks.test./", "https://hooks.test.evil.example/", "https:///x"] {
            #expect(!HTTPWebhookTransport.isPinned(url, to: "hooks.test"), "\(url)")
        }
    }

    /// A name that leads to the Internet for the check and to this machine afterwards: each request is checked anew, and one
    /// bad address is enough.
    @Test func aNameThatMovesIsCheckedEachTime() async throws {
        let receiver = try WebhookReceiver()
        let policy = WebhookPolicy(
            allowedHTTP: ["hooks.test"], allowedNetworks: [IPNetwork("127.0.0.1/32")].compactMap { $0 })
        let steps = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "169.254.169.254"], ["127.0.0.1"], []]
        let next = Shared(steps)
        let answers = try await Self.with(
            policy: policy,
            lookup: { _, _ in
                .success(next.withLock { $0.isEmpty ? [] : $0.removeFirst() }.compactMap { IPAddress($0) })
            }
        ) { transport in
            var answers: [WebhookAnswer] = []
            for _ in steps { answers.append(await transport.send(Self.request("http://hooks.test:\(receiver.port)/"))) }
            return answers
        }
        #expect(answers.map(\.failure) == [nil, .refused, .refused, nil, .lookup])
        #expect(receiver.requests.count == 2)
    }

    /// Of a name with two addresses the one that takes connections is kept, though name servers turn their order each time.
    @Test func theOrderOfAddressesChangesNoConnection() async throws {
        let receiver = try WebhookReceiver()
        let turns = Shared(0)
        let answers = try await Self.with(
            lookup: { _, _ in
                let turn = turns.withLock { turns in
                    turns += 1
                    return turns
                }
                let addresses = ["127.0.0.1", "127.0.0.9"].compactMap { IPAddress($0) }
                return .success(turn % 2 == 1 ? addresses : addresses.reversed())
            }
        ) { transport in
            var answers: [WebhookAnswer] = []
            for _ in 0..<4 {
                answers.append(await transport.send(Self.request("http://hooks.test:\(receiver.port)/")))
            }
            return answers
        }
        #expect(answers.map(\.status) == [204, 204, 204, 204])
    }

    /// An address that takes no connection is left for the next one, whatever the order.
    @Test func afterAConnectionThatFailedTheNextAddressIsAsked() async throws {
        let receiver = try WebhookReceiver()
        let answers = try await Self.with(
            lookup: { _, _ in .success(["127.0.0.9", "127.0.0.1"].compactMap { IPAddress($0) }) }
        ) { transport in
            var answers: [WebhookAnswer] = []
            for _ in 0..<3 {
                answers.append(await transport.send(Self.request("http://hooks.test:\(receiver.port)/")))
            }
            return answers
        }
        #expect(answers.map(\.failure) == [.connect, nil, nil] && receiver.requests.count == 2)
    }

    /// A request goes on when its endpoint moves meanwhile: a test beside a delivery.
    @Test func aRequestUnderWayIsNotCutByAnother() async throws {
        let gate = DispatchSemaphore(value: 0)
        let slow = try WebhookReceiver { _, _ in
            gate.wait()
            return .answer("200 OK", body: "slow")
        }
        let other = try WebhookReceiver()
        let answers = try await Self.with(
            lookup: { _, _ in .success(["127.0.0.1"].compactMap { IPAddress($0) }) }
        ) { transport in
            async let first = transport.send(Self.request("http://hooks.test:\(slow.port)/"))
            await slow.untilReceived(1)
            let second = await transport.send(Self.request(other.url()))
            gate.signal()
            return [await first, second]
        }
        #expect(answers.map(\.status) == [200, 204] && answers.first?.text == "slow", "\(answers)")
    }

    // MARK: A proxy

    private static let tunnel = "HTTP/1.1 200 Connection established\r\n\r\n"

    /// The proxy is asked for the address that was checked, not for the name, which it might resolve otherwise.
    @Test func aProxyIsAskedForTheAddressThatWasChecked() async throws {
        let receiver = try WebhookReceiver { request, _ in .answer("200 OK", body: "got \(request.text)") }
        let relay = try TCPRelay(to: receiver.port, .proxy(answer: Self.tunnel, then: nil))
        let proxy = WebhookProxy(host: "127.0.0.1", port: relay.port, user: "Aladdin", password: "open sesame")
        let answer = try await Self.with(
            proxy: proxy, lookup: { _, _ in .success([IPAddress("127.0.0.7")].compactMap { $0 }) }
        ) { await $0.send(Self.request("http://hooks.test:8123/a")) }
        #expect(answer.status == 200 && answer.text == "got {}", "\(answer)")
        // Behind the tunnel the receiver sees the name.
        #expect(receiver.requests.first?.headers["host"] == "hooks.test:8123")
        let head = try #require(relay.heads.first)
        #expect(relay.heads.count == 1 && head.hasPrefix("CONNECT 127.0.0.7:8123 HTTP/1.1\r\n"), "\(head)")
        #expect(head.lowercased().contains("proxy-authorization: basic qwxhzgrpbjpvcgvuihnlc2ftzq==\r\n"))
        #expect(!head.contains("hooks.test"))
        #expect(!"\(proxy) \(String(reflecting: proxy))".contains("sesame"))
    }

    /// What the rules refuse is not asked of the proxy either.
    @Test func whatIsRefusedComesToNoProxy() async throws {
        let relay = try TCPRelay(to: 9, .proxy(answer: Self.tunnel, then: nil))
        let answers = try await Self.with(
            proxy: WebhookProxy(host: "127.0.0.1", port: relay.port),
            lookup: { _, _ in .success(["127.0.0.1", "169.254.169.254"].compactMap { IPAddress($0) }) }
        ) { transport in
            [
                await transport.send(Self.request("http://hooks.test:8123/")),
                await transport.send(Self.request("https://10.0.0.1:8443/")),
            ]
        }
        #expect(answers.map(\.failure) == [.refused, .refused] && relay.heads.isEmpty, "\(answers)")
    }

    /// http to an address goes through it.
    @Test func httpsToAnAddressIsRefusedThroughAProxy() async throws {
        let receiver = try WebhookReceiver()
        let relay = try TCPRelay(to: receiver.port, .proxy(answer: Self.tunnel, then: nil))
        let secure = Self.request("https://127.0.0.1:\(receiver.port)/")
        let answers = try await Self.with(proxy: WebhookProxy(host: "127.0.0.1", port: relay.port)) { transport in
            [await transport.send(secure), await transport.send(Self.request(receiver.url()))]
        }
        #expect(answers.map(\.failure) == [.refused, nil] && relay.heads.count == 1, "\(answers)")
        #expect(answers.first?.detail?.contains("webhooks.proxy; give the name of a host") == true, "\(answers)")
    }

    @Test(arguments: ["407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway"])
    func aProxyThatRefusesIsNoConnection(status: String) async throws {
        let relay = try TCPRelay(to: 9, .proxy(answer: "HTTP/1.1 \(status)\r\ncontent-length: 0\r\n\r\n", then: nil))
        let answer = try await Self.with(
            proxy: WebhookProxy(host: "127.0.0.1", port: relay.port),
            lookup: { _, _ in .success([IPAddress("127.0.0.1")].compactMap { $0 }) }
        ) { await $0.send(Self.request("http://hooks.test:8123/")) }
        #expect(answer.failure == .connect && answer.status == nil, "\(answer)")
        #expect(answer.detail?.hasPrefix("The proxy made no connection") == true, "\(answer)")
    }

    @Test func whatIsGoneIsClosed() async throws {
        let receiver = try WebhookReceiver()
        let counts = try await Self.with { transport in
            _ = await transport.send(Self.request(receiver.url()))
            var counts = [await transport.clientCount]
            await transport.keep([Self.endpoint])
            counts.append(await transport.clientCount)
            await transport.keep([])
            return counts + [await transport.clientCount]
        }
        #expect(counts == [1, 1, 0])
    }

    @Test func whatTheRulesRefuseIsNotLookedUp() async throws {
        let asked = Shared(0)
        let answer = try await Self.with(
            lookup: { _, _ in
                asked.withLock { $0 += 1 }
                return .success([])
            }
        ) { await $0.send(Self.request("https://user@hooks.test/")) }
        #expect(answer.failure == .refused && asked.withLock { $0 } == 0)
    }

    @Test func aNameServerThatHangsIsLeftAfterTheTime() async throws {
        let answer = try await Self.with(
            timeout: .milliseconds(200),
            lookup: { _, _ in
                // Until it is cancelled.
                try? await Task.sleep(for: .longerThanAnyTest)
                return .success([])
            }
        ) { await $0.send(Self.request("https://hooks.test/")) }
        #expect(answer.failure == .timeout)
    }
}
