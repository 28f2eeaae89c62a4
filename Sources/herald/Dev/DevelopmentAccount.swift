import Foundation
import GatewayAPI
import Logging
import PushModel
import Store

/// The service account of the demo: `sa.json` in the state directory, the same key on every start.
struct DevelopmentAccount {
    /// The credential.
    let path: String

    /// The account's name, which others have too when nothing else is asked for.
    static let name = "firebase-adminsdk"

    /// Makes account and file where there are none; a key that the store lost is put back, one that was revoked is
    /// replaced.
    func credential(_ state: DevelopmentState, logger: Logger) async throws(Failure) -> ServiceAccountFile {
        let credential: ServiceAccountFile
        do {
            let store = try await state.configuration.openStore(as: .command, logger: logger)
            credential = try await usable(stored() ?? made(), store)
            try store.close()
        } catch let error as Failure {
            throw error
        } catch let error as StoreError {
            throw Failure(store: error, in: state.configuration)
        } catch {
            throw Failure(.software, "\(error)")
        }
        try write(credential)
        return credential
    }

    /// Writes the file for a gateway at `base`, whose port may differ from the last run's.
    func write(_ credential: ServiceAccountFile, base: String) throws(Failure) {
        var credential = credential
        credential.tokenURI = base + "/token"
        try write(credential)
    }

    private func write(_ credential: ServiceAccountFile) throws(Failure) {
        do {
            try PrivateFile(path: path).write(Data(credential.text.utf8))
        } catch {
            throw Failure(.inputOutput, "\(path): can't be written: \(error.localizedDescription)")
        }
    }

    private func stored() throws -> ServiceAccountFile? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let file = ServiceAccountFile(text: try String(contentsOfFile: path, encoding: .utf8)) else {
            throw Failure(.inputOutput, "\(path): is no credential of a service account; remove it to get a new one")
        }
        return file
    }

    private func made() throws -> ServiceAccountFile {
        guard let project = ProjectID(rawValue: DevelopmentState.projectName),
            let email = ServiceAccountEmail(name: Self.name, project: project)
        else { preconditionFailure("a constant id") }
        return try ServiceAccountFile(newKeyOf: email, tokenURI: "")
    }

    /// The credential when its key works or can be put back, or a new one.
    private func usable(_ credential: ServiceAccountFile, _ store: any AdministeredStore) async throws
        -> ServiceAccountFile
    {
        var credential = credential
        let found = try await store.serviceAccountKey(credential.keyID)
        if let found, found.isUsable { return credential }
        if found?.key.revokedAt != nil { credential = try made() }
        let now = Timestamp.systemTime()
        // The next run may have another port.
        var record = credential.record(at: now)
        record.tokenURI = nil
        let account = ServiceAccount(email: credential.account, role: .admin, createdAt: now)
        if try await !store.insert(account, with: record, by: .command) {
            _ = try await store.enable(account.email, at: now, by: .command)
            if found?.key.id != credential.keyID {
                _ = try await store.insert(record, by: .command)
            }
        }
        return credential
    }
}
