import PushModel
import Testing

struct PushServiceNameTests {
    @Test(arguments: [
        ("push.example.com", "push.example.com", 443, "https://push.example.com"),
        ("Push.Example.com:8443", "push.example.com", 8443, "https://push.example.com:8443"),
        ("192.0.2.7:443", "192.0.2.7", 443, "https://192.0.2.7"), ("[::1]:8443", "::1", 8443, "https://[::1]:8443"),
        ("[2001:DB8::7]", "2001:db8::7", 443, "https://[2001:db8::7]"),
        ("[::ffff:192.0.2.7]", "::ffff:192.0.2.7", 443, "https://[::ffff:192.0.2.7]"),
    ])
    func hostAndPortAreRead(text: String, host: String, port: Int, origin: String) throws {
        let name = try #require(PushServiceName(text))
        #expect(name.host == host && name.port == port && name.origin == origin)
        #expect(PushServiceName(name.description) == name)
        #expect(PushServiceName(endpoint: "\(origin)/up?x=1") == name && !name.isPublic)
    }

    @Test(arguments: [
        "", ":443", "push.example.com:", "push.example.com:0", "push.example.com:65536", "push.example.com:x", "a:1:2",
        "::1", "[::1", "[::1]8443", "[]", "[push.example.com]", "[::1]:", "[fe80::1%eth0]", "a@b", "a_b", "a/b",
        "é.example",
    ])
    func nothingElseIsAName(text: String) {
        #expect(PushServiceName(text) == nil)
    }
}
