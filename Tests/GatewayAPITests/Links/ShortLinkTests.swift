import HTTPTypes
import JSON
import Links
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// `POST /v1/shortLinks`.
@Suite(.timeLimit(.minutes(5)))
struct ShortLinkTests {
    private static let encoded = "link=https%3A%2F%2Fa.example%2Fx"
    private static let long = "https://go.example.com/?" + encoded

    @Test("both slash forms of a long link make the same short link, once and again")
    func sameLink() async throws {
        let gateway = try await LinkGateway()
        let first = try await gateway.shorten("https://go.example.com?" + Self.encoded)
        #expect(try await gateway.shorten(Self.long) == first)
        #expect(try await gateway.shorten(Self.long, as: .admin) == first)
        #expect(try await gateway.shorten(Self.long + "&cid=7&d=1") == first)
        #expect(try await gateway.shorten(Self.long + "y") != first)
    }

    @Test("a suffix is 17 characters, or with SHORT four, of another link")
    func suffixes() async throws {
        let gateway = try await LinkGateway()
        let usual = try await gateway.shorten(Self.long)
        #expect(usual.wholeMatch(of: /https:\/\/go\.example\.com\/[0-9A-Za-z]{17}/) != nil)
        #expect(try await gateway.shorten(Self.long, option: "UNGUESSABLE") == usual)
        let short = try await gateway.shorten(Self.long, option: "SHORT")
        #expect(short.wholeMatch(of: /https:\/\/go\.example\.com\/[0-9A-Za-z]{4}/) != nil)
        let promo = try await gateway.shorten("https://links.example.com/promo?" + Self.encoded)
        #expect(promo.wholeMatch(of: /https:\/\/links\.example\.com\/promo\/[0-9A-Za-z]{17}/) != nil)
        let answer = try await gateway.call(
            .post, "/v1/shortLinks", #"{"longDynamicLink":"\#(Self.long)"}"#, as: .client)
        #expect(try answer.json["previewLink"]?.stringValue == usual + "?d=1")
        #expect(try answer.json["warning"] == nil)
    }

    /// Bodies that are refused, and the field at fault.
    static let refused: [(String, String)] = [
        (#"{}"#, "longDynamicLink"),
        (#"{"longDynamicLink":"\#(long)","dynamicLinkInfo":{"link":"https://a.example"}}"#, "longDynamicLink"),
        (#"{"longDynamicLink":"https://go.example.com/?st=x"}"#, "dynamicLinkInfo.link"),
        (#"{"longDynamicLink":"https://go.example.org/?\#(encoded)"}"#, "longDynamicLink"),
        (#"{"longDynamicLink":"\#(long)","suffix":{"option":"CUSTOM","customSuffix":"x"}}"#, "suffix.option"),
        (#"{"longDynamicLink":"\#(long)","suffix":{"option":"LONG"}}"#, "suffix.option"),
        (#"{"longDynamicLink":"\#(long)","suffix":{"option":4}}"#, "suffix.option"),
        // V6.
        (#"{"dynamicLinkInfo":{"link":"https://a.example"}}"#, "dynamicLinkInfo.domainUriPrefix"),
        (
            #"{"dynamicLinkInfo":{"domainUriPrefix":"https://go.example.com","dynamicLinkDomain":"go.example.com","link":"https://a.example"}}"#,
            "dynamicLinkInfo.domainUriPrefix"
        ),
        (
            #"{"dynamicLinkInfo":{"domainUriPrefix":"https://evil.app.goo.gl","link":"https://a.example"}}"#,
            "dynamicLinkInfo.domainUriPrefix"
        ),
        // V9, V10.
        (
            #"{"dynamicLinkInfo":{"domainUriPrefix":"\#(LinkGateway.prefix)","link":"javascript:alert(1)"}}"#,
            "dynamicLinkInfo.link"
        ),
        (
            #"{"dynamicLinkInfo":{"domainUriPrefix":"\#(LinkGateway.prefix)","link":"https://c.example/"}}"#,
            "dynamicLinkInfo.link"
        ),
        (
            #"{"dynamicLinkInfo":{"domainUriPrefix":"\#(LinkGateway.prefix)","link":"https://a.example/","iosInfo":{"iosFallbackLink":"https://c.example/"}}}"#,
            "dynamicLinkInfo.iosInfo.iosFallbackLink"
        ),
    ]

    @Test("what can't be a link is refused with 400 and its field", arguments: refused)
    func refusal(body: String, field: String) async throws {
        let gateway = try await LinkGateway()
        let answer = try await gateway.call(.post, "/v1/shortLinks", body, as: .client)
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT")
        #expect(try answer.badFields == [field], "\(answer.text)")
    }

    @Test("a short link is not shortened again")
    func shortAsLong() async throws {
        let gateway = try await LinkGateway()
        let short = try await gateway.shorten(Self.long)
        let answer = try await gateway.call(.post, "/v1/shortLinks", #"{"longDynamicLink":"\#(short)"}"#, as: .client)
        #expect(answer.status == 400)
        #expect(try answer.errorStatus == "INVALID_ARGUMENT" && answer.errorMessage?.contains("short link") == true)
    }

    /// Queries beside `link`, and the codes of their warnings.
    static let warnings: [(String, [String])] = [
        ("zzz=1", ["UNRECOGNIZED_PARAM"]),
        ("apn=com.example.app&amv=abc", ["NOT_INTEGER_ANDROID_PACKAGE_MIN_VERSION"]),
        ("amv=7", ["UNNECESSARY_ANDROID_PACKAGE_MIN_VERSION"]),
        ("apn=com.example.none", ["NOT_IN_PROJECT_ANDROID_PACKAGE_NAME"]),
        ("d=2", ["BAD_DEBUG_PARAM"]),
        ("ibi=com.example.app&isi=5", ["NOT_MATCHING_IOS_BUNDLE_ID_AND_STORE_ID"]),
        ("apn=com.example.app&ibi=com.example.app&isi=1234567890", []),
    ]

    @Test("what is odd about a link is warned of, and the link is made", arguments: warnings)
    func warning(query: String, codes: [String]) async throws {
        let gateway = try await LinkGateway()
        let answer = try await gateway.call(
            .post, "/v1/shortLinks", #"{"longDynamicLink":"\#(Self.long)&\#(query)"}"#, as: .client)
        #expect(answer.status == 200)
        let list = try answer.list("warning") ?? []
        #expect(list.compactMap { $0["warningCode"]?.stringValue } == codes, "\(answer.text)")
        #expect(list.allSatisfy { $0["warningMessage"]?.stringValue?.isEmpty == false })
    }

    @Test("the deprecated field for the domain is warned of")
    func oldDomain() async throws {
        let gateway = try await LinkGateway()
        for (field, codes) in [
            (#"dynamicLinkDomain":""#, ["DEPRECATED_PARAM"]), (#"domainUriPrefix":"https://"#, []),
        ] as [(String, [String])] {
            let answer = try await gateway.call(
                .post, "/v1/shortLinks",
                #"{"dynamicLinkInfo":{"\#(field)go.example.com","link":"https://a.example/x"}}"#, as: .client)
            let list = try answer.list("warning") ?? []
            #expect(list.compactMap { $0["warningCode"]?.stringValue } == codes, "\(answer.text)")
        }
    }

    /// The same link in the spellings of several clients.
    static let spellings = [
        #"""
        {"dynamicLinkInfo":{"domainUriPrefix":"https://go.example.com","link":"https://a.example/x","androidInfo":
        {"androidPackageName":"com.example.app","androidMinPackageVersionCode":"12"},"navigationInfo":
        {"enableForcedRedirect":true},"analyticsInfo":{"googlePlayAnalytics":{"utmSource":"s"}}},"suffix":{"option":"SHORT"}}
        """#,
        #"""
        {"dynamic_link_info":{"domain_uri_prefix":"https://go.example.com/","link":"https://a.example/x","android_info":
        {"android_package_name":"com.example.app","android_min_package_version_code":12},"navigation_info":
        {"enable_forced_redirect":1},"analytics_info":{"google_play_analytics":{"utm_source":"s"}}},"suffix":{"option":2},
        "sdk_version":"10.0","plugin":{"any":"thing"}}
        """#,
        #"""
        {"dynamicLinkInfo":{"dynamicLinkDomain":"go.example.com","link":"https://a.example/x","androidInfo":
        {"androidPackageName":"com.example.app","androidMinPackageVersionCode":12,"androidFallbackLink":""},"navigationInfo":
        {"enableForcedRedirect":"1"},"analyticsInfo":{"googlePlayAnalytics":{"utmSource":"s"}}},"suffix":{"option":"SHORT"}}
        """#,
        #"{"longDynamicLink":"https://go.example.com/?utm_source=s&efr=1&amv=12&apn=com.example.app&link=https%3A%2F%2Fa.example%2Fx","suffix":{"option":2}}"#,
    ]

    @Test("names in both spellings, enums as numbers and numbers as text make the same link")
    func sameSpellings() async throws {
        let gateway = try await LinkGateway()
        var links: Set<String> = []
        for body in Self.spellings {
            let answer = try await gateway.call(.post, "/v1/shortLinks", body, as: .client)
            links.insert(try #require(try answer.json["shortLink"]?.stringValue, "\(answer.text)"))
        }
        #expect(links.count == 1)
    }

    @Test("the API key may stand in the query, for links only")
    func queryKey() async throws {
        let gateway = try await LinkGateway()
        let key = try #require(gateway.gateway.keys[.client]).text
        let body = #"{"longDynamicLink":"\#(Self.long)"}"#
        #expect(try await gateway.call(.post, "/v1/shortLinks?key=\(key)", body, as: nil).status == 200)
        #expect(try await gateway.call(.post, "/v1/shortLinks?key=hk_1_2", body, as: nil).status == 401)
        #expect(try await gateway.call(.post, "/v1/shortLinks", body, as: nil).status == 401)
        let admin = try #require(gateway.gateway.keys[.admin]).text
        #expect(try await gateway.call(.get, "/v1/projects/demo/messages?key=\(admin)", as: nil).status == 401)
    }

    @Test("short suffixes grow before a thousandth of them is given")
    func growth() async throws {
        let gateway = try await LinkGateway()
        let project = try #require(ProjectID(rawValue: "demo"))
        for start in stride(from: 0, to: 15_000, by: 1000) {
            let links = (start..<start + 1000).map { number in
                NewLink(
                    project: project, prefix: "go.example.com", suffixes: [String(50_000 + number, radix: 36)],
                    kind: .short, parameters: Self.encoded, createdAt: TestGateway.startTime)
            }
            _ = try await gateway.gateway.store.importLinks(links)
        }
        let short = try await gateway.shorten(Self.long, option: "SHORT")
        #expect(short.wholeMatch(of: /https:\/\/go\.example\.com\/[0-9A-Za-z]{5}/) != nil, "\(short)")
    }

    @Test("client keys make a few links a second from one address; backends make any number")
    func quota() async throws {
        var rates = ClientRateLimits.Rates.none
        rates.newLinkProject = 1
        let start = ContinuousClock.now
        let gateway = try await LinkGateway(clientLimits: ClientRateLimits(rates, now: { start }))
        for number in 0..<10 { _ = try await gateway.shorten(Self.long + "\(number)") }
        let answer = try await gateway.call(
            .post, "/v1/shortLinks", #"{"longDynamicLink":"\#(Self.long)"}"#, as: .client)
        #expect(answer.status == 429 && answer.headers[.retryAfter] != nil)
        #expect(try answer.errorMessage?.contains("limits.newLinkProjectRate") == true)
        _ = try await gateway.shorten(Self.long, as: .sender)
    }

    @Test("a project without links says so")
    func noLinks() async throws {
        let gateway = try await LinkGateway()
        try gateway.hosts.replace(with: [])
        let answer = try await gateway.call(.post, "/v1/shortLinks", #"{"longDynamicLink":"\#(Self.long)"}"#)
        #expect(answer.status == 400)
        #expect(
            try answer.errorStatus == "FAILED_PRECONDITION" && answer.errorMessage?.contains("links.prefixes") == true)
    }
}
