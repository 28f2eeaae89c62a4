import Testing

@testable import Links

struct LinkCheckTests {
    private static let link = "link=https%3A%2F%2Fa.example%2Fx"

    @Test("a plain link is warned of nothing")
    func plain() throws {
        #expect(
            try SampleLinks.check(Self.link + "&apn=com.example.app&ibi=com.example.app&isi=1234567890&amv=3") == [])
    }

    @Test("an unknown parameter is a warning")
    func unknown() throws {
        #expect(try SampleLinks.check(Self.link + "&zzz=1") == [.unrecognizedParameter])
    }

    @Test(
        "each code where it occurs",
        arguments: [
            ("apn=com.other", .androidPackageNotInProject), ("apn=%2F", .androidPackageNotInProject),
            ("apn=com.example.app&amv=abc", .androidMinimumVersionNotInteger),
            ("amv=3", .androidMinimumVersionUnnecessary), ("al=nothing", .androidLinkNotURI),
            ("al=javascript:x", .androidLinkNotURI), ("al=https%3A%2F%2Fa.example%2Fx", .androidLinkUnnecessary),
            ("afl=nothing", .androidFallbackNotURI), ("afl=javascript:x", .androidFallbackScheme),
            ("ibi=com.other", .iosBundleNotInProject), ("ipbi=com.other", .ipadBundleNotInProject),
            ("ius=shop", .iosSchemeUnnecessary), ("ibi=com.example.app&isi=abc", .appStoreIDNotNumeric),
            ("isi=1", .appStoreIDUnnecessary), ("ibi=com.example.app&isi=1", .appStoreIDNotMatching),
            ("ifl=https:x", .iosFallbackNotURI), ("ifl=data:x", .iosFallbackScheme),
            ("ipfl=https%3A%2F%2Fu@a.example", .ipadFallbackNotURI), ("ipfl=ftp://a.example", .ipadFallbackScheme),
            ("si=nothing", .socialImageNotURI), ("si=data:x", .socialImageScheme),
            ("si=https://evil.example/x.png", .socialImageNotURI), ("gclid=1", .deprecatedParameter),
            ("ofl=javascript:x", .unrecognizedParameter), ("efr=maybe", .unrecognizedParameter),
            ("d=5", .badDebugParameter), ("ad=5", .badAdParameter),
        ] as [(String, LinkWarning.Code)])
    func codes(query: String, code: LinkWarning.Code) throws {
        #expect(try SampleLinks.check(Self.link + "&" + query) == [code])
    }

    @Test("long parameters, long links and fragments are warned of")
    func lengths() throws {
        let title = String(repeating: "x", count: 2_084)
        #expect(try SampleLinks.check(Self.link + "&st=" + title) == [.tooLongParameter])
        let encoded = String(repeating: "%20", count: 2_083)
        #expect(try SampleLinks.check(Self.link + "&st=\(encoded)&sd=\(encoded)") == [.linkTooLong])
        #expect(try SampleLinks.check("link=https://a.example/x%23y") == [.linkWithFragments])
        #expect(try SampleLinks.check("link=https://a.example/x#y") == [.linkWithFragments])
    }

    @Test("apps that their systems can't verify are told of")
    func identities() throws {
        let project = SampleLinks.project(apps: [
            SampleLinks.appleApp("com.example.app", store: nil, appIDPrefix: nil),
            SampleLinks.androidApp("com.example.app", sha256: []),
        ])
        let check = LinkCheck(project: project, policy: try SampleLinks.policy())
        let parameters = LinkParameters(query: Self.link + "&apn=com.example.app&ibi=com.example.app")
        let warnings = try check.check(parameters)
        #expect(warnings.map(\.code) == [.unspecified, .unspecified])
        #expect(warnings[0].message.contains("App Links") && warnings[1].message.contains("Universal links"))
    }

    @Test(
        "a link that leads nowhere allowed is refused",
        arguments: [
            ("", .link), ("link=", .link), ("link=javascript:alert(1)", .link), ("link=data:text/html,x", .link),
            ("link=https://a.example/%0d%0aX:y", .link), ("link=https://user:pass@a.example/", .link),
            ("link=https://evil.example/", .link), ("link=https://go.example.com/abc", .link),
            ("link=https://links.example.com/%2570romo/x", .link), ("link=https://preview.example.com/", .link),
            ("link=https://a.example/&afl=https://evil.example/", .androidFallback),
            ("link=https://a.example/&al=https://evil.example/", .androidLink),
            ("link=https://a.example/&ifl=https://evil.example/", .iosFallback),
            ("link=https://a.example/&ipfl=https://evil.example/", .ipadFallback),
            ("link=https://a.example/&ofl=https://go.example.com/", .otherFallback),
        ] as [(String, LinkParameter)])
    func refused(query: String, parameter: LinkParameter) {
        let problem = #expect(throws: LinkProblem.self) { try SampleLinks.check(query) }
        #expect(problem?.parameter == parameter)
        #expect(
            problem?.description.hasPrefix("dynamicLinkInfo.\(parameter.restField) (\(parameter.rawValue)): ") == true)
    }

    @Test("a short link is no long link, and all together has a limit")
    func shortAndHuge() throws {
        let check = LinkCheck(project: SampleLinks.project(), policy: try SampleLinks.policy())
        let short = try LongLink(url: "https://go.example.com/abc?" + Self.link, prefixes: [SampleLinks.prefix])
        #expect(throws: LinkProblem.self) { try check.check(short) }
        var parameters = LinkParameters(query: Self.link)
        parameters[.socialTitle] = String(repeating: "x", count: LinkLimits.queryBytes)
        #expect(throws: LinkProblem.self) { try check.check(parameters) }
    }

    @Test("there are the 30 codes of the schema")
    func schema() {
        #expect(LinkWarning.Code.allCases.count == 30)
    }
}
