import APNS
import PushModel
import Signing

/// One project file, read and checked, keys loaded.
struct ProjectConfiguration: Sendable {
    /// The file it came from.
    var file: String
    /// `project`.
    var id: ProjectID
    /// `number`.
    var number: Int64
    /// `apps`.
    var apps: [AppConfiguration]
    /// Where fields stand, by path.
    var places: [String: ConfigurationPlace]

    /// The project as senders see it.
    var project: Project {
        Project(
            id: id, number: number,
            apps: apps.map { App(id: $0.id, environment: $0.environment, firebaseKeys: $0.firebaseKeys) })
    }

    /// The ways of its apps to APNs.
    var upstreams: [APNSAppConfiguration] {
        apps.map { app in
            APNSAppConfiguration(
                project: id, app: app.id, teamID: app.teamID, keyID: app.keyID, key: app.key,
                endpoints: app.endpoints, trustFile: app.trustFile)
        }
    }
}

/// One app of a project file.
struct AppConfiguration: Sendable {
    /// `id`.
    var id: AppID
    /// `apns.environment`.
    var environment: APNSEnvironment
    /// `firebaseKeys`.
    var firebaseKeys: FirebaseKeys
    /// `apns.team`.
    var teamID: String
    /// `apns.keyID`, or from the name of the key file.
    var keyID: String
    /// The key of `apns.key`.
    var key: ES256PrivateKey
    /// `apns.endpoint`.
    var endpoints: [APNSEnvironment: APNSEndpoint]
    /// `apns.trust`; `nil`: the system's authorities.
    var trustFile: String?
}

/// All project files of a directory.
struct ProjectSet: Sendable {
    /// The projects in the order of their files.
    var configurations: [ProjectConfiguration]
    /// What works but should be looked at.
    var warnings: [ConfigurationProblem]

    /// The projects as senders see them.
    var projects: [Project] { configurations.map(\.project) }

    /// The ways to APNs.
    var upstreams: [APNSAppConfiguration] { configurations.flatMap(\.upstreams) }

    /// The problem that the sender found, at its line.
    func problem(of error: APNSConfigurationError) -> ConfigurationProblem {
        for configuration in configurations {
            guard let index = configuration.apps.firstIndex(where: { $0.id == error.app }) else { continue }
            let field = "apps[\(index)].apns.\(error.field)"
            let place = configuration.places[field] ?? configuration.places["apps[\(index)].apns"]
            return ConfigurationProblem(
                place ?? ConfigurationPlace(source: configuration.file, line: nil), field: field, error.message)
        }
        return ConfigurationProblem(
            ConfigurationPlace(source: error.app.rawValue, line: nil), field: error.field, error.message)
    }
}
