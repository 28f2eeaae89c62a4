import Testing

@testable import Links

struct TargetURLTests {
    @Test(
        "a URL is normalised",
        arguments: [
            ("https://a.example", "https://a.example/"), ("https://a.example?x=1", "https://a.example/?x=1"),
            ("HTTPS://A.Example:443/X", "https://a.example/X"), ("http://a.example:80", "http://a.example/"),
            ("http://a.example:443/", "http://a.example:443/"), ("https://a.example:/x", "https://a.example/x"),
            ("https://a.example#f", "https://a.example/#f"),
            ("https://a.example/é?ü#ß", "https://a.example/%C3%A9?%C3%BC#%C3%9F"),
            ("https://a.example/\"<>`{}|^", "https://a.example/%22%3C%3E%60%7B%7D%7C%5E"),
            ("https://a.example/%zz%41", "https://a.example/%zz%41"),
            ("https://a.example/a/../b/./c", "https://a.example/b/c"), ("https://a.example/..", "https://a.example/"),
            ("https://a.example/a/%2E%2e/b", "https://a.example/b"),
            ("https://a.example/a/b/..", "https://a.example/a/"),
            ("https://a.example/...", "https://a.example/..."), ("https://a.example//x", "https://a.example//x"),
            ("https://a.example/?/../x", "https://a.example/?/../x"), ("https://192.0.2.1/", "https://192.0.2.1/"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
            ("https://bu\u{308}cher.example/", "https://xn--bcher-kva.example/"),
            ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
            ("https://аррӏе.com/", "https://xn--80ak6aa92e.com/"),
            ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ])
    func normalised(text: String, expected: String) throws {
        let url = try TargetURL(text)
        #expect(url.text == expected)
        #expect(try TargetURL(url.text) == url)
    }

    @Test(
        "what is no http or https URL, or could be read in two ways, is refused",
        arguments: [
            "", "x", "/x", "//a.example/", "https:a.example", "https:/a.example", "https:///a.example", "https://",
            "https://?x",
            "javascript:alert(1)", "JavaScript://a.example/%0aalert(1)", "data:text/html,x",
            "intent://a.example/#Intent;end",
            "ftp://a.example/", "file:///etc/passwd", "vbscript:x", " https://a.example/", "https://a.example/ x",
            "https://a.example/\r\nSet-Cookie: x=y", "https://a.example/\0", "java\tscript:x", "https://a.example\t/",
            "https://user@a.example/", "https://user:pass@a.example/", "https://a.example@evil.example/",
            "https://a.example\\@evil.example/", "https:\\\\evil.example/", "https://a.example/\\evil",
            "https:/\\evil.example/",
            "https://a.example:x/", "https://a.example:0/", "https://a.example:65536/", "https://a.example:80:80/",
            "https://a..example/", "https://.a.example/", "https://a.example./", "https://-a.example/",
            "https://a_b.example/",
            "https://a%2eexample/", "https://[::1]/", "https://127.1/", "https://0x7f.0.0.1/", "https://2130706433/",
            "https://0177.0.0.1/", "https://256.0.0.1/", "https://1.2.3/", "https://a.0x10/",
            "https://a℀b.example/", "https://ａ.example/", "https://a。example/", "https://a\u{200b}.example/",
            "https://a\u{202e}b.example/", "https://\u{301}a.example/", "https://💩.example/",

        ])
    func refused(text: String) {
        if case .success(let url) = TargetURL.read(text) { Issue.record("read as \(url.text)") }
    }

    @Test("a URL of another scheme is told from what is no URL")
    func flaws() {
        #expect(TargetURL.read("javascript:x") == .failure(.scheme))
        #expect(TargetURL.read("MAILTO:x") == .failure(.scheme))
        #expect(TargetURL.read("x") != .failure(.scheme))
        #expect(TargetURL.read("https:x") != .failure(.scheme))
    }

    @Test("parts are told")
    func parts() throws {
        let url = try TargetURL("http://A.example:8080/x/y?q#f")
        #expect(url.host == "a.example")
        #expect(url.scheme == "http")
        #expect(url.path == "/x/y")
        #expect(url.hasFragment)
        #expect(try TargetURL("http://a.example?q").path == "/")
    }

    @Test("long URLs are refused, and a host without end takes no time")
    func length() {
        let path = String(repeating: "x", count: LinkLimits.targetBytes)
        #expect(throws: LinkProblem.self) { try TargetURL("https://a.example/" + path) }
        #expect(throws: LinkProblem.self) { try TargetURL("https://" + String(repeating: "é", count: 4_000) + "/") }
    }

    /// RFC 3492 §7.1, those that are lower-case letters.
    @Test(
        "Punycode is that of the RFC's samples",
        arguments: [
            ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"), ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
            ("למההםפשוטלאמדבריםעברית", "4dbcagdahymbxekheh6e0a7fei0b"),
            ("почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"),
            ("porquénopuedensimplementehablarenespañol", "porqunopuedensimplementehablarenespaol-fmd56a"),
            ("3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"), ("ひとつ屋根の下2", "2-u9tlzr9756bt3uc0v"),
            ("パフィーdeルンバ", "de-jg4avhby1noc0d"), ("そのスピードで", "d9juau41awczczp"),
        ])
    func punycode(text: String, expected: String) {
        #expect(Punycode.encode(text.unicodeScalars.map(\.value)) == expected)
    }

    @Test(arguments: [
        ("https://a.example/?utm_source=x", true), ("https://a.example/p?a=1&utm_x", true),
        ("https://a.example/utm_guide", false), ("https://a.example/?a=utm_source", false),
        ("https://a.example/?a?utm_a=1", false), ("https://a.example/?mutm_a=1", false),
        ("https://a.example/#?utm_source=x", false), ("https://a.example/?#utm_a=1", false),
    ])
    func aCampaignIsAParameterOfTheQuery(text: String, hasCampaign: Bool) throws {
        let url = try TargetURL(text)
        #expect(url.hasCampaign == hasCampaign)
        #expect((url.appending(query: "utm_medium=push") == nil) == hasCampaign)
    }
}
