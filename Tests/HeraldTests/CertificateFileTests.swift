import APNS
import Foundation
import GatewayAPI
import PushModel
import Signing
import Simulators
import TestSupport
import Testing

@testable import herald

/// Certificates in project files.
@Suite(
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")), .timeLimit(.minutes(5)))
struct CertificateFileTests {
    /// A directory with push certificates in every shape.
    private struct Files {
        let directory: TestDirectory

        init() async throws {
            directory = try TestDirectory()
            let identity = try SimulatorIdentity(directory: directory.file("simulator"), topics: [])
            try FileManager.default.createDirectory(
                atPath: directory.file("projects"), withIntermediateDirectories: true)
            let pair = try identity.pushCertificate(topics: ["com.example.app", "com.example.app.voip"])
            try write("push.pem", pair.certificatePEM)
            try write("push-key.pem", pair.keyPEM)
            try write("both.pem", pair.certificatePEM + "\n" + pair.keyPEM)
            let other = try identity.pushCertificate(topics: ["com.example.other"])
            try write("other.pem", other.certificatePEM + "\n" + other.keyPEM)
            let plain = try identity.pushCertificate(topics: [])
            try write("plain.pem", plain.certificatePEM + "\n" + plain.keyPEM)
            let ended = try identity.pushCertificate(topics: ["com.example.app"], validity: -86_400...(-3600))
            try write("ended.pem", ended.certificatePEM + "\n" + ended.keyPEM)
            try write("password", "secret\n")
            try write("wrong", "guess\n")
            try write("empty", "\n")
            try await openssl(
                "pkcs12", "-export", "-in", file("push.pem"), "-inkey", file("push-key.pem"), "-out", file("push.p12"),
                "-passout", "pass:secret")
            try await openssl(
                "pkcs12", "-export", "-legacy", "-in", file("push.pem"), "-inkey", file("push-key.pem"), "-out",
                file("old.p12"), "-passout", "pass:secret")
            try await openssl(
                "pkey", "-in", file("push-key.pem"), "-aes-256-cbc", "-passout", "pass:secret", "-out",
                file("locked-key.pem"))
        }

        func file(_ name: String) -> String { directory.file(name) }

        func write(_ name: String, _ text: String, mode: Int = 0o600) throws {
            try Data(text.utf8).write(to: URL(filePath: file(name)))
            try protect(name, mode)
        }

        func protect(_ name: String, _ mode: Int) throws {
            try FileManager.default.setAttributes(
                [.posixPermissions: NSNumber(value: mode)], ofItemAtPath: file(name))
        }

        private func openssl(_ arguments: String...) async throws {
            let made = try await ChildProcess.run("/usr/bin/openssl", arguments)
            #expect(made.status == 0, "\(made.lines)")
            let names = ["push.p12", "old.p12", "locked-key.pem"]
            for name in names where FileManager.default.fileExists(atPath: file(name)) { try protect(name, 0o600) }
        }

        /// Reads a project file with these lines in its `apns` block, beginning at line 7.
        func read(_ lines: [String]) throws(ConfigurationError) -> ProjectSet {
            let block = (lines + ["trust: system"]).map { "      " + $0.replacing("DIR", with: directory.path) }
            let text = """
                project: demo
                number: 1
                apps:
                  - id: com.example.app
                    platform: apple
                    apns:
                \(block.joined(separator: "\n"))
                """
            #expect(FileManager.default.createFile(atPath: file("projects/demo.yaml"), contents: Data(text.utf8)))
            return try ProjectSet.read(
                directory: file("projects"), configuredAt: ConfigurationPlace(source: "herald.yaml", line: 1))
        }

        /// The lines of the problems, the directory left out.
        func problems(_ lines: [String]) -> [String] {
            do {
                _ = try read(lines)
                return []
            } catch {
                return error.problems.map { relative($0) }
            }
        }

        func relative(_ problem: ConfigurationProblem) -> String {
            problem.description.replacing(directory.path + "/", with: "").replacing("projects/", with: "")
        }
    }

    @Test func eachShapeGivesTheCertificate() async throws {
        let files = try await Files()
        let shapes = [
            ["certificate: DIR/push.pem", "certificateKey: DIR/push-key.pem"], ["certificate: DIR/both.pem"],
            ["certificate: DIR/push.pem", "certificateKey: DIR/locked-key.pem", "passwordFile: DIR/password"],
            ["p12: DIR/push.p12", "passwordFile: DIR/password"], ["p12: DIR/old.p12", "passwordFile: DIR/password"],
        ]
        for shape in shapes {
            let set = try files.read(shape)
            #expect(set.warnings.isEmpty)
            guard case .certificate(let identity) = set.upstreams.first?.credential else {
                Issue.record("\(shape)")
                continue
            }
            #expect(identity.certificate.topics == ["com.example.app", "com.example.app.voip"])
            let watched = try #require(set.certificates.first)
            #expect(watched.place.line == 7)
            #expect(watched.validUntil == Timestamp(seconds: identity.certificate.notAfter))
            let credential = try #require(set.credentials[watched.project]?.first)
            #expect(credential.kind == .certificate && credential.validUntil == watched.validUntil)
            #expect(shape[0].hasSuffix(credential.file.split(separator: "/").last ?? "none"))
        }
    }

    private static let mistakes: [(lines: [String], problem: String)] = [
        (["certificate: DIR/none.pem"], "7: apps[0].apns.certificate: none.pem: no such file"),
        (
            ["certificate: DIR/push.pem"],
            "6: apps[0].apns.certificateKey: missing, and no key in push.pem; "
                + "add \"certificateKey: keys/push-key.pem\""
        ),
        (
            ["certificateKey: DIR/push-key.pem"],
            "6: apps[0].apns.certificate: missing; add \"certificate: keys/push.pem\""
        ),
        (["passwordFile: DIR/password"], "6: apps[0].apns.p12: missing; add \"p12: keys/push.p12\""),
        (
            ["certificate: DIR/push.pem", "certificateKey: DIR/both.pem", "p12: DIR/push.p12"],
            "7: apps[0].apns.certificate: p12 holds certificate and key already; remove p12 or certificate"
        ),
        (
            ["certificate: DIR/push.pem", "certificateKey: DIR/other.pem"],
            "8: apps[0].apns.certificateKey: other.pem: The key is not the one of the certificate"
        ),
        (
            ["certificate: DIR/push-key.pem"],
            "7: apps[0].apns.certificate: push-key.pem: There is no PEM certificate"
        ),
        (
            ["certificate: DIR/push.pem", "certificateKey: DIR/locked-key.pem"],
            "8: apps[0].apns.certificateKey: locked-key.pem: is encrypted; write its password into a file and add "
                + "\"passwordFile: <file>\""
        ),
        (
            ["p12: DIR/push.p12"],
            "7: apps[0].apns.p12: push.p12: is encrypted; write its password into a file and add "
                + "\"passwordFile: <file>\""
        ),
        (
            ["p12: DIR/push.p12", "passwordFile: DIR/wrong"],
            "8: apps[0].apns.passwordFile: the password in it does not open push.p12"
        ),
        (
            ["p12: DIR/push.p12", "passwordFile: DIR/empty"],
            "8: apps[0].apns.passwordFile: empty: no password in it; write it into the first line"
        ),
        (["p12: DIR/push.pem"], "7: apps[0].apns.p12: push.pem: The file is not PKCS#12"),
        (["p12: DIR"], "7: apps[0].apns.p12: DIR: is a directory, expected a file"),
        (
            ["certificate: DIR/other.pem"],
            "7: apps[0].apns.certificate: other.pem: is for com.example.other, not for com.example.app"
        ),
        (
            ["certificate: DIR/plain.pem"],
            "7: apps[0].apns.certificate: plain.pem: is no push certificate; "
                + "use the one of the developer account (Apple Push Services)"
        ),
    ]

    @Test func eachMistakeIsReportedInOneLineAtItsField() async throws {
        let files = try await Files()
        for (lines, problem) in Self.mistakes {
            let expected = "demo.yaml:" + problem.replacing("DIR", with: files.directory.path)
            // The line of a key that is missing is that of the block.
            #expect(files.problems(lines) == [expected])
        }
    }

    @Test func anExpiredCertificateIsNoMistake() async throws {
        let files = try await Files()
        let set = try files.read(["certificate: DIR/ended.pem"])
        #expect(set.certificates.count == 1)
    }

    @Test func filesThatOthersCanReadAreRefusedAndThoseOfAGroupWarnedOf() async throws {
        let files = try await Files()
        // The certificate alone is no secret.
        try files.protect("push.pem", 0o644)
        let cases = [
            (["certificate: DIR/both.pem"], ["certificate: both.pem"]),
            (["certificate: DIR/push.pem", "certificateKey: DIR/push-key.pem"], ["certificateKey: push-key.pem"]),
            (["p12: DIR/push.p12", "passwordFile: DIR/password"], ["passwordFile: password", "p12: push.p12"]),
        ]
        for (lines, fields) in cases {
            for name in ["both.pem", "push.p12", "password", "push-key.pem"] { try files.protect(name, 0o640) }
            let warnings = try files.read(lines).warnings.map(files.relative)
            #expect(warnings.count == fields.count)
            for (warning, field) in zip(warnings, fields) {
                #expect(warning.contains("apns.\(field) is readable by its group; chmod 600"))
            }
            for name in ["both.pem", "push.p12", "password", "push-key.pem"] { try files.protect(name, 0o644) }
            let problems = files.problems(lines)
            // Without a password the archive is not looked at.
            #expect(problems.count == 1)
            #expect(problems.first?.contains("apns.\(fields[0]) is readable by every user") == true, "\(problems)")
        }
    }
}
