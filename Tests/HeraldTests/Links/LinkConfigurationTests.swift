import Crypto
import Foundation
import GatewayAPI
import HTTPListener
import PushModel
import TestSupport
import Testing

@testable import herald

/// What project files say about links.
struct LinkConfigurationTests {
    /// A directory of project files with a good key beside it.
    private struct Files {
        let directory: TestDirectory

        init() throws {
            directory = try TestDirectory()
            try FileManager.default.createDirectory(
                atPath: directory.file("projects"), withIntermediateDirectories: true)
            try write("AuthKey_ABC1234567.p8", P256.Signing.PrivateKey().pemRepresentation)
        }

        func write(_ name: String, _ text: String) throws {
            try Data(text.replacing("KEYS", with: directory.path).utf8).write(to: URL(filePath: directory.file(name)))
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: directory.file(name))
        }

        func read() throws(ConfigurationError) -> ProjectSet {
            try ProjectSet.read(
                directory: directory.file("projects"),
                configuredAt: ConfigurationPlace(source: "herald.yaml", line: 7))
        }

        func problems() -> [String] {
            do {
                _ = try read()
                return []
            } catch {
                return error.problems.map { $0.description.replacing(directory.file("projects/"), with: "") }
            }
        }
    }

    private static func project(
        id: String = "demo", number: Int = 1, links: String = "  prefixes: [\"https://go.example.com\"]\n",
        apps: String = "  - {id: com.example.app, platform: apple, appIDPrefix: PREFIX1234}\n"
    ) -> String {
        "project: \(id)\nnumber: \(number)\n" + (links.isEmpty ? "" : "links:\n" + links) + "apps:\n" + apps
    }

    private static let apple = """
          - id: com.example.app
            platform: apple
            appStoreID: 1234567890
            heuristicMatch: false
            apns:
              team: TEAM123456
              key: KEYS/AuthKey_ABC1234567.p8

        """
    private static let fingerprint = (0..<32).map { _ in "aB" }.joined(separator: ":")

    @Test func theBlockIsReadWithWhatAppsSay() throws {
        let files = try Files()
        let links = """
              prefixes: ["https://Go.example.com/", "https://links.example.com/promo"]
              preview: https://preview.example.com
              targets: ["a.example", "*.B.example"]
              patterns: ["https://c[.]example/.*"]

            """
        let android = "  - {id: com.example.app, platform: android, sha256: [\"\(Self.fingerprint)\"]}\n"
        try files.write("projects/demo.yaml", Self.project(links: links, apps: Self.apple + android))
        let set = try files.read()
        let project = try #require(set.projects.first)
        let settings = try #require(project.links)
        #expect(settings.prefixes.map(\.url) == ["https://go.example.com", "https://links.example.com/promo"])
        #expect(settings.preview?.url == "https://preview.example.com")
        #expect(settings.targets == ["a.example", "*.b.example"] && settings.patterns == ["https://c[.]example/.*"])
        #expect(settings.heuristicApps.isEmpty)
        let id = try #require(AppID(rawValue: "com.example.app"))
        let (app, other) = (project.apps[AppKey(.apple, id)], project.apps[AppKey(.android, id)])
        #expect(app?.links == AppLinkIdentity(appStoreID: 1_234_567_890, appIDPrefix: "TEAM123456"))
        #expect(other?.links == AppLinkIdentity(sha256: [Self.fingerprint.uppercased()]))
        #expect(app?.isServed == true && other?.isServed == false)
        #expect(set.warnings.isEmpty, "\(set.warnings)")
    }

    @Test func anAppOfAProjectWithLinksNeedsNoUpstream() throws {
        let files = try Files()
        try files.write("projects/demo.yaml", Self.project())
        let set = try files.read()
        let app = try #require(set.projects.first?.apps.values.first)
        #expect(app.platform == .apple && app.deviceService == nil && !app.isServed)
        #expect(app.links.appIDPrefix == "PREFIX1234")
        #expect(set.projects.first?.links?.heuristicApps == [app.id])
        #expect(set.upstreams.isEmpty)
        // Nothing is allowed yet: said, and no mistake.
        #expect(set.warnings.map(\.field) == ["links.targets"])
        try files.write("projects/demo.yaml", Self.project(apps: "  - {id: com.example.app, platform: apple}\n"))
        #expect(try files.read().warnings.map(\.field) == ["links.targets", "apps[0].appIDPrefix"])
        try files.write("projects/demo.yaml", Self.project(links: ""))
        #expect(files.problems() == ["demo.yaml:4: apps[0].apns: missing; add team and key, or a certificate"])
    }

    @Test func windowsAndRulesAreSettings() throws {
        let files = try Files()
        let text = Self.project(links: "  prefixes: [\"https://go.example.com\"]\n  targets: [a.example]\n")
        try files.write("projects/demo.yaml", text)
        let defaults = try #require(try files.read().projects.first?.links)
        #expect(defaults.windows == ClickWindows() && defaults.referralRules == ReferralRules())
        let blocks = """
              attribution: {heuristicMinutes: 90, clipboardHours: 48, referrerDays: 90}
              referral: {rewardsPerDay: 5, openingsPerAddress: 2, openingsPerHour: 7}

            """
        try files.write("projects/demo.yaml", text.replacing("apps:\n", with: blocks + "apps:\n"))
        let settings = try #require(try files.read().projects.first?.links)
        #expect(settings.windows.heuristic == .seconds(5400) && settings.windows.clipboard == .seconds(172_800))
        #expect(settings.windows.referrer == .seconds(90 * 86_400))
        let rules = settings.referralRules
        #expect((rules.rewardsPerDay, rules.openingsPerAddress, rules.openingsPerHour) == (5, 2, 7))
        let wrong = """
              attribution: {heuristicMinutes: 1441, clipboardHours: 0, referrerDays: 91, minutes: 1}
              referral: {rewardsPerDay: 0, openingsPerAddress: many}

            """
        try files.write("projects/demo.yaml", text.replacing("apps:\n", with: wrong + "apps:\n"))
        #expect(
            files.problems() == [
                "demo.yaml:6: links.attribution.minutes: unknown key; "
                    + "known here: clipboardHours, heuristicMinutes, referrerDays",
                "demo.yaml:6: links.attribution.heuristicMinutes: 1441 is out of range; use 1 to 1440",
                "demo.yaml:6: links.attribution.clipboardHours: 0 is out of range; use 1 to 720",
                "demo.yaml:6: links.attribution.referrerDays: 91 is out of range; use 1 to 90",
                "demo.yaml:7: links.referral.rewardsPerDay: 0 is out of range; use 1 to 1000000",
                "demo.yaml:7: links.referral.openingsPerAddress: expected a whole number, found \"many\"",
            ], "\(files.problems())")
    }

    static let mistakes: [(links: String, app: String, problem: String)] = [
        (
            "  preview: https://p.example.com\n", "",
            "demo.yaml:3: links.prefixes: missing; add \"prefixes: [https://go.example.com]\""
        ),
        (
            "  prefixes: [\"http://go.example.com\"]\n", "",
            "demo.yaml:4: links.prefixes[0]: \"http://go.example.com\" is no prefix of links; use \(LinkPrefix.expectation)"
        ),
        (
            "  prefixes: https://go.example.com\n", "",
            "demo.yaml:4: links.prefixes: expected a list, as [a, b] or lines that begin with \"-\", "
                + "found \"https://go.example.com\""
        ),
        (
            "  prefixes: [\"https://go.example.com\"]\n  preview: https://go.example.com\n", "",
            "demo.yaml:5: links.preview: go.example.com has links already; the preview page needs another host"
        ),
        (
            "  prefixes: [\"https://go.example.com/a\", \"https://go.example.com/a/i\"]\n", "",
            "demo.yaml:4: links.prefixes[1]: go.example.com/a/i/… are the invitations of go.example.com/a; "
                + "take another path"
        ),
        (
            "  prefixes: [\"https://go.example.com\"]\n  preview: https://p.example.com/x\n", "",
            "demo.yaml:5: links.preview: \"https://p.example.com/x\" is no host of a page; "
                + "write it like https://preview.example.com"
        ),
        (
            "  prefixes: [\"https://go.example.com\"]\n  targets: [\"https://a.example\"]\n", "",
            "demo.yaml:5: links.targets[0]: \"https://a.example\" is no host; use a name as www.example.com, "
                + "or *.example.com for its sub-domains"
        ),
        (
            "  prefixes: [\"https://go.example.com\"]\n  target: [a.example]\n", "",
            "demo.yaml:5: links.target: unknown key; did you mean \"targets\"?"
        ),
        (
            "", "platform: android, sha256: [\"14:6D\"]",
            "demo.yaml:6: apps[0].sha256[0]: is no SHA-256 fingerprint; write 32 bytes as \"14:6D:…\", as keytool prints them"
        ),
        (
            "", "platform: android, appStoreID: 7",
            "demo.yaml:6: apps[0].appStoreID: unknown key; known here: fcm, id, platform, sha256"
        ),
        (
            "", "platform: apple, appIDPrefix: short",
            "demo.yaml:6: apps[0].appIDPrefix: \"short\" must be 10 upper-case letters and digits, such as TEAM123456"
        ),
    ]

    @Test(arguments: mistakes)
    func aMistakeIsToldWithFileLineAndField(links: String, app: String, problem: String) throws {
        let files = try Files()
        let apps = app.isEmpty ? nil : "  - {id: com.example.app, \(app)}\n"
        var text = Self.project()
        if !links.isEmpty { text = Self.project(links: links) }
        if let apps { text = Self.project(apps: apps) }
        try files.write("projects/demo.yaml", text)
        #expect(files.problems() == [problem])
    }

    @Test func linksOfMessagesAreTrackedOnRequest() throws {
        let files = try Files()
        let text = Self.project(links: "  prefixes: [\"https://go.example.com\"]\n  targets: [a.example]\n")
        try files.write("projects/demo.yaml", text)
        #expect(try files.read().projects.first?.links?.tracksMessages == false)
        for (value, isTracked) in [("true", true), ("false", false)] {
            try files.write("projects/demo.yaml", text + "delivery:\n  trackLinks: \(value)\n")
            #expect(try files.read().projects.first?.links?.tracksMessages == isTracked)
        }
        try files.write("projects/demo.yaml", text + "delivery:\n  trackLinks: maybe\n  trackLink: true\n")
        #expect(
            files.problems() == [
                "demo.yaml:9: delivery.trackLinks: \"maybe\" is not known; use one of true, false",
                "demo.yaml:10: delivery.trackLink: unknown key; did you mean \"trackLinks\"?",
            ], "\(files.problems())")
        try files.write(
            "projects/demo.yaml", Self.project(links: "", apps: Self.apple) + "delivery:\n  trackLinks: true\n")
        #expect(
            files.problems().map { $0.replacing(#/:\d+:/#, with: "") } == [
                "demo.yaml delivery.trackLinks: needs links.prefixes; add "
                    + "\"links: {prefixes: [https://go.example.com], targets: [www.example.com]}\""
            ], "\(files.problems())")
    }

    @Test func aPrefixBelongsToOneProject() throws {
        let files = try Files()
        try files.write("projects/a.yaml", Self.project(id: "a"))
        let links = "  prefixes: [\"https://GO.example.com:8443/\"]\n"
        let app = "  - {id: com.example.other, platform: apple, appIDPrefix: PREFIX1234}\n"
        try files.write("projects/b.yaml", Self.project(id: "b", number: 2, links: links, apps: app))
        let problems = files.problems()
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("b.yaml:4: links.prefixes[0]: go.example.com is taken already at ") == true)
        #expect(problems.first?.hasSuffix("a.yaml:4") == true)
        try files.write(
            "projects/b.yaml",
            Self.project(id: "b", number: 2, links: links.replacing("8443/", with: "8443/b"), apps: app))
        #expect(files.problems() == [])
        // Nor is the page of another project on it.
        let preview = "  prefixes: [\"https://b.example.com\"]\n  preview: https://go.example.com\n"
        try files.write("projects/b.yaml", Self.project(id: "b", number: 2, links: preview, apps: app))
        #expect(files.problems().first?.hasPrefix("b.yaml:5: links.preview: go.example.com has links") == true)
    }

    @Test func furtherCertificatesAreAListOfPairs() throws {
        let directory = try TestDirectory()
        let path = directory.file("herald.yaml")
        func read(_ text: String) throws(ConfigurationError) -> GatewayConfiguration {
            do {
                try text.write(toFile: path, atomically: true, encoding: .utf8)
            } catch {
                Issue.record(error)
            }
            return try GatewayConfiguration.read(file: path, environment: [:])
        }
        let both =
            "listen:\n  certificate: a.pem\n  key: a.key\n  certificates:\n    - {certificate: b.pem, key: b.key}\n"
        let configuration = try read(both)
        #expect(configuration.listen.certificateFiles.map(\.certificate) == ["a.pem", "b.pem"])
        #expect(configuration.listener.http.tls?.keyFile == "a.key")
        #expect(configuration.listener.http.otherCertificates.map(\.keyFile) == ["b.key"])
        let alone = try read("listen:\n  certificates:\n    - {certificate: b.pem, key: b.key}\n")
        #expect(alone.listen.url(port: 1) == "https://127.0.0.1:1")
        #expect(alone.listener.http.tls?.certificateFile == "b.pem" && alone.listener.http.otherCertificates.isEmpty)
        let error = #expect(throws: ConfigurationError.self) {
            try read("listen:\n  certificates:\n    - certificate: b.pem\n      kay: b.key\n")
        }
        #expect(
            error?.problems.map { $0.description.replacing(directory.path + "/", with: "") } == [
                "herald.yaml:3: listen.certificates[0].key: missing; add \"key: tls/privkey.pem\"",
                "herald.yaml:4: listen.certificates[0].kay: unknown key; did you mean \"key\"?",
            ])
        let missing = Failure(
            certificate: FileProblem(description: "The key file b.key can't be read."), in: configuration)
        #expect(
            missing.message.replacing(directory.path + "/", with: "")
                == "herald.yaml:5: listen.certificates[0].key: The key file b.key can't be read; "
                + "name a PEM key that this user may read")
    }

    @Test(arguments: [
        ("https://Go.example.com/herald", "links (links.prefixes of demo: https://go.example.com)"),
        ("https://preview.example.com", "preview pages (links.preview of demo)"), ("https://push.example.com", nil),
    ])
    func anAPIUnderAHostOfLinksIsWarnedOf(url: String, problem: String?) throws {
        let files = try Files()
        let links =
            "  prefixes: [\"https://go.example.com\"]\n  preview: https://preview.example.com\n  targets: [a.example]\n"
        try files.write("projects/demo.yaml", Self.project(links: links))
        try files.write("herald.yaml", "data: data\npublicURL: \(url)\n")
        let configuration = try GatewayConfiguration.read(file: files.directory.file("herald.yaml"), environment: [:])
        let check = PublicHostCheck(configuration: configuration, projects: try files.read().projects)
        let warnings = check.warnings.map { $0.description.replacing(files.directory.path + "/", with: "") }
        #expect(warnings.count == (problem == nil ? 0 : 1))
        guard let problem else { return }
        #expect(warnings.first?.hasPrefix("herald.yaml:2: publicURL: ") == true, "\(warnings)")
        #expect(warnings.first?.contains(problem) == true, "\(warnings)")
    }

    private struct FileProblem: Error, CustomStringConvertible {
        let description: String
    }
}
