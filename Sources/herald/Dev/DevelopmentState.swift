import Console
import Foundation
import GatewayAPI
import Logging
import PushModel
import SQLiteStorage
import Simulators
import Store

/// What `herald dev` keeps in its state directory: identity of the simulator, store, project file, API keys and a service
/// account. Made on the first start, found again on the next.
struct DevelopmentState {
    /// The directory.
    let directory: String

    /// The app of the demo project.
    static let app = "com.example.app"
    /// The demo project.
    static let projectName = "demo"

    /// The directory of the store.
    var dataDirectory: String { directory + "/data" }
    /// The directory of the project file.
    var projectsDirectory: String { directory + "/projects" }

    /// The service account for Admin SDKs.
    var account: DevelopmentAccount { DevelopmentAccount(path: directory + "/sa.json") }

    /// What gave these directories.
    var places: [GatewayConfiguration.Setting: ConfigurationPlace] {
        let option = ConfigurationPlace(source: "--state", line: nil)
        return [.data: option, .projects: option]
    }

    /// The configuration that its store is opened with.
    var configuration: GatewayConfiguration {
        var configuration = GatewayConfiguration()
        configuration.dataDirectory = dataDirectory
        configuration.places = places
        return configuration
    }

    private var keysFile: String { directory + "/keys.json" }

    /// API keys, one for each role.
    struct Keys: Hashable, Sendable {
        var admin: String
        var sender: String
        var client: String
    }

    /// A key as the file holds it: its text, and what the store keeps of it.
    private struct StoredKey: Codable {
        var key: String
        var id: String
        var digest: [UInt8]
        var createdAt: Int64
    }

    /// Makes the directory and reads or makes the simulator's identity.
    func identity() throws(Failure) -> SimulatorIdentity {
        do {
            try PrivateFile.makeDirectory(directory)
        } catch {
            throw Failure(.inputOutput, "\(directory): can't be made: \(error.localizedDescription)")
        }
        return try Self.identity(directory: directory + "/apns", topics: [Self.app])
    }

    /// Reads or makes a simulator's identity.
    static func identity(directory: String, topics: [String]) throws(Failure) -> SimulatorIdentity {
        do {
            return try SimulatorIdentity(directory: directory, topics: topics)
        } catch {
            throw Failure(.inputOutput, "\(error)")
        }
    }

    /// The host of its links.
    static let linkHost = "go.localhost"

    /// The web app's part of the project file.
    private static func webApp(_ browsers: DevelopmentBrowsers, pushPort port: Int) -> String {
        """
          - id: \(DevelopmentBrowsers.app)
            platform: web
            webPush:
              subject: mailto:herald@example.com
              key: \(quoted(browsers.keyFile))
              services: ["127.0.0.1:\(port)"]
              trust: \(quoted(browsers.trustFile))

        """
    }

    /// The Android app's part of the project file.
    private static func androidApp(_ identity: GoogleIdentity, googlePort port: Int) -> String {
        """
          - id: \(DevelopmentAndroid.app)
            platform: android
            fcm:
              serviceAccount: \(quoted(identity.accountFile))
              endpoint: 127.0.0.1:\(port)
              trust: \(quoted(identity.caFile))
        """
    }

