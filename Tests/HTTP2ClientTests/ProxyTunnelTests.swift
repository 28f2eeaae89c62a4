import Testing

@testable import HTTP2Client

/// What is said to a proxy, and what its answers come to.
struct ProxyTunnelTests {
    private static let plain = HTTPProxy(host: "proxy.example.com", port: 3128)

    private func progress(_ answer: String, through proxy: HTTPProxy = plain) -> ProxyTunnel.Progress {
        var tunnel = ProxyTunnel(proxy: proxy, target: "api.example.com:443")
        return tunnel.received(Array(answer.utf8))
    }

    private func failed(_ answer: String, through proxy: HTTPProxy = plain) -> TransportFailure? {
        if case .failed(let failure) = progress(answer, through: proxy) { failure } else { nil }
    }

    @Test func theRequestNamesTheTarget() {
        var tunnel = ProxyTunnel(proxy: Self.plain, target: "[fd00::1]:443")
        let text = "CONNECT [fd00::1]:443 HTTP/1.1\r\nHost: [fd00::1]:443\r\n\r\n"
        #expect(String(decoding: tunnel.unsent, as: UTF8.self) == text)
        tunnel.sent(8)
        #expect(String(decoding: tunnel.unsent, as: UTF8.self) == text.dropFirst(8))
        tunnel.sent(text.utf8.count - 8)
        #expect(tunnel.unsent.isEmpty)
    }

    /// The example of RFC 7617 §2, and the other two lengths of Base64's last group.
    @Test(arguments: [
        ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("a", "", "YTo="), ("a", "b", "YTpi"),
    ]) func credentialsAreBasic(user: String, password: String, encoded: String) {
        let proxy = HTTPProxy(
            host: "p", port: 1, credentials: .init(user: user, password: password))
        let tunnel = ProxyTunnel(proxy: proxy, target: "t:443")
        #expect(
            String(decoding: tunnel.unsent, as: UTF8.self).contains(
                "\r\nProxy-Authorization: Basic \(encoded)\r\n\r\n"))
    }

    @Test func nothingShowsThePassword() {
        let proxy = HTTPProxy(
            host: "p", port: 1, credentials: .init(user: "anna", password: "hunter2"))
        var configuration = PoolConfiguration(host: "h", port: 1)
        configuration.proxy = proxy
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), "\(configuration)", dumped] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
        #expect(failed("HTTP/1.1 407 No\r\n\r\n", through: proxy)?.message.contains("hunter2") == false)
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200\r\n\r\n", "HTTP/1.1 200 \r\n\r\n",
        "HTTP/1.1 204 OK\r\nVia: 1.1 proxy\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ]) func aSuccessOpensItHoweverItIsCut(answer: String) {
        #expect(progress(answer) == .open)
        var tunnel = ProxyTunnel(proxy: Self.plain, target: "t:443")
        for byte in answer.utf8.dropLast() {
            let progress = tunnel.received([byte])
            #expect(progress == .pending)
        }
        let last = tunnel.received([UInt8(ascii: "\n")])
        #expect(last == .open)
    }

    @Test(arguments: [
        (403, "does not allow this target"), (407, "wants credentials"), (502, "does not reach the target"),
        (418, "teapot"), (302, "302"),
    ]) func aRefusalIsSaidInWords(status: Int, words: String) throws {
        let failure = try #require(failed("HTTP/1.1 \(status) I am a teapot\r\nServer: x\r\n\r\nbody"))
        #expect(failure.kind == .connectFailed)
        #expect(failure.message.contains(words), "\(failure.message)")
        #expect(failure.message.contains("\(status)"))
        #expect(failure.message.hasPrefix("proxy proxy.example.com:3128: CONNECT api.example.com:443"))
    }

    @Test func refusedCredentialsAreToldFromMissingOnes() {
        let proxy = HTTPProxy(host: "p", port: 1, credentials: .init(user: "a", password: "b"))
        #expect(failed("HTTP/1.1 407 No\r\n\r\n", through: proxy)?.message.contains("does not accept") == true)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH", "HTTP/2 200 OK\r\n\r\n", "\u{16}\u{03}\u{03}", "HTTP/1.1\r\n\r\n", "HTTP/1.1 \r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 99 OK\r\n\r\n", "HTTP/1.1 600 OK\r\n\r\n", "HTTP/1.1x 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno field\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nmore", "\r\n\r\n",
    ]) func garbageIsAProtocolError(answer: String) throws {
        let failure = try #require(failed(answer))
        #expect(failure.kind == .protocolError)
        #expect(failure.message.hasPrefix("proxy proxy.example.com:3128: "))
    }

    @Test func aHeadWithoutEndIsCutOff() throws {
        let line = "Field: \(String(repeating: "x", count: 91))\r\n"
        var tunnel = ProxyTunnel(proxy: Self.plain, target: "t:443")
        var progress = tunnel.received(Array("HTTP/1.1 200 OK\r\n".utf8))
        var count = 0
        while progress == .pending, count < 1000 {
            progress = tunnel.received(Array(line.utf8))
            count += 1
        }
        #expect(count == (ProxyTunnel.headLimitBytes - 17 + 99) / 100)
        guard case .failed(let failure) = progress else {
            Issue.record("\(progress)")
            return
        }
        #expect(failure.kind == .protocolError)
    }

    @Test func theProxysWordsAreCleaned() throws {
        let phrase = "a\u{1B}[31mb\u{7}" + String(repeating: "c", count: 500)
        let failure = try #require(failed("HTTP/1.1 500 \(phrase)\r\n\r\n"))
        #expect(failure.message.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        #expect(failure.message.utf8.count < 250)
    }

    @Test func anEarlyEndSaysWhen() {
        var tunnel = ProxyTunnel(proxy: Self.plain, target: "t:443")
        #expect(tunnel.ended().message.contains("closed before its answer"))
        _ = tunnel.received(Array("HTTP/1.1 200".utf8))
        #expect(tunnel.ended().message.contains("closed before the end of its answer"))
    }

    @Test(arguments: [
        ("bad host", "a", "b", "api"), ("", "a", "b", "api"), ("p", "a:b", "c", "api"), ("p", "a", "b\r\nX: y", "api"),
        ("p", "a", "b", "api\r\nX: y"),
    ]) func whatWouldBreakTheHeadIsRefused(host: String, user: String, password: String, target: String) async throws {
        try await withEngine { engine in
            var configuration = PoolConfiguration(host: target, port: 443)
            configuration.proxy = .init(host: host, port: 1, credentials: .init(user: user, password: password))
            #expect(throws: TransportFailure.self) { try engine.openPool(configuration) }
        }
    }
}
