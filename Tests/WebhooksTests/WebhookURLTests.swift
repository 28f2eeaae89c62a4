import IPAddresses
import Testing

@testable import Webhooks

/// Where webhooks may not go, by the rule that says so.
@Suite(.timeLimit(.minutes(1)))
struct WebhookURLTests {
    private static let strict = WebhookPolicy()

    private func rule(_ text: String, _ policy: WebhookPolicy = strict) -> WebhookURLProblem.Rule? {
        do throws(WebhookURLProblem) {
            _ = try WebhookURL(text, policy)
            return nil
        } catch {
            return error.rule
        }
    }

    @Test(arguments: [
        "https://hooks.example.com", "https://hooks.example.com/", "https://hooks.example.com/a/b?c=d&e=%20",
        "HTTPS://Hooks.Example.COM/A", "https://hooks.example.com:443/x", "https://hooks.example.com:8443/x",
        "https://a_b.example.com/", "https://xn--bcher-kva.example/", "https://localhost.example.com/",
        "https://e.co?x",
        "https://1e100.net/", "https://0x.example/", "https://10.0.0.1.example.com/",
    ])
    func httpsToANameIsAllowed(url: String) {
        #expect(rule(url) == nil)
    }

    @Test(arguments: [
        "", " ", "hooks.example.com", "//hooks.example.com/", "https:hooks.example.com", "https:/hooks.example.com",
        "https:///x", "https://hooks.example.com/#fragment", "https://hooks.example.com\\@evil.example/",
        "https://hooks.example.com/\r\nx: y", "https://hooks.example.com/ x", "https://hooks.example.com/\u{e9}",
        "https://b\u{fc}cher.example/", "https://hooks.example.com\t/", " https://hooks.example.com/",
        "https://hooks.example.com/<x>", "https://\u{ff11}27.0.0.1/", "https://127\u{3002}0\u{3002}0\u{3002}1/",
        "https://\u{24d4}xample.com/", "https://example.com\u{0}.evil.example/", "https://exa%6dple.com/\"",
        "\u{feff}https://example.com/", "https://example.com/{x}", "https://example.com/|", "https://example.com/^",
    ])
    func whatCanBeReadInMoreThanOneWayIsRefused(url: String) {
        #expect([.form, .host].contains(rule(url)), "\(String(describing: rule(url)))")
    }

    @Test(arguments: [
        "http://hooks.example.com/", "ftp://hooks.example.com/", "file:///etc/passwd", "gopher://hooks.example.com/",
        "dict://hooks.example.com/", "ws://hooks.example.com/", "javascript://hooks.example.com/",
        "httpss://hooks.example.com/", "http://hooks.example.com:443/",
    ])
    func otherSchemesAreRefused(url: String) {
        #expect(rule(url) == .scheme || url.hasPrefix("file") && rule(url) != nil)
    }

    @Test(arguments: [
        "https://user@hooks.example.com/", "https://user:password@hooks.example.com/", "https://@hooks.example.com/",
        "https://hooks.example.com@127.0.0.1/", "https://hooks.example.com:443@evil.example/",
        "https://:@hooks.example.com/",
    ])
    func namesAndPasswordsAreRefused(url: String) {
        #expect(rule(url) == .userInfo)
    }

