import Testing

@testable import HTTPListener

/// Which hosts a request may name.
struct RequestAuthorityTests {
    @Test(arguments: [
        "", "a", "go.example.com", "GO.example.com.", "a_b-c.example:8080", "192.0.2.1:80", "[::1]",
        "[2001:db8::1]:443",
        "localhost:", "[::ffff:192.0.2.1]",
    ])
    func aNameOrAnAddressIsSound(_ text: String) {
        #expect(RequestAuthority.isSound(text))
    }

    @Test(arguments: [
        ".", "go.example.com..", "..go.example.com", "go..example.com", ".go.example.com", "x@go.example.com", ":80",
        "go.example.com:80:80", "go.example.com:8o", "go.example.com:123456", "go%2Eexample.com", "gö.example.com",
        "go.example.com/x", "go.example.com x", "go.example.com,a", "[::1", "[]", "[1]", "[::1]x", "[::g]", "a\u{0}",
    ])
    func anythingElseIsNot(_ text: String) {
        #expect(!RequestAuthority.isSound(text))
    }

    @Test(arguments: [
        ("http://go.example.com/x?y=1", "go.example.com", "/x?y=1"), ("HTTPS://a:80?x", "a:80", "/?x"),
        ("http://a", "a", "/"), ("http://a//b", "a", "//b"),
    ])
    func anAbsoluteTargetHasHostAndPath(_ text: String, _ authority: String, _ path: String) throws {
        let target = try #require(AbsoluteTarget(text))
        #expect(target.authority == authority && target.path == path)
    }

    @Test(arguments: ["ftp://a/x", "a:80", "http:/a", "http:///x", "http://x@a/", "http://a../x", "x", "*"])
    func anythingElseIsNoAbsoluteTarget(_ text: String) {
        #expect(AbsoluteTarget(text) == nil)
    }
}
