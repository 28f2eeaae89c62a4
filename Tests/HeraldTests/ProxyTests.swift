import APNS
import Foundation
import PushModel
import Simulators
import TestSupport
import Testing
import Upstream

@testable import herald

/// The proxy that the environment names, and a gateway that goes through one.
@Suite(.timeLimit(.minutes(5)))
struct ProxyTests {
    private func read(_ environment: [String: String]) -> (proxy: EnvironmentProxy?, problems: [String]) {
        var problems: [ConfigurationProblem] = []
        let proxy = EnvironmentProxy(environment: environment, problems: &problems)
        return (proxy, problems.map(\.description))
    }

    private let apple = UpstreamEndpoint.apple(.production)

    @Test func theEnvironmentNamesOneOrNone() {
        #expect(read([:]).proxy == nil)
        #expect(read(["https_proxy": ""]).proxy == nil)
        #expect(read(["http_proxy": "http://p:1"]).proxy == nil)
        #expect(read(["HTTPS_PROXY": "http://p:1"]).proxy?.proxy.description == "p:1")
        #expect(read(["HTTPS_PROXY": "http://p:1", "https_proxy": "q:2"]).proxy?.proxy.description == "q:2")
    }

    @Test func credentialsOfTheURLAreDecoded() throws {
        let proxy = try #require(read(["https_proxy": "http://anna:p%40ss:w%2Ford@p:1/"]).proxy?.proxy)
        #expect(proxy.credentials == .init(user: "anna", password: "p@ss:w/ord"))
        #expect(read(["https_proxy": "http://anna@p:1"]).proxy?.proxy.credentials == .init(user: "anna", password: ""))
    }

    @Test(arguments: [
        "https://hunter2@p:1", "socks5://p:1", "http://", "http://p:0", "http://p:1/path", "http://::1:5",
        "http://a%0Ab:hunter2@p:1", "http://:hunter2@p:1", "http://a:hunter2%@p:1",
    ])
    func whatIsNoProxyIsToldWithoutItsPassword(text: String) throws {
        let (proxy, problems) = read(["https_proxy": text])
        #expect(proxy == nil)
        let problem = try #require(problems.first)
        #expect(problems.count == 1)
        #expect(problem.hasPrefix("https_proxy: "), "\(problem)")
        #expect(!problem.contains("hunter2"))
    }

    @Test(arguments: [
        ("*", true), ("api.push.apple.com", true), (".apple.com", true), ("apple.com", true), ("APPLE.com", true),
        ("example.com, apple.com", true), ("api.push.apple.com:443", true), ("api.push.apple.com:2197", false),
        ("push", false), ("ple.com", false), ("", false), (".", false), (",,", false), ("17.0.0.0/8", false),
    ])
    func exceptionsGoDirectly(list: String, isDirect: Bool) throws {
        let proxy = try #require(read(["https_proxy": "http://p:1", "no_proxy": list, "NO_PROXY": "*"]).proxy)
        #expect((proxy.proxy(for: apple) == nil) == isDirect)
    }

    @Test(arguments: [
        ("localhost", true), ("127.0.0.1", true), ("127.9.9.9", true), ("::1", true), ("a.localhost", true),
        ("127.example.com", false), ("10.0.0.1", false),
    ])
    func thisMachineIsReachedDirectly(host: String, isDirect: Bool) throws {
        let proxy = try #require(read(["https_proxy": "http://p:1"]).proxy)
        #expect((proxy.proxy(for: UpstreamEndpoint(host: host, port: 443)) == nil) == isDirect)
    }

    @Test(arguments: ["fd00::1", "[fd00::1]", "[fd00::1]:443"])
    func addressesCanBeExceptions(exception: String) throws {
        let proxy = try #require(read(["https_proxy": "http://p:1", "no_proxy": exception]).proxy)
        #expect(proxy.proxy(for: UpstreamEndpoint(host: "fd00::1", port: 443)) == nil)
        #expect(proxy.proxy(for: UpstreamEndpoint(host: "fd00::2", port: 443)) != nil)
    }

    /// The whole way: project file, credentials file, tunnel, simulator; and the TLS secrets, which the operator asked
    /// for.
    @Test func gatewaySendsThroughAProxyAndLogsKeysWhenAsked() async throws {
        try await GatewayUnderTest.with { test in
            let file = test.directory.file("projects/demo.yaml")
            let project = try String(contentsOfFile: file, encoding: .utf8)
            let port = try #require(project.firstMatch(of: /endpoint: 127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
            let relay = try TCPRelay(
                to: port, .proxy(answer: "HTTP/1.1 200 Connection established\r\n\r\n", then: nil))
            let credentials = test.directory.file("proxy")
            try "Aladdin:open sesame\n".write(toFile: credentials, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: credentials)
            let lines = "proxy: http://127.0.0.1:\(relay.port)\n      proxyCredentialsFile: \(credentials)"
            try project.replacing("      endpoint:", with: "      \(lines)\n      endpoint:")
                .write(toFile: file, atomically: true, encoding: .utf8)
            let keyLog = test.directory.file("keys.log")

            let process = try await test.start(environment: ["SSLKEYLOGFILE": keyLog])
            _ = try await WholeGatewayTests.registerDevices(20, process, test.keys)
            _ = try await WholeGatewayTests.broadcast(process, test.keys)
            await test.simulator.recording.wait(untilCount: 20)
            #expect(!relay.heads.isEmpty)
            for head in relay.heads {
                #expect(head.hasPrefix("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\n"))
                #expect(head.contains("Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"))
            }
            #expect(try String(contentsOfFile: keyLog, encoding: .utf8).contains("CLIENT_TRAFFIC_SECRET_0 "))
            #expect(process.lines.contains { $0.contains("TLS secrets are written to a file") })
            #expect(!process.lines.contains { $0.contains("sesame") })
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }
}
