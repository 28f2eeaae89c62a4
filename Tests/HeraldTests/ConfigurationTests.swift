import Console
import Delivery
import Foundation
import GatewayAPI
import HTTPListener
import Logging
import PushModel
import TestSupport
import Testing
import Upstream

@testable import herald

/// `herald.yaml` and the environment over it.
struct ConfigurationTests {
    private static let good = """
        listen:
          host: 0.0.0.0
          port: 9090
        data: /var/lib/herald
        projects: /etc/herald/projects
        limits:
          pageSize: 500
          shutdownSeconds: 5
        log:
          level: debug
          format: json

        """

    private static func read(
        _ text: String, _ environment: [String: String] = [:]
    ) throws -> Result<GatewayConfiguration, ConfigurationError> {
        let directory = try TestDirectory()
        let path = directory.file("herald.yaml")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        do throws(ConfigurationError) {
            return .success(try GatewayConfiguration.read(file: path, environment: environment))
        } catch {
            let problems = error.problems.map { problem in
                var problem = problem
                problem.place.source = problem.place.source.replacing(directory.path + "/", with: "")
                return problem
            }
            return .failure(ConfigurationError(problems: problems))
        }
    }

    @Test func webhooksHaveAProxyOfTheirOwn() throws {
        let directory = try TestDirectory()
        let credentials = directory.file("proxy")
        try "Aladdin:open:sesame\n".write(toFile: credentials, atomically: true, encoding: .utf8)
        func setMode(_ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: mode)], ofItemAtPath: credentials)
        }
        try setMode(0o600)
        // What the environment names for others is not for webhooks.
        #expect(try Self.read(Self.good, ["https_proxy": "http://other:1"]).get().webhooks.proxy == nil)
        let text = "webhooks:\n  proxy: http://proxy.internal:3128\n"
        #expect(try Self.read(text).get().webhooks.proxy == UpstreamProxy(host: "proxy.internal", port: 3128))
        let configuration = try Self.read(text + "  proxyCredentialsFile: \(credentials)\n").get()
        #expect(configuration.webhooks.proxy?.credentials == .init(user: "Aladdin", password: "open:sesame"))
        let shown = configuration.shownSettings.flatMap(\.rows)
        #expect(shown.contains { $0.name == "webhooks.proxy" && $0.value == "proxy.internal:3128" })
        #expect(!shown.contains { $0.value.contains("sesame") })
        let overridden = try Self.read(text, ["HERALD_WEBHOOKS_PROXY": "none"]).get()
        #expect(overridden.webhooks.proxy == nil)

        func problem(_ lines: String) throws -> String {
            switch try Self.read("webhooks:\n" + lines) {
            case .success: ""
            case .failure(let error): error.description
            }
        }
        #expect(
            try problem("  proxy: https://p:1\n").hasPrefix("herald.yaml:2: webhooks.proxy: \"https://p:1\" must begin")
        )
        #expect(
            try problem("  proxy: http://a:hunter2@p:1\n").hasPrefix("herald.yaml:2: webhooks.proxy: must not hold"))
        let lonely = try problem("  proxyCredentialsFile: \(credentials)\n")
        #expect(lonely.hasPrefix("herald.yaml:2: webhooks.proxyCredentialsFile: needs a proxy"))
        try setMode(0o644)
        let open = try problem("  proxy: http://p:1\n  proxyCredentialsFile: \(credentials)\n")
        #expect(open.hasPrefix("herald.yaml:3: webhooks.proxyCredentialsFile: ") && open.contains("chmod 600"))
    }

    @Test func everyValueOfTheFileIsTaken() throws {
        let configuration = try Self.read(Self.good).get()
        #expect(configuration.listen == GatewayConfiguration.Listen(host: "0.0.0.0", port: 9090))
        #expect(configuration.dataDirectory == "/var/lib/herald")
        #expect(configuration.projectsDirectory == "/etc/herald/projects")
        #expect(configuration.limits.pageSize == 500)
        #expect(configuration.limits.shutdownSeconds == 5)
        #expect(configuration.limits.inFlight == GatewayConfiguration.Limits().inFlight)
        #expect(configuration.log == GatewayConfiguration.Log(level: .debug, format: .json))
        #expect(
            configuration.places.mapValues(\.line) == [
                .host: 2, .port: 3, .certificate: 1, .key: 1, .data: 4, .storeURL: 1, .projects: 5, .operationsHost: 1,
                .operationsPort: 1, .connections: 6, .publicURL: 1,
            ])
        #expect(configuration.deliveryLimits.pageSize == 500)
        #expect(configuration.deliveryLimits.shutdown == .seconds(5))
    }

    @Test func environmentOverridesEachValue() throws {
        let configuration = try Self.read(
            Self.good,
            [
                "HERALD_LISTEN_HOST": "::1", "HERALD_LISTEN_PORT": "0", "HERALD_LISTEN_CERTIFICATE": "c.pem",
                "HERALD_LISTEN_KEY": "k.pem", "HERALD_PUBLIC_URL": "https://push.example.com", "HERALD_DATA": "d",
                "HERALD_PROJECTS": "p",
                "HERALD_LIMITS_MESSAGES": "1", "HERALD_LIMITS_PAGE_SIZE": "2", "HERALD_LIMITS_IN_FLIGHT": "3",
                "HERALD_LIMITS_BYTES": "7000", "HERALD_LIMITS_PROJECT_MESSAGES": "8",
                "HERALD_LIMITS_PROJECT_BYTES": "9000", "HERALD_LIMITS_BATCH_BODY_BYTES": "10000",
                "HERALD_LIMITS_FREE_BYTES": "0", "HERALD_LIMITS_SHUTDOWN_SECONDS": "4",
                "HERALD_LIMITS_BODY_BYTES": "5000",
                "HERALD_LIMITS_UPSTREAM_THREADS": "6", "HERALD_LIMITS_UPSTREAM_CONNECTIONS": "7",
                "HERALD_LIMITS_CONNECTIONS": "11", "HERALD_LIMITS_ADDRESS_CONNECTIONS": "12",
                "HERALD_LIMITS_FAILED_AUTHENTICATION_RATE": "13", "HERALD_OPERATIONS_HOST": "::",
                "HERALD_OPERATIONS_PORT": "14", "HERALD_RETENTION_EVENT_HOURS": "15",
                "HERALD_RETENTION_LEDGER_DAYS": "16",
                "HERALD_RETENTION_RECEIPTS_DAYS": "12", "HERALD_LOG_LEVEL": "error",
                "HERALD_LOG_FORMAT": "text",
            ]
        ).get()
        #expect(configuration.operations == GatewayConfiguration.Operations(host: "::", port: 14))
        #expect(
            configuration.listen
                == GatewayConfiguration.Listen(host: "::1", port: 0, certificate: "c.pem", key: "k.pem"))
        #expect(configuration.publicURL == "https://push.example.com")
        #expect(configuration.dataDirectory == "d")
        #expect(configuration.projectsDirectory == "p")
        #expect(
            // A database takes a herald that was built with PostgreSQL.
            configuration.places.filter { $0.key != .storeURL }.mapValues(\.description) == [
                .data: "HERALD_DATA", .projects: "HERALD_PROJECTS", .host: "HERALD_LISTEN_HOST",
                .port: "HERALD_LISTEN_PORT", .certificate: "HERALD_LISTEN_CERTIFICATE", .key: "HERALD_LISTEN_KEY",
                .operationsHost: "HERALD_OPERATIONS_HOST", .operationsPort: "HERALD_OPERATIONS_PORT",
                .connections: "HERALD_LIMITS_CONNECTIONS", .publicURL: "HERALD_PUBLIC_URL",
            ])
        #expect(
            configuration.limits
                == GatewayConfiguration.Limits(
                    messages: 1, bytes: 7000, projectMessages: 8, projectBytes: 9000, pageSize: 2, inFlight: 3,
                    shutdownSeconds: 4, bodyBytes: 5000, batchBodyBytes: 10_000, failedAuthenticationRate: 13,
                    connections: 11, addressConnections: 12, freeBytes: 0, upstreamThreads: 6, upstreamConnections: 7))
        #expect(configuration.retention.eventHours == 15)
        let policy = RetentionPolicy(ledgerDays: 16, payloadDays: 16, idempotencyHours: 24, receiptsDays: 12)
        #expect(configuration.retention.messages == policy, "payloads go with the ledger at the latest")
        #expect(configuration.log == GatewayConfiguration.Log(level: .error, format: .text))
        #expect(configuration.listen.url(port: 8443) == "https://[::1]:8443")
    }

    /// The embedded store is of one gateway, whose projects are its files.
    @Test func projectsAreStoredInADatabaseOnly() throws {
        let error = #expect(throws: ConfigurationError.self) { try Self.read("projects: database").get() }
        #expect(error?.problems.map(\.field) == ["projects"])
        #expect(error?.description.hasPrefix("herald.yaml:1: projects: the embedded store is one gateway's") == true)
        #expect(try !Self.read("projects: ./database").get().areProjectsStored)
        #if PostgreSQL
            let stored = try Self.read("{projects: database, store: {url: postgresql://h@example.com/h}}").get()
            #expect(stored.areProjectsStored)
        #endif
    }

    @Test func theLimitsOfWaitingWorkReachTheDelivery() throws {
        let limits = try Self.read(
            "limits: {messages: 10, bytes: 5000, projectMessages: 3, projectBytes: 4096}"
        ).get().deliveryLimits
        #expect(limits.messagesWaiting == 10 && limits.bytesWaiting == 5000)
        #expect(limits.projectMessagesWaiting == 3 && limits.projectBytesWaiting == 4096)
        let defaults = try Self.read(Self.good).get().deliveryLimits
        #expect(defaults.projectMessagesWaiting == nil && defaults.projectBytesWaiting == nil)
    }

    @Test func theRatesOfClientsReachTheAPI() throws {
        let rates = try Self.read(
            "limits: {clientAddressRate: 3, clientRegistrationRate: 0, clientProjectRate: 7, proxies: 2, "
                + "failedAuthenticationRate: 0, newRegistrationAddressRate: 8, newRegistrationProjectRate: 9}"
        ).get().clientRates
        var expected = ClientRateLimits.Rates(
            address: 3, registration: 0, project: 7, newRegistrationAddress: 8, newRegistrationProject: 9, failures: 0,
            proxies: 2)
        expected.hourlyNewTopics = 100
        (expected.newLinkAddress, expected.newLinkProject) = (5, 1000)
        #expect(rates == expected)
        let usual = try Self.read(Self.good).get().clientRates
        expected = ClientRateLimits.Rates(
            address: 100, registration: 5, project: 10_000, newRegistrationAddress: 5, newRegistrationProject: 1000,
            failures: 5, proxies: 0)
        expected.hourlyNewTopics = 100
        (expected.newLinkAddress, expected.newLinkProject) = (5, 1000)
        #expect(usual == expected)
        // Without limits of clients there is none of their topics either.
        let unlimited = try Self.read("limits: {clientAddressRate: 0}").get().clientRates
        #expect(unlimited.hourlyNewTopics == 0)
    }

    @Test func operationsMayHaveAListenerOfTheirOwn() throws {
        #expect(try Self.read(Self.good).get().operationsListener == nil)
        let configuration = try Self.read("operations: {port: 9090}").get()
        #expect(configuration.operationsListener?.http.host == "127.0.0.1")
        #expect(configuration.operationsListener?.http.port == 9090)
        #expect(configuration.operationsListener?.routes == .operations)
        #expect(configuration.listener.routes == .api(withOperations: false))
    }

    @Test(arguments: [
        ("operations: {host: 0.0.0.0}", "operations.host: needs its port; add \"port: 9090\" to operations"),
        ("listen: {port: 90}\noperations: {port: 90}", "operations.port: 90 is listen.port; take another one"),
    ])
    func aListenerForOperationsHasAPortOfItsOwn(text: String, problem: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try Self.read(text).get() }
        #expect(error?.problems.first?.description.hasSuffix(problem) == true)
    }

    @Test func theLimitOfMessagesHasItsOldNameToo() throws {
        #expect(try Self.read("limits: {activeMessages: 7}").get().limits.messages == 7)
        #expect(try Self.read("limits: {activeMessages: 7, messages: 8}").get().limits.messages == 8)
        #expect(try Self.read(Self.good, ["HERALD_LIMITS_ACTIVE_MESSAGES": "9"]).get().limits.messages == 9)
    }

    @Test func theShareOfBadDeviceTokensIsReadFromFileAndEnvironment() throws {
        let text = "apns:\n  badDeviceTokens: {share: 0.25, atLeast: 10, windowSeconds: 5}"
        let written = try Self.read(text).get().badDeviceTokens
        #expect(written.share == 0.25 && written.atLeast == 10 && written.windowSeconds == 5)
        let overridden = try Self.read(
            text,
            [
                "HERALD_APNS_BAD_DEVICE_TOKENS_SHARE": "1", "HERALD_APNS_BAD_DEVICE_TOKENS_AT_LEAST": "7",
                "HERALD_APNS_BAD_DEVICE_TOKENS_WINDOW_SECONDS": "3600",
            ]
        ).get().badDeviceTokens
        #expect(overridden.share == 1 && overridden.atLeast == 7 && overridden.windowSeconds == 3600)
        let usual = try Self.read("data: d").get().badDeviceTokens
        #expect(usual.share == 0.5 && usual.atLeast == 100 && usual.windowSeconds == 60)
    }

    @Test func emptyVariablesAndForeignOnesChangeNothing() throws {
        let configuration = try Self.read(
            Self.good, ["HERALD_LISTEN_PORT": "", "HERALD_KEY": "hk_x", "HERALD_PORT": "tcp://10.0.0.1:80"]
        ).get()
        #expect(configuration.listen.port == 9090)
    }

    @Test(arguments: [
        (
            "listen:\n  host: a\n  # comment\n  prot: 1",
            "herald.yaml:4: listen.prot: unknown key; did you mean \"port\"?"
        ),
        ("lisen:\n  port: 1", "herald.yaml:1: lisen: unknown key; did you mean \"listen\"?"),
        (
            "data: d\nzebra: 1",
            "herald.yaml:2: zebra: unknown key; known here: apns, console, data, limits, listen, log, operations, "
                + "projects, publicURL, retention, store, tracing, webhooks"
        ),
        ("listen:\n  port: abc", "herald.yaml:2: listen.port: expected a whole number, found \"abc\""),
        (
            "listen:\n  port: \"80\"",
            "herald.yaml:2: listen.port: expected a whole number, found quoted text; drop the quotes"
        ),
        ("listen:\n  port: 1.5", "herald.yaml:2: listen.port: expected a whole number, found \"1.5\""),
        ("listen:\n  port: 70000", "herald.yaml:2: listen.port: 70000 is out of range; use 0 to 65535"),
        ("listen:\n  port: [1]", "herald.yaml:2: listen.port: expected a whole number, found a list"),
        ("listen:\n  host:\n  port: 1", "herald.yaml:2: listen.host: expected text, found nothing"),
        ("data: {a: b}", "herald.yaml:1: data: expected text, found keys and values"),
        ("data: d\nlisten: 8080", "herald.yaml:2: listen: expected keys and values below it, found \"8080\""),
        (
            "listen:\n  port: 1\n  host: a\n  port: 2",
            "herald.yaml:4: listen.port: given twice (first on line 2); remove one"
        ),
        (
            "listen:\r\n  port: 1\r\n  port: 2\r\n",
            "herald.yaml:3: listen.port: given twice (first on line 2); remove one"
        ),
        ("data: a\nlog:\n  level: info\ndata: b", "herald.yaml:4: data: given twice (first on line 1); remove one"),
        ("log:\n  level: inof", "herald.yaml:2: log.level: \"inof\" is not known; did you mean \"info\"?"),
        (
            "apns:\n  badDeviceTokens:\n    share: 1.5",
            "herald.yaml:3: apns.badDeviceTokens.share: 1.5 is out of range; use a number above 0 up to 1, such as 0.5"
        ),
        (
            "apns:\n  badDeviceTokens: {share: half}",
            "herald.yaml:2: apns.badDeviceTokens.share: expected a number, found \"half\""
        ),
        (
            "apns:\n  badDeviceTokens:\n    atLeast: 0",
            "herald.yaml:3: apns.badDeviceTokens.atLeast: 0 is out of range; use 1 to 1000000"
        ),
        (
            "apns:\n  badDeviceTokens:\n    window: 60",
            "herald.yaml:3: apns.badDeviceTokens.window: unknown key; known here: atLeast, share, windowSeconds"
        ),
        (
            "retention:\n  ledgerDays: 0",
            "herald.yaml:2: retention.ledgerDays: 0 is out of range; use 1 to 3650"
        ),
        (
            "retention:\n  ledgerDays: 7\n  payloadDays: 8",
            "herald.yaml:3: retention.payloadDays: 8 is longer than retention.ledgerDays (7); nothing outlives the ledger"
        ),
        (
            "retention:\n  idempotencyHours: 48\n  ledgerDays: 1",
            "herald.yaml:2: retention.idempotencyHours: 48 is longer than retention.ledgerDays (1); "
                + "nothing outlives the ledger"
        ),
        ("retention:\n  eventHours: 0", "herald.yaml:2: retention.eventHours: 0 is out of range; use 1 to 8784"),
        ("log:\n  format: xml", "herald.yaml:2: log.format: \"xml\" is not known; use one of text, json"),
        (
            "limits:\n  pageSize: 200\n  inFlight: 100",
            "herald.yaml:2: limits.pageSize: 200 is more than limits.inFlight (100); "
                + "a page must fit in what may be in flight"
        ),
        (
            "listen:\n  certificate: a.pem",
            "herald.yaml:2: listen.certificate: needs its key; add \"key: <PEM file>\" to listen"
        ),
        (
            "listen:\n  key: a.pem",
            "herald.yaml:2: listen.key: needs its certificate; add \"certificate: <PEM file>\" to listen"
        ),
        ("", "herald.yaml:1: the file is empty; copy Config/herald.yaml of the distribution"),
        ("# only a comment\n", "herald.yaml:1: the file is empty; copy Config/herald.yaml of the distribution"),
        ("- a\n- b", "herald.yaml:1: expected keys and values; copy Config/herald.yaml of the distribution"),
        (
            "listen:\n  port: 1\n host: b",
            "herald.yaml:3: not valid YAML at column 2: did not find expected key"
        ),
        (
            "listen:\n\tport: 1",
            "herald.yaml:2: not valid YAML at column 1: found character that cannot start any token"
        ),
    ])
    func eachMistakeIsToldInOneLine(text: String, line: String) throws {
        let result = try Self.read(text)
        guard case .failure(let error) = result else {
            Issue.record("accepted: \(text)")
            return
        }
        #expect(error.description == line)
        #expect(error.failure.description == "herald: " + line)
        #expect(error.failure.code.rawValue == 78)
    }

    @Test(arguments: [
        (["HERALD_LISTEN_PORT": "x"], "HERALD_LISTEN_PORT: listen.port: expected a whole number, found \"x\""),
        (["HERALD_LISTEN_PORT": "-1"], "HERALD_LISTEN_PORT: listen.port: -1 is out of range; use 0 to 65535"),
        (["HERALD_LOG_FORMAT": "jsn"], "HERALD_LOG_FORMAT: log.format: \"jsn\" is not known; did you mean \"json\"?"),
        (
            ["HERALD_APNS_BAD_DEVICE_TOKENS_SHARE": "0"],
            "HERALD_APNS_BAD_DEVICE_TOKENS_SHARE: apns.badDeviceTokens.share: 0 is out of range; "
                + "use a number above 0 up to 1, such as 0.5"
        ),
        (
            ["HERALD_APNS_BAD_DEVICE_TOKENS_SHARES": "0.5"],
            "HERALD_APNS_BAD_DEVICE_TOKENS_SHARES: unknown environment variable; "
                + "did you mean HERALD_APNS_BAD_DEVICE_TOKENS_SHARE?"
        ),
        (
            ["HERALD_SECRETS_KEY_FORMR": "x"],
            "HERALD_SECRETS_KEY_FORMR: unknown environment variable; did you mean HERALD_SECRETS_KEY_FORMER?"
        ),
        (
            ["HERALD_SECRET_KEY": "x"],
            "HERALD_SECRET_KEY: unknown environment variable; did you mean HERALD_SECRETS_KEY?"
        ),
        (
            ["HERALD_LISTEN_PROT": "1"],
            "HERALD_LISTEN_PROT: unknown environment variable; did you mean HERALD_LISTEN_PORT?"
        ),
    ])
    func eachWrongVariableIsToldInOneLine(environment: [String: String], line: String) throws {
        guard case .failure(let error) = try Self.read(Self.good, environment) else {
            Issue.record("accepted: \(environment)")
            return
        }
        #expect(error.description == line)
    }

    @Test func allProblemsAreReportedInTheOrderOfLines() throws {
        guard case .failure(let error) = try Self.read("log:\n  level: x1\nlisten:\n  port: y\n  hots: z") else {
            Issue.record("accepted")
            return
        }
        #expect(error.problems.map(\.place.line) == [2, 4, 5])
    }

    @Test func missingFileAndDirectoryAreReported() throws {
        let directory = try TestDirectory()
        for (path, text) in [
            (directory.file("no.yaml"), "no such file"), (directory.path, "is a directory, expected a file"),
        ] {
            let error = #expect(throws: ConfigurationError.self) {
                try GatewayConfiguration.read(file: path, environment: [:])
            }
            #expect(error?.description == "\(path): \(text)")
        }
    }

    @Test func invalidUTF8IsReported() throws {
        let directory = try TestDirectory()
        let path = directory.file("herald.yaml")
        try Data([0x64, 0xff, 0xfe, 0x0a]).write(to: URL(filePath: path))
        let error = #expect(throws: ConfigurationError.self) {
            try GatewayConfiguration.read(file: path, environment: [:])
        }
        #expect(error?.description == "\(path): is not UTF-8 text")
    }

    @Test func theDistributedFileIsValidAndShowsTheDefaults() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let path = root.appending(path: "Config/herald.yaml").path()
        let configuration = try GatewayConfiguration.read(file: path, environment: [:])
        #expect(configuration.limits == GatewayConfiguration.Limits())
        #expect(configuration.listen == GatewayConfiguration.Listen())
        #expect(configuration.log == GatewayConfiguration.Log())
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let uncommented = text.replacing(/\n  # (\w+: )/) { "\n  \($0.output.1)" }
        let all = try Self.read(uncommented).get()
        #expect(all.limits == GatewayConfiguration.Limits())
        #expect(all.listen.certificate == "/etc/herald/tls/fullchain.pem")
    }
}

/// Suggestions for misspelt words.
struct SpellingTests {
    @Test(arguments: [
        ("prot", "port"), ("prt", "port"), ("activeMesages", "activeMessages"), ("HOST", "host"),
        ("pageSzie", "pageSize"),
    ])
    func nearWordIsFound(word: String, meant: String) {
        #expect(Spelling.closest(to: word, among: ["host", "port", "activeMessages", "pageSize"]) == meant)
    }

    @Test(arguments: ["zebra", "x", "something", "", "pt", "toss", "hark"])
    func farWordIsNot(word: String) {
        #expect(Spelling.closest(to: word, among: ["host", "port", "activeMessages"]) == nil)
    }

    @Test func distanceCountsInsertionsDeletionsReplacementsAndSwaps() {
        #expect(Spelling.distance("port", "port") == 0)
        #expect(Spelling.distance("prot", "port") == 1)
        #expect(Spelling.distance("ports", "port") == 1)
        #expect(Spelling.distance("", "port") == 4)
        #expect(Spelling.distance("kitten", "sitting") == 3)
    }
}
