import APNS
import Foundation
import PushModel
import Signing

/// Reads the client certificate of an app's `apns` block: `certificate` with `certificateKey` (PEM), or `p12`, and for
/// either `passwordFile`.
struct CertificateSection {
    static let keys = ["certificate", "certificateKey", "p12", "passwordFile"]

    /// The `apns` block.
    let section: ConfigurationSection
    /// The app that it must be for; `nil`: its id is wrong anyhow.
    let app: AppID?
    /// The environment of registrations that do not say.
    let environment: PushEnvironment

    /// Whether the block names a certificate at all.
    static func isIn(_ section: ConfigurationSection) -> Bool {
        keys.contains(where: section.has)
    }

    /// `nil` after adding a problem.
    func read(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> ClientIdentity? {
        let count = problems.count
        refuseContradictions(problems: &problems)
        guard problems.count == count else { return nil }
        let password = password(problems: &problems, warnings: &warnings)
        guard problems.count == count, let path = text(main, problems: &problems) else { return nil }
        let identity =
            section.has("p12")
            ? archive(path, password: password, problems: &problems)
            : pair(path, password: password, problems: &problems, warnings: &warnings)
        guard let identity else { return nil }
        if !section.has("certificateKey") {
            PrivateFile(path: path).check(main, of: section, problems: &problems, warnings: &warnings)
        }
        warnOfEnvironment(identity.certificate, path, warnings: &warnings)
        return isOfApp(identity.certificate, path, problems: &problems) ? identity : nil
    }

    /// The field that names the certificate.
    private var main: String { section.has("p12") ? "p12" : "certificate" }

    private func refuseContradictions(problems: inout [ConfigurationProblem]) {
        if let key = ["team", "key", "keyID"].first(where: section.has) {
            let other = Self.keys.first(where: section.has) ?? ""
            problems.append(
                section.problem(
                    other, "an app has a provider key or a certificate, not both; remove \(other) or \(key)"))
            return
        }
        if section.has("p12") {
            if let key = ["certificate", "certificateKey"].first(where: section.has) {
                problems.append(section.problem(key, "p12 holds certificate and key already; remove p12 or \(key)"))
            }
        } else if !section.has("certificate") {
            let missing = section.has("certificateKey") ? "certificate" : "p12"
            let example = missing == "p12" ? "keys/push.p12" : "keys/push.pem"
            problems.append(section.problem(missing, "missing; add \"\(missing): \(example)\""))
        }
    }

    // MARK: Files

    private func pair(
        _ path: String, password: String?, problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) -> ClientIdentity? {
        guard let certificate = content(of: path, "certificate", problems: &problems) else { return nil }
        var key: String?
        var keyPath = path
        if section.has("certificateKey") {
            guard let named = text("certificateKey", problems: &problems),
                let read = content(of: named, "certificateKey", problems: &problems)
            else { return nil }
            PrivateFile(path: named).check("certificateKey", of: section, problems: &problems, warnings: &warnings)
            (key, keyPath) = (read, named)
        }
        do {
            return try ClientIdentity(certificatePEM: certificate, keyPEM: key, password: password)
        } catch {
            problems.append(problem(of: error, path: path, keyPath: keyPath))
            return nil
        }
    }

    private func archive(
        _ path: String, password: String?, problems: inout [ConfigurationProblem]
    ) -> ClientIdentity? {
        do throws(ConfigurationProblem.Unreadable) {
            let data = try section.files.data(of: path, in: path)
            do throws(SigningError) {
                return try ClientIdentity(pkcs12: Array(data), password: password ?? "")
            } catch {
                problems.append(problem(of: error, path: path, keyPath: path))
            }
        } catch {
            problems.append(section.problem("p12", error.text))
        }
        return nil
    }

    /// The first line of `passwordFile`; `nil` when there is none, or after adding a problem.
    private func password(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> String? {
        guard section.has("passwordFile"), let path = text("passwordFile", problems: &problems),
            let text = content(of: path, "passwordFile", problems: &problems)
        else { return nil }
        let line = text.prefix { !$0.isNewline }
        guard !line.isEmpty else {
            problems.append(
                section.problem("passwordFile", "\(path): no password in it; write it into the first line"))
            return nil
        }
        PrivateFile(path: path).check("passwordFile", of: section, problems: &problems, warnings: &warnings)
        return String(line)
    }

    /// The path under a key, which must not be what the file should hold.
    private func text(_ key: String, problems: inout [ConfigurationProblem]) -> String? {
        guard let path = section.text(key, problems: &problems) else { return nil }
        guard !path.contains("\n"), !path.contains("-----BEGIN") else {
            problems.append(section.problem(key, "give the path of the file, not its content"))
            return nil
        }
        return path
    }

    private func content(of path: String, _ key: String, problems: inout [ConfigurationProblem]) -> String? {
        do {
            return try section.files.text(of: path, in: path)
        } catch {
            problems.append(section.problem(key, error.text))
            return nil
        }
    }

    // MARK: What the files hold

    /// The problem, at the field that mends it.
    private func problem(of error: SigningError, path: String, keyPath: String) -> ConfigurationProblem {
        let keyField = section.has("certificateKey") ? "certificateKey" : main
        let message = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        switch error.code {
        case .notAPrivateKey where keyField == "certificate":
            return section.problem(
                "certificateKey", "missing, and no key in \(path); add \"certificateKey: keys/push-key.pem\"")
        case .notAPrivateKey:
            return section.problem(keyField, "\(keyPath): no private key in it; export certificate and key together")
        case .keyMismatch:
            return section.problem(keyField, "\(keyPath): \(message)")
        case .passwordNeeded:
            return section.problem(
                keyField, "\(keyPath): is encrypted; write its password into a file and add \"passwordFile: <file>\"")
        case .wrongPassword:
            return section.problem("passwordFile", "the password in it does not open \(keyPath)")
        case .unsupportedEncryption:
            return section.problem(keyField, "\(keyPath): \(message)")
        case .notACertificate, .notP256, .notRSA, .notASubscriptionKey, .tooLong, .notSealed, .library:
            return section.problem(main, "\(path): \(message)")
        }
    }

    private func isOfApp(
        _ certificate: ClientCertificate, _ path: String, problems: inout [ConfigurationProblem]
    ) -> Bool {
        guard !certificate.topics.isEmpty else {
            problems.append(
                section.problem(
                    main,
                    "\(path): is no push certificate; use the one of the developer account (Apple Push Services)"))
            return false
        }
        guard let app, !certificate.topics.contains(app.rawValue) else { return true }
        problems.append(
            section.problem(
                main, "\(path): is for \(certificate.topics.joined(separator: ", ")), not for \(app.rawValue)"))
        return false
    }

    private func warnOfEnvironment(
        _ certificate: ClientCertificate, _ path: String, warnings: inout [ConfigurationProblem]
    ) {
        let needed: ClientCertificate.Environment =
            switch environment {
            case .production: .production
            case .sandbox: .sandbox
            }
        guard !certificate.environments.isEmpty, !certificate.environments.contains(needed) else { return }
        warnings.append(
            section.problem(
                main,
                "\(path): is not for \(environment.rawValue), this app's environment; APNs will refuse it there"))
    }
}