    @Test(arguments: [
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "017700000001", "0177.0.0.1", "0x7f000001", "0x7f.0.0.1",
        "0x7f.1",
        "0x7F.0x0.0x0.0x1", "127.000.000.001", "0", "0.0.0.0", "0x0", "10.0.0.1", "10.1", "167772161", "192.168.0.1",
        "192.168.257", "3232235521", "172.16.0.1", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
        "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "8.8.8.8", "1.1.1.1", "134744072",
        "256.256.256.256",
        "1.2.3.4.5", "example.0x1", "example.1", "1.2.3", "999999999999", "0x", "127.0.0.0x1",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[0:0:0:0:0:0:0:1]", "[fe80::1]",
        "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:db8::1]",
        "[2606:4700:4700::1111]", "[::ffff:8.8.8.8]",
    ])
    func addressesAreRefusedInEveryForm(host: String) {
        for url in ["https://\(host)/", "https://\(host):8443/latest/meta-data", "HTTPS://\(host.uppercased())/"] {
            let found = rule(url)
            #expect(
                found == .addressLiteral || found == .host || found == .form, "\(url): \(String(describing: found))")
        }
    }

    @Test(arguments: [
        "https://-a.example/", "https://a-.example/", "https://a..example/", "https://.example/", "https://example./",
        "https://ex!ample.com/", "https://ex*mple.com/", "https://[]/", "https://[::1/", "https://::1/",
        "https://[::1]x/", "https://[fe80::1%25eth0]/", "https://a b.example/", "https://a,b.example/",
        "https://a:b:c.example/", "https://\(String(repeating: "a", count: 64)).example/",
        "https://\(Array(repeating: "abcdefgh", count: 30).joined(separator: ".")).example/", "https://example.com:/",
        "https://example.com:12x/", "https://example.com:-1/", "https://example.com:123456/",
    ])
    func otherHostsAreRefused(url: String) {
        let found = rule(url)
        #expect([.host, .form, .addressLiteral].contains(found), "\(String(describing: found))")
    }

    @Test(arguments: [0, 1, 22, 25, 80, 110, 442, 444, 1023, 65_536, 99_999])
    func portsOfOtherServicesAreRefused(port: Int) {
        #expect(rule("https://hooks.example.com:\(port)/") == .port)
    }

    @Test func longURLsAreRefused() {
        let head = "https://hooks.example.com/"
        let most = head + String(repeating: "a", count: WebhookURL.longest - head.utf8.count)
        #expect(rule(most) == nil)
        #expect(rule(most + "a") == .form)
    }

    @Test func whatAnInstallationAllowsIsAllowedThereAlone() throws {
        let policy = WebhookPolicy(
            allowedHTTP: ["hooks.internal", "10.0.0.7", "::1"],
            allowedNetworks: try ["10.0.0.0/8", "::1"].map { try #require(IPNetwork($0)) })
        #expect(rule("http://hooks.internal/", policy) == nil && rule("http://hooks.internal:8080/", policy) == nil)
        #expect(rule("http://10.0.0.7/", policy) == nil && rule("https://10.200.0.1/", policy) == nil)
        #expect(rule("http://[::1]:8080/", policy) == nil)
        #expect(rule("http://10.0.0.8/", policy) == .scheme && rule("http://other.internal/", policy) == .scheme)
        #expect(rule("https://11.0.0.1/", policy) == .addressLiteral && rule("https://0x0a000001/", policy) != nil)
        #expect(rule("http://hooks.internal:22/", policy) == .port)
    }

    // MARK: Where names lead

    private func addressRule(
        _ addresses: [String], _ policy: WebhookPolicy = strict, port: Int = 443
    ) throws -> WebhookURLProblem.Rule? {
        let addresses = try addresses.map { try #require(IPAddress($0)) }
        do throws(WebhookURLProblem) {
            try policy.check(addresses, port: port)
            return nil
        } catch {
            return error.rule
        }
    }

    /// One address that is not allowed is enough, wherever it stands.
    @Test func everyAddressOfANameIsLookedAt() throws {
        #expect(try addressRule(["8.8.8.8", "2606:4700::1111"]) == nil)
        for bad in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00:ec2::254", "0.0.0.0"] {
            #expect(try addressRule([bad]) == .address)
            #expect(try addressRule(["8.8.8.8", bad]) == .address && addressRule([bad, "8.8.8.8"]) == .address)
        }
    }

    @Test func theGatewayItselfIsNeverAsked() throws {
        let policy = WebhookPolicy(
            allowedNetworks: [try #require(IPNetwork("127.0.0.0/8"))], isOwnListener: { _, port in port == 8080 })
        #expect(try addressRule(["127.0.0.1"], policy, port: 8081) == nil)
        #expect(try addressRule(["127.0.0.1"], policy, port: 8080) == .ownListener)
    }
}
