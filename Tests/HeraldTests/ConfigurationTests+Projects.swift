import APNS
import Crypto
import Foundation
import Logging
import PushModel
import Simulators
import Synchronization
import TestSupport
import Testing
import Upstream

@testable import herald

/// The files of a projects directory.
struct ProjectFileTests {
    /// A directory with a good key, `wrong.p8` (P-384), `text.p8` (no key) and `ca.pem`.
    private struct Files {
        let directory: TestDirectory
        var key: String { directory.file("AuthKey_ABC1234567.p8") }

        init() throws {
            directory = try TestDirectory()
            try FileManager.default.createDirectory(
                atPath: directory.file("projects"), withIntermediateDirectories: true)
            try write("AuthKey_ABC1234567.p8", P256.Signing.PrivateKey().pemRepresentation)
            try write("AuthKey_P384AAAAAA.p8", P384.Signing.PrivateKey().pemRepresentation)
            try write("AuthKey_TEXTAAAAAA.p8", "not a key\n")
            try write("other.p8", P256.Signing.PrivateKey().pemRepresentation)
            try write("ca.pem", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
        }

        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(filePath: directory.file(name)))
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: directory.file(name))
        }

        func read(
            environmentProxy: EnvironmentProxy? = nil, retention: RetentionPolicy = RetentionPolicy()
        ) throws(ConfigurationError) -> ProjectSet {
            try ProjectSet.read(
                directory: directory.file("projects"),
                configuredAt: ConfigurationPlace(source: "herald.yaml", line: 7), environmentProxy: environmentProxy,
                retention: retention)
        }

        /// The lines of the problems, the directory left out.
        func problems() -> [String] {
            do {
                _ = try read()
                return []
            } catch {
                return error.problems.map { relative($0.description) }
            }
        }

        func relative(_ text: String) -> String {
            text.replacing(directory.path + "/", with: "").replacing("projects/", with: "")
        }
    }

    private static func project(
        id: String = "demo", number: String = "123456789012", app: String = "com.example.app",
        key: String = "KEYS/AuthKey_ABC1234567.p8", more: String = "", tail: String = ""
    ) -> String {
        """
        project: \(id)
        number: \(number)
        apps:
          - id: \(app)
            platform: apple
            apns:
              team: TEAM123456
              key: \(key)\(more.isEmpty ? "" : "\n      " + more)
        \(tail)
        """
    }

    @Test func aWebAppHasAHostAndNoUpstream() throws {
        let files = try Files()
        let text = """
            project: demo
            number: 1
            apps:
              - id: www.example.com
                platform: web
            """
        try files.write("projects/web.yaml", text)
        let both = Self.project(id: "both", number: "2", tail: "  - id: app.example.com\n    platform: web")
        try files.write("projects/both.yaml", both.replacing("KEYS", with: files.directory.path))
        let set = try files.read()
        let web = try #require(set.projects.first { $0.id.rawValue == "demo" })
        #expect(web.apps.values.map(\.platform) == [.web] && web.apps.keys.map(\.id.rawValue) == ["www.example.com"])
        #expect(set.projects.first { $0.id.rawValue == "both" }?.apps.count == 2)
        #expect(set.upstreams.map(\.app.rawValue) == ["com.example.app"])
    }

    @Test func thePolicyForStaleRegistrationsIsRead() throws {
        let files = try Files()
        func write(_ tail: String) throws {
            try files.write(
                "projects/demo.yaml", Self.project(tail: tail).replacing("KEYS", with: files.directory.path))
        }
        try write("")
        #expect(try files.read().projects.first?.stale == StalePolicy())
        #expect(try files.read().projects.first?.topics == TopicPolicy(clientLimit: 10_000))
        #expect(try files.read().projects.first?.requiresInstallation == true)
        try write("registrations:\n  staleAfterDays: 30\n  stale: skip\n  requireInstallation: false")
        let policy = try files.read().projects.first?.stale
        #expect(try files.read().projects.first?.requiresInstallation == false)
        #expect(policy?.afterDays == 30 && policy?.action == .skip)
        try write("registrations:\n  staleAfterDays: 0\n  stale: drop\n  stael: x\n  requireInstallation: maybe")
        let problems = files.problems()
        #expect(problems.count == 4)
        #expect(problems.contains { $0.contains("registrations.stael: unknown key") }, "\(problems)")
        #expect(problems.contains { $0.contains("registrations.staleAfterDays") })
        #expect(problems.contains { $0.contains("registrations.stale:") })
        #expect(problems.contains { $0.contains("registrations.requireInstallation") })
    }

    @Test func theProjectsRetentionOverridesTheGateways() throws {
        let files = try Files()
        func write(_ tail: String) throws {
            try files.write(
                "projects/demo.yaml", Self.project(tail: tail).replacing("KEYS", with: files.directory.path))
        }
        let gateway = RetentionPolicy(ledgerDays: 60, payloadDays: 20, idempotencyHours: 12, receiptsDays: 40)
        try write("")
        #expect(try files.read(retention: gateway).projects.first?.retention == gateway)
        try write("retention:\n  ledgerDays: 30\n  payloadDays: 0")
        #expect(
            try files.read(retention: gateway).projects.first?.retention
                == RetentionPolicy(ledgerDays: 30, payloadDays: 0, idempotencyHours: 12, receiptsDays: 30))
        try write("retention:\n  receiptsDays: 91\n  idempotencyHours: 0\n  eventHours: 5")
        let problems = files.problems()
        #expect(problems.count == 3, "\(problems)")
        #expect(
            problems.contains { $0.contains("retention.receiptsDays: 91 is longer than retention.ledgerDays (90)") })
        #expect(problems.contains { $0.contains("retention.idempotencyHours: 0 is out of range; use 1 to 744") })
        #expect(problems.contains { $0.contains("retention.eventHours: unknown key") })
    }

    @Test func theTopicPolicyForClientsIsRead() throws {
        let files = try Files()
        func write(_ tail: String) throws {
            try files.write(
                "projects/demo.yaml", Self.project(tail: tail).replacing("KEYS", with: files.directory.path))
        }
        try write("topics:\n  clientLimit: 7\n  clientPattern: news-*")
        let policy = try files.read().projects.first?.topics
        #expect(policy == TopicPolicy(clientLimit: 7, clientPattern: TopicPattern(rawValue: "news-*")))
        try write("topics:\n  clientLimit: -1\n  clientPattern: a b\n  pattern: x")
        let problems = files.problems()
        #expect(problems.count == 3, "\(problems)")
        #expect(problems.contains { $0.contains("topics.clientPattern: \"a b\" is no pattern") }, "\(problems)")
    }

    @Test func goodFileGivesProjectAndUpstream() throws {
        let files = try Files()
        let text = Self.project(
            more: "environment: sandbox\n      endpoint: 127.0.0.1:2197\n      trust: KEYS/ca.pem",
            tail: "    firebaseKeys: full\nweight: 7")
        try files.write("projects/demo.yaml", text.replacing("KEYS", with: files.directory.path))
        let set = try files.read()
        let app = try #require(set.projects.first?.apps.values.first)
        #expect(set.projects.map(\.id.rawValue) == ["demo"])
        #expect(set.projects.map(\.number) == [123_456_789_012])
        #expect(set.projects.map(\.weight) == [7])
        #expect(app.id.rawValue == "com.example.app")
        #expect(app.deviceService?.environment == .sandbox)
        #expect(app.deviceService?.firebaseKeys == .full)
        let upstream = try #require(set.upstreams.first)
        guard case .providerKey("TEAM123456", "ABC1234567", _) = upstream.credential else {
            Issue.record("\(upstream.credential)")
            return
        }
        let endpoint = UpstreamEndpoint(host: "127.0.0.1", port: 2197)
        #expect(upstream.endpoints == [.production: endpoint, .sandbox: endpoint])
        #expect(upstream.trustFile == files.directory.file("ca.pem"))
        #expect(set.warnings.isEmpty)
    }

    @Test func missingFieldsHaveTheirDefaults() throws {
        let files = try Files()
        try files.write(
            "projects/demo.yml", Self.project(more: "trust: system").replacing("KEYS", with: files.directory.path))
        let set = try files.read()
        let app = try #require(set.projects.first?.apps.values.first)
        #expect(app.deviceService?.environment == .production)
        #expect(app.deviceService?.firebaseKeys == .standard)
        #expect(set.projects.map(\.weight) == [1])
        #expect(set.upstreams.first?.trustFile == nil)
        #expect(
            set.upstreams.first?.endpoints
                == [.production: .apple(.production), .sandbox: .apple(.sandbox)])
    }

    @Test func endpointOfOneEnvironmentLeavesTheOtherAsItIs() throws {
        let files = try Files()
        let text = Self.project(more: "endpoint:\n        sandbox: \"[::1]:99\"")
        try files.write("projects/demo.yaml", text.replacing("KEYS", with: files.directory.path))
        let endpoints = try #require(try files.read().upstreams.first?.endpoints)
        #expect(endpoints == [.production: .apple(.production), .sandbox: UpstreamEndpoint(host: "::1", port: 99)])
    }

    @Test func keyIDOfTheFileIsOverriddenByTheField() throws {
        let files = try Files()
        let text = Self.project(key: "KEYS/other.p8", more: "keyID: ZZZ9999999")
        try files.write("projects/demo.yaml", text.replacing("KEYS", with: files.directory.path))
        let credential = try #require(try files.read().upstreams.first?.credential)
        guard case .providerKey(_, "ZZZ9999999", _) = credential else {
            Issue.record("\(credential)")
            return
        }
    }

    /// A project file and its problems.
    struct Mistake: Sendable {
        let text: String
        let line: String

        init(_ text: String, _ line: String) {
            self.text = text
            self.line = line
        }
    }

    static let mistakes: [Mistake] = [
        Mistake(
            project(id: "a b"),
            #"demo.yaml:1: project: "a b" is not a project id; use 1 to 63 of A-Z a-z 0-9 _ - with at least one letter"#
        ),
        Mistake(
            project(id: "123"),
            #"demo.yaml:1: project: "123" is not a project id; use 1 to 63 of A-Z a-z 0-9 _ - with at least one letter"#
        ),
        Mistake(project(number: "-5"), "demo.yaml:2: number: -5 is out of range; use 1 or more"),
        Mistake(project(tail: "weight: 101"), "demo.yaml:9: weight: 101 is out of range; use 1 to 100"),
        Mistake(project(number: "abc"), #"demo.yaml:2: number: expected a whole number, found "abc""#),
        Mistake(
            project(app: "com/example"),
            #"demo.yaml:4: apps[0].id: "com/example" is not a bundle id; use 1 to 255 of A-Z a-z 0-9 . _ -"#
        ),
        Mistake(
            project(key: "KEYS/AuthKey_MISSING000.p8"),
            "demo.yaml:8: apps[0].apns.key: AuthKey_MISSING000.p8: no such file"
        ),
        Mistake(
            project(key: "KEYS/AuthKey_P384AAAAAA.p8"),
            "demo.yaml:8: apps[0].apns.key: AuthKey_P384AAAAAA.p8: not a P-256 key; "
                + "APNs takes no other; use the .p8 of the developer account"
        ),
        Mistake(
            project(key: "KEYS/AuthKey_TEXTAAAAAA.p8"),
            "demo.yaml:8: apps[0].apns.key: AuthKey_TEXTAAAAAA.p8: no private key in it; "
                + "use the .p8 as it came from the developer account"
        ),
        Mistake(
            project(key: "KEYS/other.p8"),
            "demo.yaml:8: apps[0].apns.key: no key id in the file name other.p8; "
                + "name it AuthKey_<key id>.p8 or add \"keyID: ABC1234567\""
        ),
        Mistake(
            project(key: "'-----BEGIN PRIVATE KEY-----'"),
            "demo.yaml:8: apps[0].apns.key: give the path of the .p8 file, not the key itself"
        ),
        Mistake(
            project(more: "keyID: short"),
            "demo.yaml:9: apps[0].apns.keyID: \"short\" must be 10 upper-case letters and digits, such as ABC1234567"
        ),
        Mistake(
            project().replacing("TEAM123456", with: "team123456"),
            "demo.yaml:7: apps[0].apns.team: \"team123456\" must be 10 upper-case letters and digits, such as TEAM123456"
        ),
        Mistake(
            project().replacing("      team: TEAM123456\n", with: ""),
            "demo.yaml:6: apps[0].apns.team: missing; add \"team: TEAM123456\""
        ),
        Mistake(
            project(more: "enviroment: sandbox"),
            "demo.yaml:9: apps[0].apns.enviroment: unknown key; did you mean \"environment\"?"
        ),
        Mistake(
            project(more: "environment: staging"),
            "demo.yaml:9: apps[0].apns.environment: \"staging\" is not known; use one of production, sandbox"
        ),
        Mistake(
            project(more: "endpoint: api.push.apple.com"),
            "demo.yaml:9: apps[0].apns.endpoint: \"api.push.apple.com\" is not host:port; "
                + "write it like api.push.apple.com:443"
        ),
        Mistake(
            project(more: "endpoint:\n        prodution: a:1"),
            "demo.yaml:10: apps[0].apns.endpoint.prodution: unknown key; did you mean \"production\"?"
        ),
        Mistake(
            project(more: "publicationsPerMinute: 60001"),
            "demo.yaml:9: apps[0].apns.publicationsPerMinute: 60001 is out of range; use 0 to 60000"
        ),
        Mistake(project(more: "trust: KEYS/none.pem"), "demo.yaml:9: apps[0].apns.trust: none.pem: no such file"),
        Mistake(
            project(more: "trust: KEYS/other.p8"),
            "demo.yaml:9: apps[0].apns.trust: other.p8: no PEM certificate in it"
        ),
        Mistake(
            project(more: "proxy: https://proxy.example.com"),
            "demo.yaml:9: apps[0].apns.proxy: \"https://proxy.example.com\" "
                + "must begin with http://, which is how the proxy is spoken to; TLS goes through it"
        ),
        Mistake(
            project(more: "proxy: proxy.example.com:99999"),
            "demo.yaml:9: apps[0].apns.proxy: \"proxy.example.com:99999\" is not a proxy; "
                + "write it like http://proxy.example.com:3128"
        ),
        Mistake(
            project(more: "proxy: http://anna:hunter2@proxy.example.com"),
            "demo.yaml:9: apps[0].apns.proxy: must not hold a password; write user:password to a file (chmod 600) "
                + "and name it in proxyCredentialsFile"
        ),
        Mistake(
            project(more: "proxyCredentialsFile: KEYS/proxy"),
            "demo.yaml:9: apps[0].apns.proxyCredentialsFile: needs a proxy; add \"proxy: http://host:port\""
        ),
        Mistake(
            project(more: "proxy: http://p:1\n      proxyCredentialsFile: KEYS/none"),
            "demo.yaml:10: apps[0].apns.proxyCredentialsFile: none: no such file"
        ),
        Mistake(
            project(more: "proxy: http://p:1\n      proxyCredentialsFile: KEYS/ca.pem"),
            "demo.yaml:10: apps[0].apns.proxyCredentialsFile: ca.pem: expected one line user:password"
        ),
        Mistake(
            project(more: "certificate: c.pem"),
            "demo.yaml:9: apps[0].apns.certificate: an app has a provider key or a certificate, not both; "
                + "remove certificate or team"
        ),
        Mistake(
            project(more: "p12: c.p12"),
            "demo.yaml:9: apps[0].apns.p12: an app has a provider key or a certificate, not both; remove p12 or team"
        ),
        Mistake(
            project(tail: "    firebaseKeys: all"),
            "demo.yaml:9: apps[0].firebaseKeys: \"all\" is not known; use one of none, standard, full"
        ),
        Mistake(
            project().replacing("apple", with: "symbian"),
            #"demo.yaml:5: apps[0].platform: "symbian" is not known; use one of apple, android, web"#
        ),
        Mistake(
            project(tail: "  - id: www.example.com\n    platform: web\n    apns: {}"),
            "demo.yaml:11: apps[1].apns: unknown key; known here: id, platform, webPush"
        ),
        Mistake(
            project(tail: "  - id: WWW.example.com\n    platform: web"),
            "demo.yaml:9: apps[1].id: \"WWW.example.com\" is not the host of a page; "
                + "use 1 to 255 of a-z 0-9 . _ -"
        ),
        Mistake("project: demo\nnumber: 1", "demo.yaml:1: apps: missing; add at least one app"),
        Mistake("project: demo\nnumber: 1\napps: []", "demo.yaml:3: apps: the list is empty; add at least one app"),
        Mistake(
            "project: demo\nnumber: 1\napps:\n  id: x",
            "demo.yaml:3: apps: expected a list (lines that begin with \"-\"), found keys and values"
        ),
        Mistake(
            "project: demo\nnumber: 1\napps:\n  - com.example.app",
            "demo.yaml:4: apps[0]: expected keys and values, found \"com.example.app\""
        ),
        Mistake("", "demo.yaml:1: the file is empty; a project file needs project, number and apps"),
    ]

    @Test(arguments: mistakes)
    func eachMistakeIsToldInOneLine(mistake: Mistake) throws {
        let files = try Files()
        try files.write("projects/demo.yaml", mistake.text.replacing("KEYS", with: files.directory.path))
        #expect(files.problems() == [mistake.line])
    }

    @Test func duplicatesAcrossFilesAreReported() throws {
        let files = try Files()
        for name in ["a", "b"] {
            try files.write(
                "projects/\(name).yaml", Self.project().replacing("KEYS", with: files.directory.path))
        }
        #expect(
            files.problems() == [
                "b.yaml:1: project: demo is taken already at a.yaml:1",
                "b.yaml:2: number: 123456789012 is taken already at a.yaml:2",
                "b.yaml:4: apps[0].id: com.example.app is taken already at a.yaml:4",
            ])
    }

    @Test func aPathThatIsNoDirectoryIsReportedAtItsLine() throws {
        let files = try Files()
        try FileManager.default.removeItem(atPath: files.directory.file("projects"))
        #expect(
            files.problems() == [
                "herald.yaml:7: projects: projects: no such directory; make it or name the right one"
            ])
        try files.write("projects", "x")
        #expect(
            files.problems() == [
                "herald.yaml:7: projects: projects: is a file; name the directory that holds the project files"
            ])
    }

    @Test func emptyDirectoryIsOnlyAWarning() throws {
        let files = try Files()
        try files.write("projects/demo.yaml.sample", "not read")
        let set = try files.read()
        #expect(set.projects.isEmpty)
        #expect(set.warnings.map(\.text).first?.contains("no project files") == true)
    }

    @Test func aKeyThatOthersCanReadIsRefusedAndOneOfAGroupWarnedOf() throws {
        let files = try Files()
        try files.write("projects/demo.yaml", Self.project().replacing("KEYS", with: files.directory.path))
        let key = "demo.yaml:8: apps[0].apns.key: AuthKey_ABC1234567.p8"
        for mode in [0o644, 0o604] {
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: mode)], ofItemAtPath: files.key)
            #expect(
                files.problems() == [
                    "\(key) is readable by every user, so what is in it is no secret; chmod 600 AuthKey_ABC1234567.p8"
                ])
        }
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o640)], ofItemAtPath: files.key)
        #expect(
            try files.read().warnings.map { files.relative($0.description) } == [
                "\(key) is readable by its group; chmod 600 AuthKey_ABC1234567.p8"
            ])
    }

    /// A mounted secret is a link, whose own mode says nothing.
    @Test func theModeOfALinkedKeyIsThatOfItsTarget() throws {
        let files = try Files()
        try files.write("projects/demo.yaml", Self.project().replacing("KEYS", with: files.directory.path))
        try FileManager.default.moveItem(atPath: files.key, toPath: files.directory.file("target"))
        try FileManager.default.createSymbolicLink(
            atPath: files.key, withDestinationPath: files.directory.file("target"))
        #expect(try files.read().warnings.isEmpty)
    }

    @Test func sampleIsValidOnceItsKeyIsThere() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let sample = try String(
            contentsOfFile: root.appending(path: "Config/projects/demo.yaml.sample").path(), encoding: .utf8)
        let files = try Files()
        try files.write("projects/demo.yaml", sample.replacing("key: keys/", with: "key: \(files.directory.path)/"))
        #expect(files.problems() == [])
    }

    /// What a file says about a proxy while the environment names `env:1` except for sandbox, and the ways.
    static let proxies: [(String, String?, String?)] = [
        ("trust: system", "env:1", nil), ("proxy: none", nil, nil), ("proxy: http://p", "p:80", "p:80"),
        ("proxy: http://[::1]:3128/", "[::1]:3128", "[::1]:3128"),
    ]

    @Test(arguments: proxies)
    func proxyOfTheFileGoesBeforeTheEnvironment(line: String, production: String?, sandbox: String?) throws {
        let files = try Files()
        try files.write("projects/demo.yaml", Self.project(more: line).replacing("KEYS", with: files.directory.path))
        var problems: [ConfigurationProblem] = []
        let environment = EnvironmentProxy(
            environment: ["https_proxy": "http://env:1", "no_proxy": "api.sandbox.push.apple.com"],
            problems: &problems)
        let set = try files.read(environmentProxy: environment)
        let proxies = try #require(set.upstreams.first?.proxies)
        #expect(proxies[.production]?.description == production)
        #expect(proxies[.sandbox]?.description == sandbox)
        #expect(problems.isEmpty)
    }

    @Test func credentialsOfTheProxyComeFromAFile() throws {
        let files = try Files()
        try files.write("proxy", "anna:hun:ter2\n")
        let text = Self.project(more: "proxy: http://p:1\n      proxyCredentialsFile: KEYS/proxy")
        try files.write("projects/demo.yaml", text.replacing("KEYS", with: files.directory.path))
        let set = try files.read()
        let proxy = try #require(set.upstreams.first?.proxies[.production])
        #expect(proxy.credentials == .init(user: "anna", password: "hun:ter2"))
        #expect(set.warnings.isEmpty)
        for text in ["\(set.upstreams)", String(reflecting: proxy), "\(proxy.credentials as Any)"] {
            #expect(!text.contains("ter2"))
        }
        try FileManager.default.setAttributes(
            [.posixPermissions: NSNumber(value: 0o644)], ofItemAtPath: files.directory.file("proxy"))
        #expect(files.problems().count == 1 && files.problems()[0].contains("apns.proxyCredentialsFile: proxy is"))
        try FileManager.default.setAttributes(
            [.posixPermissions: NSNumber(value: 0o640)], ofItemAtPath: files.directory.file("proxy"))
        #expect(try files.read().warnings.map(\.field) == ["apps[0].apns.proxyCredentialsFile"])
    }

    @Test func senderErrorPointsAtTheFieldOfTheFile() throws {
        let files = try Files()
        let text = Self.project(more: "trust: KEYS/ca.pem")
        try files.write("projects/demo.yaml", text.replacing("KEYS", with: files.directory.path))
        let set = try files.read()
        let app = try #require(set.upstreams.first?.app)
        let problem = set.problem(of: APNSConfigurationError(app: app, field: "trust", message: "unreadable"))
        #expect(files.relative(problem.description) == "demo.yaml:9: apps[0].apns.trust: unreadable")
    }

    // MARK: Reading again

    private final class Taken: Sendable {
        let projects = Mutex<[[Project]]>([])
        let certificates = Mutex<[[WatchedCertificate]]>([])
        let lines = Mutex<[String]>([])
        let refusal = Mutex<APNSConfigurationError?>(nil)

        var ids: [[String]] { projects.withLock { $0.map { $0.map(\.id.rawValue) } } }
        var written: [String] { lines.withLock { $0 } }
    }

    private static func reloader(_ files: Files, _ taken: Taken) -> ProjectReloader {
        let output = LogOutput { line in taken.lines.withLock { $0.append(line) } }
        return ProjectReloader(
            directory: files.directory.file("projects"),
            configuredAt: ConfigurationPlace(source: "herald.yaml", line: 7),
            useUpstreams: { projects throws(ConfigurationError) in
                guard let refusal = taken.refusal.withLock({ $0 }) else { return }
                throw ConfigurationError(problems: [projects.problem(of: refusal)])
            },
            useProjects: { projects in taken.projects.withLock { $0.append(projects) } },
            useCertificates: { certificates in taken.certificates.withLock { $0.append(certificates) } },
            logger: LogFactory(format: .text, level: .info, output: output).logger(label: "test"))
    }

    @Test func goodFilesReplaceTheProjectsAndBadOnesLeaveThem() throws {
        let files = try Files()
        let taken = Taken()
        let reloader = Self.reloader(files, taken)
        let good = Self.project().replacing("KEYS", with: files.directory.path)
        try files.write("projects/demo.yaml", good)
        #expect(reloader.reload())
        #expect(taken.ids == [["demo"]])

        try files.write("projects/demo.yaml", good.replacing("team:", with: "tema:"))
        #expect(!reloader.reload())
        #expect(taken.ids == [["demo"]])
        let lines = taken.written.map { files.relative($0) }
        #expect(
            lines.contains { $0.contains("demo.yaml:7: apps[0].apns.tema: unknown key; did you mean \\\"team\\\"?") })
    }

    @Test func aDirectoryThatIsEmptyForNowLeavesTheProjects() throws {
        let files = try Files()
        let taken = Taken()
        let reloader = Self.reloader(files, taken)
        try files.write("projects/demo.yaml", Self.project().replacing("KEYS", with: files.directory.path))
        #expect(reloader.reload())
        try FileManager.default.removeItem(atPath: files.directory.file("projects/demo.yaml"))
        #expect(!reloader.reload())
        #expect(taken.ids == [["demo"]])
        #expect(taken.written.contains { $0.contains("herald.yaml:7: projects: no project files (*.yaml) in ") })
    }

    @Test func refusalOfTheSenderLeavesTheProjects() throws {
        let files = try Files()
        let taken = Taken()
        try files.write("projects/demo.yaml", Self.project().replacing("KEYS", with: files.directory.path))
        let app = try #require(AppID(rawValue: "com.example.app"))
        taken.refusal.withLock { $0 = APNSConfigurationError(app: app, field: "trust", message: "unreadable") }
        #expect(!Self.reloader(files, taken).reload())
        #expect(taken.ids.isEmpty)
        #expect(taken.written.first?.contains("unreadable") == true)
    }
}
