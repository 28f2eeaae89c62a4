import Foundation
import TestSupport
import Testing

/// A push certificate as Apple issues them, and its key, made at run time by the openssl command.
struct PushCertificate {
    let directory: TestDirectory
    var certificate: String { directory.file("certificate.pem") }
    var key: String { directory.file("key.pem") }

    /// - Parameters:
    ///   - topics: of the extension; `nil`: there is no such extension, as in old certificates.
    ///   - kind: the arguments of `-newkey`.
    init(
        uid: String? = "com.example.app", topics: [String]? = ["com.example.app", "com.example.app.voip"],
        environments: [Int] = [1, 2], kind: [String] = ["rsa:2048"]
    ) async throws {
        directory = try TestDirectory()
        var arguments = ["req", "-x509", "-newkey"] + kind + ["-nodes", "-days", "20"]
        arguments += ["-keyout", directory.file("key.pem"), "-out", directory.file("certificate.pem")]
        let entry = uid.map { "/UID=\($0)" } ?? ""
        arguments += ["-subj", entry + "/CN=Apple Push Services: com.example.app/C=US"]
        for environment in environments { arguments += ["-addext", "1.2.840.113635.100.6.3.\(environment)=DER:0500"] }
        if let topics {
            arguments += ["-addext", "1.2.840.113635.100.6.3.6=DER:\(Self.hexadecimal(Self.topicList(topics)))"]
        }
        _ = try await openssl(arguments)
    }

    var certificatePEM: String {
        get throws { try String(contentsOfFile: certificate, encoding: .utf8) }
    }

    var keyPEM: String {
        get throws { try String(contentsOfFile: key, encoding: .utf8) }
    }

    /// The certificate and key as PKCS#12.
    func archive(password: String, _ options: [String] = []) async throws -> [UInt8] {
        let file = directory.file("archive.p12")
        _ = try await openssl(
            ["pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", file, "-passout", "pass:\(password)"]
                + options)
        return Array(try Data(contentsOf: URL(filePath: file)))
    }

    /// `SEQUENCE { topic, SEQUENCE { kind }, … }`.
    static func topicList(_ topics: [String]) -> [UInt8] {
        element(
            0x30, topics.flatMap { element(0x0C, Array($0.utf8)) + element(0x30, element(0x0C, Array("app".utf8))) })
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        precondition(content.count < 65_536)
        let length: [UInt8] =
            content.count < 128
            ? [UInt8(content.count)] : [0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        return [tag] + length + content
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// Whether there is such a command.
let hasOpenSSLCommand = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

/// Runs the `openssl` command, which makes the keys and files that swift-crypto can't.
func openssl(_ arguments: [String]) async throws -> String {
    let made = try await ChildProcess.run("/usr/bin/openssl", arguments, keepsErrors: false)
    #expect(made.status == 0)
    return made.lines.joined(separator: "\n") + "\n"
}