    /// Writes the project file for the simulators: the ports may differ from the last run's.
    ///
    /// - Parameter gatewayPort: what links name; 0: they name none.
    func writeProjectFile(
        _ identity: SimulatorIdentity, _ android: DevelopmentAndroid, _ browsers: DevelopmentBrowsers,
        _ ports: DevelopmentPorts, gatewayPort: Int
    ) throws(Failure) {
        let suffix = gatewayPort == 0 ? "" : ":\(gatewayPort)"
        let channels = ports.channels.map { "\n      channelEndpoint: 127.0.0.1:\($0)" } ?? ""
        let file = projectsDirectory + "/demo.yaml"
        let text = """
            # Written by herald dev at each start; changes are lost.
            project: \(Self.projectName)
            number: 123456789012
            links:
              prefixes: ["http://\(Self.linkHost)\(suffix)"]
              preview: http://preview.localhost\(suffix)
              targets: ["www.example.com"]
            apps:
              - id: \(Self.app)
                platform: apple
                apns:
                  team: \(identity.teamID)
                  key: \(Self.quoted(identity.keyFile))
                  keyID: \(identity.keyID)
                  environment: production
                  endpoint: 127.0.0.1:\(ports.apns)\(channels)
                  trust: \(Self.quoted(identity.caFile))
                # Exactly what the sender gave; "standard" adds FCM's own keys to the payload.
                firebaseKeys: none
                appStoreID: 1234567890
            \(Self.androidApp(android.identity, googlePort: ports.google))
            \(Self.webApp(browsers, pushPort: ports.push))
            """
        do {
            try PrivateFile.makeDirectory(projectsDirectory)
            try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
        } catch {
            throw Failure(.inputOutput, "\(file): can't be written: \(error.localizedDescription)")
        }
    }

    /// The API keys, the same on every start; those that the store lost or revoked are put right.
    func keys(logger: Logger) async throws(Failure) -> Keys {
        var stored = try readKeys()
        do {
            let store = try await configuration.openStore(as: .command, logger: logger)
            for role in Role.allCases {
                stored[role.rawValue] = try await usable(stored[role.rawValue], role, store)
            }
            try store.close()
        } catch let error as StoreError {
            throw Failure(store: error, in: configuration)
        } catch {
            throw Failure(.software, "\(error)")
        }
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try PrivateFile(path: keysFile).write(encoder.encode(stored))
        } catch {
            throw Failure(.inputOutput, "\(keysFile): can't be written: \(error.localizedDescription)")
        }
        let text = { (role: Role) in stored[role.rawValue]?.key ?? "" }
        return Keys(admin: text(.admin), sender: text(.sender), client: text(.client))
    }

    /// A new link that signs the operator `dev` in to the console, as admin of the demo project.
    func signInLink(logger: Logger) async throws(Failure) -> ConsoleSignInLink {
        guard let project = ProjectID(rawValue: Self.projectName), let name = OperatorName(rawValue: "dev") else {
            preconditionFailure("constant names")
        }
        let link = ConsoleSignInLink(for: name, at: Timestamp.systemTime())
        do {
            let store = try await configuration.openStore(as: .command, logger: logger)
            _ = try await store.grant(.admin, in: project, to: name, at: Timestamp.systemTime(), by: .command)
            _ = try await store.insert(link.record)
            try store.close()
        } catch {
            throw Failure(store: error, in: configuration)
        }
        return link
    }

    /// The stored key when it works, or a new one.
    private func usable(_ stored: StoredKey?, _ role: Role, _ store: any AdministeredStore) async throws -> StoredKey {
        guard let project = ProjectID(rawValue: Self.projectName) else { preconditionFailure("a constant id") }
        if let stored {
            guard let record = try await store.apiKey(stored.id) else {
                try await store.insert(
                    APIKeyRecord(
                        id: stored.id, project: project, role: role, digest: stored.digest,
                        createdAt: Timestamp(milliseconds: stored.createdAt), revokedAt: nil),
                    by: .command)
                return stored
            }
            if record.revokedAt == nil { return stored }
        }
        let key = APIKey(project: project, role: role, at: Timestamp.systemTime())
        try await store.insert(key.record, by: .command)
        return StoredKey(
            key: key.text, id: key.record.id, digest: key.record.digest, createdAt: key.record.createdAt.milliseconds)
    }

    private func readKeys() throws(Failure) -> [String: StoredKey] {
        guard FileManager.default.fileExists(atPath: keysFile) else { return [:] }
        do {
            let data = try Data(contentsOf: URL(filePath: keysFile))
            return try JSONDecoder().decode([String: StoredKey].self, from: data)
        } catch {
            throw Failure(
                .inputOutput, "\(keysFile): can't be read; remove it to get new keys (\(error.localizedDescription))")
        }
    }

    /// A YAML single-quoted scalar.
    private static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}
