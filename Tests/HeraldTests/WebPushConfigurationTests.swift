import Crypto
import Foundation
import GatewayAPI
import JSON
import PushModel
import Signing
import TestSupport
import Testing
import WebPush

@testable import herald

/// The `webPush` block of a web app.
struct WebPushConfigurationTests {
    /// A directory with the keys `vapid.pem` and `former.pem`, `p384.pem`, `text.pem` (no key) and `open.pem` (for all to
    /// read).
    private struct Files {
        let directory: TestDirectory

        init() throws {
            directory = try TestDirectory()
            try FileManager.default.createDirectory(
                atPath: directory.file("projects"), withIntermediateDirectories: true)
            try write("vapid.pem", ES256PrivateKey.generatedPEM())
            try write("former.pem", P256.Signing.PrivateKey().pemRepresentation)
            try write("p384.pem", P384.Signing.PrivateKey().pemRepresentation)
            try write("text.pem", "not a key\n")
            try write("open.pem", ES256PrivateKey.generatedPEM(), mode: 0o644)
            try write("ca.pem", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
        }

        private func write(_ name: String, _ text: String, mode: Int = 0o600) throws {
            try Data(text.utf8).write(to: URL(filePath: directory.file(name)))
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: mode)], ofItemAtPath: directory.file(name))
        }

        func point(_ name: String) throws -> [UInt8] {
            try ES256PrivateKey(pem: String(contentsOfFile: directory.file(name), encoding: .utf8)).publicPoint
        }

        /// Reads a project with a web app that has these lines below `webPush`.
        func read(_ lines: [String]) throws -> ProjectSet {
            let block = lines.map { "      " + $0.replacing("KEYS", with: directory.path) }.joined(separator: "\n")
            let text = """
                project: demo
                number: 1
                apps:
                  - id: www.example.com
                    platform: web
                    webPush:
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

    @Test func aWebAppWithABlockIsServed() throws {
        let files = try Files()
        let set = try files.read([
            "subject: mailto:push@example.com", "key: KEYS/vapid.pem", "previousKeys: [KEYS/former.pem]",
            "services: [push.example.com, 127.0.0.1:8443]", "trust: KEYS/ca.pem",
        ])
        let app = try #require(set.projects.first?.apps.values.first)
        #expect(app.isServed && app.platform == .web)
        let points = [try files.point("vapid.pem"), try files.point("former.pem")]
        #expect(app.browserService?.publicKeys == points)
        #expect(app.browserService?.services.map(\.description) == ["push.example.com", "127.0.0.1:8443"])
        let way = try #require(set.browsers.first)
        #expect(way.project.rawValue == "demo" && way.app.rawValue == "www.example.com")
        #expect(way.subject == "mailto:push@example.com" && way.keys.map(\.publicPoint) == points)
        #expect(way.trustFile == files.directory.file("ca.pem"))
    }

    @Test func theAgeOfAKeyIsThatOfItsFile() throws {
        let files = try Files()
        let written = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes(
            [.modificationDate: written], ofItemAtPath: files.directory.file("vapid.pem"))
        let set = try files.read([
            "subject: mailto:push@example.com", "key: KEYS/vapid.pem", "previousKeys: [KEYS/former.pem]",
        ])
        let project = try #require(ProjectID(rawValue: "demo"))
        let credentials = try #require(set.credentials[project])
        #expect(
            credentials.map(\.name) == [
                Base64URL.text(try files.point("vapid.pem")), Base64URL.text(try files.point("former.pem")),
            ])
        #expect(credentials.map(\.file) == ["vapid.pem", "former.pem"].map(files.directory.file))
        #expect(credentials[0].modified == Timestamp(seconds: 1_700_000_000))
        #expect(try #require(credentials[1].modified) > Timestamp(seconds: 1_700_000_000))
        #expect(credentials.allSatisfy { $0.kind == .vapidKey && $0.validUntil == nil })
    }

    @Test func withoutABlockNothingIsSentToIt() throws {
        let files = try Files()
        let app = try #require(try files.read([]).projects.first?.apps.values.first)
        #expect(!app.isServed && app.browserService == nil)
    }

    @Test func everyMistakeNamesItsField() throws {
        let files = try Files()
        let key = "key: KEYS/vapid.pem"
        let subject = "subject: mailto:push@example.com"
        func first(_ lines: [String]) -> String { files.problems(lines).first ?? "" }
        #expect(files.problems(["trust: system"]).map { $0.prefix(44) }.sorted().first?.hasPrefix("demo.yaml:") == true)
        #expect(first([key]).contains("apps[0].webPush.subject: missing; add \"subject: mailto:"))
        #expect(first([subject]).contains("apps[0].webPush.key: missing"))
        #expect(first([subject, "key: KEYS/none.pem"]).contains("webPush.key: "))
        #expect(first([subject, "key: KEYS/none.pem"]).contains("herald key vapid --out"))
        #expect(first([subject, "key: KEYS/text.pem"]).contains("webPush.key: text.pem: no private key in it"))
        #expect(first([subject, "key: KEYS/p384.pem"]).contains("webPush.key: p384.pem: not a P-256 key"))
        #expect(first([subject, "key: KEYS/open.pem"]).contains("webPush.key: open.pem is readable by every user"))
        #expect(
            first([subject, key, "previousKeys: [KEYS/former.pem, KEYS/p384.pem]"])
                .contains("webPush.previousKeys[1]: p384.pem: not a P-256 key"))
        #expect(
            first([subject, key, "previousKeys: [KEYS/vapid.pem]"]).contains(
                "webPush.previousKeys[0]: vapid.pem: the same"))
        #expect(
            first([subject, key, "services: [https://push.example.com/]"]).contains("webPush.services[0]: \"https:"))
        #expect(first([subject, key, "trust: KEYS/text.pem"]).contains("webPush.trust: text.pem: no PEM certificate"))
        #expect(
            first([subject, key, "service: [a]"]).contains("webPush.service: unknown key; did you mean \"services\"?"))
    }

    @Test(arguments: [
        "mailto:push@example.com", "mailto:a.b+c@push.example.co.uk", "https://example.com",
        "https://example.com/contact",
    ])
    func aSubjectThatServicesTake(text: String) {
        #expect(WebPushSection.isSubject(text))
    }

    @Test(arguments: [
        "push@example.com", "mailto: push@example.com", "mailto:<push@example.com>", "mailto:push@localhost",
        "mailto:@example.com", "http://example.com", "https://localhost", "https://a b.example", "",
    ])
    func aSubjectThatServicesRefuse(text: String) {
        #expect(!WebPushSection.isSubject(text))
    }

    @Test func aVAPIDKeyIsItsOwnersAloneAndIsNotReplacedUnasked() async throws {
        let directory = try TestDirectory()
        let path = directory.file("vapid.pem")
        let made = try await GatewayProcess.run(["key", "vapid", "--out", path])
        #expect(made.status == 0, "\(made)")
        let shown = try #require(made.lines.last { !$0.isEmpty })
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let key = try P256.Signing.PrivateKey(pemRepresentation: text)
        #expect(
            Data(key.publicKey.x963Representation).base64EncodedString()
                == shown.replacing("-", with: "+").replacing("_", with: "/") + "=")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        let again = try await GatewayProcess.run(["key", "vapid", "--out", path])
        #expect(again.status != 0 && again.lines.joined().contains("--force"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        let replaced = try await GatewayProcess.run(["key", "vapid", "--out", path, "--force", "--json"])
        #expect(replaced.status == 0 && replaced.lines.first?.contains("\"publicKey\"") == true)
        #expect(try String(contentsOfFile: path, encoding: .utf8) != text)
    }
}
