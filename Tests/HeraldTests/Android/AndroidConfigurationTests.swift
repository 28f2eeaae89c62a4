import FCMRelay
import Foundation
import PushModel
import Simulators
import TestSupport
import Testing
import Upstream

@testable import herald

/// The `fcm` block of an Android app.
struct AndroidConfigurationTests {
    /// A directory with the key file `account.json` of a simulated Google, `open.json` (for all to read) and `text.json`.
    private struct Files {
        let directory: TestDirectory

        init() throws {
            directory = try TestDirectory()
            try FileManager.default.createDirectory(
                atPath: directory.file("projects"), withIntermediateDirectories: true)
            // An RSA key, as the simulator makes one.
            let google = try GoogleIdentity(directory: directory.file("google"))
            let pem = try String(contentsOfFile: google.directory + "/account-key.pem", encoding: .utf8)
            let account = [
                "type": "service_account", "project_id": "upstream-1", "private_key_id": "k1", "private_key": pem,
                "client_email": "sender@example.com", "token_uri": "https://oauth2.example.com/token",
            ]
            let text = String(decoding: try JSONEncoder().encode(account), as: UTF8.self)
            try write("account.json", text)
            try write("open.json", text, mode: 0o644)
            try write("text.json", "no key file\n")
            try write("ca.pem", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
        }

        private func write(_ name: String, _ text: String, mode: Int = 0o600) throws {
            try Data(text.utf8).write(to: URL(filePath: directory.file(name)))
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: mode)], ofItemAtPath: directory.file(name))
        }

        /// Reads a project with an Android app that has these lines below `fcm`.
        func read(_ lines: [String]) throws -> ProjectSet {
            // A line that begins with a backspace stands at the margin of the list.
            let block = lines.map {
                ($0.hasPrefix("\u{8}") ? String($0.dropFirst()) : "      " + $0).replacing("KEYS", with: directory.path)
            }.joined(separator: "\n")
            let text = """
                project: demo
                number: 1
                apps:
                  - id: com.example.android
                    platform: android
                    fcm:
                \(block)
                """
            try Data(text.utf8).write(to: URL(filePath: directory.file("projects/demo.yaml")))
            return try ProjectSet.read(
                directory: directory.file("projects"), configuredAt: ConfigurationPlace(source: "herald.yaml", line: 7))
        }

        func problems(_ lines: [String]) -> [String] {
            do {
                _ = try read(lines)
                return []
            } catch {
                return (error as? ConfigurationError)?.problems.map { problem in
                    problem.description.replacing(directory.path + "/", with: "").replacing("projects/", with: "")
                } ?? ["\(error)"]
            }
        }
    }

    @Test func anAndroidAppWithABlockIsServed() throws {
        let files = try Files()
        let set = try files.read([
            "serviceAccount: KEYS/account.json", "endpoint: 127.0.0.1:8443", "trust: KEYS/ca.pem", "maxPerSecond: 500",
            "proxy: http://proxy.example.com:3128",
        ])
        let app = try #require(set.projects.first?.apps.values.first)
        #expect(app.isServed && app.platform == .android)
        let way = try #require(set.androids.first)
        #expect(way.account.projectID == "upstream-1" && way.endpoint.description == "127.0.0.1:8443")
        #expect(way.maxPerSecond == 500 && way.proxy?.host == "proxy.example.com")
        #expect(way.trustFile == files.directory.file("ca.pem"))
        let usual = try #require(try files.read(["serviceAccount: KEYS/account.json"]).androids.first)
        #expect(usual.endpoint == .google && usual.maxPerSecond == 9000 && usual.trustFile == nil)
    }

    @Test(arguments: [
        (["endpoint: 127.0.0.1:8443"], "apps[0].fcm.serviceAccount: missing"),
        (["serviceAccount: KEYS/none.json"], "apps[0].fcm.serviceAccount: none.json"),
        (["serviceAccount: KEYS/text.json"], "apps[0].fcm.serviceAccount: text.json: It is no JSON"),
        (["serviceAccount: KEYS/open.json"], "apps[0].fcm.serviceAccount: open.json is readable by every user"),
        (["serviceAccount: KEYS/account.json", "endpoint: fcm"], "apps[0].fcm.endpoint: \"fcm\" is not host:port"),
        (["serviceAccount: KEYS/account.json", "maxPerSecond: -1"], "apps[0].fcm.maxPerSecond"),
        (["serviceAccount: KEYS/account.json", "trust: KEYS/none.pem"], "apps[0].fcm.trust: none.pem"),
        (
            ["serviceAccount: KEYS/account.json", "ambiguous: repeat"],
            "demo.yaml:8: apps[0].fcm.ambiguous"
        ),
        (
            ["serviceAccount: KEYS/account.json", "unknownTokens: pass"],
            "demo.yaml:8: apps[0].fcm.unknownTokens"
        ),
        (["serviceAcount: KEYS/account.json"], "did you mean \"serviceAccount\"?"),
    ])
    func aMistakeIsToldWithItsField(lines: [String], text: String) throws {
        let problems = try Files().problems(lines)
        #expect(problems.contains { $0.contains(text) }, "\(problems)")
    }

    @Test func oneAppOfAProjectRelaysUnknownTokens() throws {
        let files = try Files()
        let relay = ["serviceAccount: KEYS/account.json", "unknownTokens: relay"]
        let project = try #require(try files.read(relay).projects.first)
        #expect(project.relayApp?.id.rawValue == "com.example.android")
        #expect(try files.read(["serviceAccount: KEYS/account.json"]).projects.first?.relayApp == nil)
        let second =
            relay + ["  - id: com.example.other", "    platform: android", "    fcm:"].map { "\u{8}" + $0 } + relay
        let problems = files.problems(second)
        #expect(
            problems.contains {
                $0.contains("demo.yaml:13") && $0.contains("apps[1].fcm.unknownTokens: com.example.android relays")
            }, "\(problems)")
    }

    @Test func doctorAsksGoogle() async throws {
        try await AndroidGateway.with { gateway in
            let said = try await GatewayProcess.run(["doctor", "--config", gateway.test.configuration])
            #expect(said.status == 0, "\(said.lines)")
            #expect(said.lines.contains { $0.contains("com.example.android fcm") && $0.contains("takes messages") })
            gateway.google.rules.set(GoogleRule(.wrongClock), for: GoogleRuleBook.tokenRequests)
            let off = try await GatewayProcess.run(["doctor", "--config", gateway.test.configuration])
            #expect(off.status == 69)
            #expect(off.lines.contains { $0.contains("CLOCK_SKEW") })
        }
    }
}
