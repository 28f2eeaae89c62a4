import Crypto
import Foundation
import HTTPTypes
import HummingbirdCore
import JSON
import PushModel
import Store

/// A secret that an installation gets: 256 random bits as text. Shown once; the store keeps its SHA-256.
struct InstallationSecret: Sendable {
    /// The secret.
    let text: String

    /// Makes one from the system's random source.
    init() {
        var random = SystemRandomNumberGenerator()
        text = Base64URL.text((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    /// What the store keeps.
    var digest: [UInt8] { Self.digest(of: text) }

    /// What the store keeps of a secret's text.
    static func digest(of text: String) -> [UInt8] { Array(SHA256.hash(data: Data(text.utf8))) }

    /// Whether `text` is the secret with this digest. Takes the same time wherever the two differ.
    static func matches(_ text: String, _ digest: [UInt8]) -> Bool {
        SHA256.hash(data: Data(text.utf8)) == digest
    }
}

extension ProjectCall {
    /// The installation that proves itself with its auth token; `nil`: the request has none.
    ///
    /// - Throws: UNAUTHENTICATED for a token that is unknown, expired or of another project.
    func installation() async throws(FCMError) -> Installation? {
        guard let header = call.request.headers[.installationAuth] else { return nil }
        let text = header.trimmingBlanks
        let token = SchemeCredential.value(of: "fis ", in: text) ?? String(text)
        do throws(StoreError) {
            let digest = InstallationSecret.digest(of: token)
            if let found = try await services.store.installation(withToken: digest, in: project.id, at: now) {
                return found
            }
        } catch {
            throw FCMError(error)
        }
        throw .unknownInstallation
    }

    /// The registration that an installation made last.
    func registration(of installation: Installation) async throws(FCMError) -> Registration? {
        guard let key = installation.registration else { return nil }
        do throws(StoreError) {
            return try await services.store.registration(key)
        } catch {
            throw FCMError(error)
        }
    }
}

extension ProjectCall {
    /// Lets a client use a registration that an installation made only with that installation's auth token, and one that
    /// no installation made not at all, unless the project takes clients without one: device and registration tokens leak
    /// through logs. Other roles need none.
    func checkOwnership(of registration: Registration) async throws(FCMError) {
        guard caller.role == .client else { return }
        guard registration.isBound else {
            guard project.requiresInstallation else { return }
            throw .installationRequired(
                "No installation made the registration, so none has it yet (registrations.requireInstallation): the app "
                    + "takes it over when it registers (POST …/registrations) with the same device token.")
        }
        guard let installation = try await installation() else {
            throw .installationRequired("The registration belongs to an installation.")
        }
        guard installation.registration == registration.key else {
            throw FCMError(
                .permissionDenied, "The registration is not that of the installation.", reason: .installationRequired)
        }
    }

    /// Lets clients register with an installation only, unless the project takes others too.
    func checkInstallation(_ installation: Installation?) throws(FCMError) {
        guard caller.role == .client, installation == nil, project.requiresInstallation else { return }
        throw .installationRequired("A client key registers installations only (registrations.requireInstallation).")
    }
}

extension FCMError {
    /// A client shows no installation where it needs one.
    static func installationRequired(_ why: String) -> FCMError {
        FCMError(
            .permissionDenied,
            why + " Send the installation's auth token in X-Goog-Firebase-Installations-Auth; an app gets one by "
                + "POST …/installations. A key with the role admin needs none.",
            reason: .installationRequired)
    }

    /// One answer for all that is wrong with an installation's auth token.
    static var unknownInstallation: FCMError {
        FCMError(
            .unauthenticated,
            "The installation's auth token is not valid: it is unknown or expired. Get another one by "
                + "authTokens:generate.", reason: .installationInvalid)
    }
}
