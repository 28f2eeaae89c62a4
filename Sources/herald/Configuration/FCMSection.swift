import FCMRelay
import Foundation
import PushModel
import Upstream

/// How the devices of one Android app are reached, read and checked, the account's key loaded.
struct AndroidConfiguration: Sendable {
    /// `id`.
    var id: AppID
    /// Where it stands, such as `apps[0]`.
    var field: String
    /// `fcm.serviceAccount`.
    var account: ServiceAccount
    /// The file of that.
    var accountFile: CredentialFile
    /// `fcm.endpoint`.
    var endpoint: UpstreamEndpoint
    /// `fcm.trust`; `nil`: the system's authorities.
    var trustFile: String?
    /// `fcm.proxy`.
    var proxy: ProxyChoice
    /// `fcm.maxPerSecond`; 0: no limit.
    var maxPerSecond: Int
    /// `fcm.unknownTokens`.
    var unknownTokens = UnknownTokens.reject
    /// `fcm.ambiguous`.
    var ambiguous = AmbiguousPushes.retry

    /// Its way to Google.
    ///
    /// - Parameter environmentProxy: for an app that does not say.
    func upstream(of project: ProjectID, environmentProxy: EnvironmentProxy?) -> FCMRelayAppConfiguration {
        let chosen: UpstreamProxy? =
            switch proxy {
            case .environment: environmentProxy?.proxy(for: endpoint)
            case .direct: nil
            case .proxy(let proxy): proxy
            }
        return FCMRelayAppConfiguration(
            project: project, app: id, account: account, endpoint: endpoint, trustFile: trustFile, proxy: chosen,
            maxPerSecond: maxPerSecond)
    }
}

/// What becomes of a message to a token of Google's that nothing has registered here.
enum UnknownTokens: String, CaseIterable, Sendable {
    /// It is answered with UNREGISTERED.
    case reject
    /// It goes to Google, as a message of this app's.
    case relay
}

/// What becomes of a push that was sent and got no answer: Google has no key by which it would know a repeat.
enum AmbiguousPushes: String, CaseIterable, Sendable {
    /// It is sent again, and may be shown twice.
    case retry
    /// It ends, and may not have arrived.
    case drop
}

/// Reads the `fcm` block of an Android app.
struct FCMSection {
    static let keys = [
        "serviceAccount", "endpoint", "trust", "proxy", "proxyCredentialsFile", "maxPerSecond", "unknownTokens",
        "ambiguous",
    ]

    let section: ConfigurationSection

    /// Reads the block of the app `id`; `nil` after a problem, or when the id is wrong.
    func read(
        of id: AppID?, field: String, problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) -> AndroidConfiguration? {
        ProjectFile.refuseUnknown("apps.fcm", in: section, problems: &problems)
        // Authorities and proxies are told in the same words as to APNs.
        let way = APNSSection(section: section, app: id)
        let count = problems.count
        let endpoint = section.has("endpoint") ? way.endpoint(problems: &problems) : .google
        let trust = way.trustFile(problems: &problems)
        let proxy = way.proxy(problems: &problems, warnings: &warnings)
        let limit = section.integer("maxPerSecond", in: 0...1_000_000, problems: &problems)
        let unknownTokens = section.choice("unknownTokens", of: UnknownTokens.self, problems: &problems)
        let ambiguous = section.choice("ambiguous", of: AmbiguousPushes.self, problems: &problems)
        let account = account(problems: &problems, warnings: &warnings)
        guard let id, let account, let endpoint, problems.count == count else { return nil }
        return AndroidConfiguration(
            id: id, field: field, account: account,
            accountFile: CredentialFile(
                path: section.text("serviceAccount", problems: &problems) ?? "", in: section.files),
            endpoint: endpoint, trustFile: trust, proxy: proxy,
            maxPerSecond: limit ?? FCMRelayAppConfiguration.defaultMaxPerSecond,
            unknownTokens: unknownTokens ?? .reject, ambiguous: ambiguous ?? .retry)
    }

    private func account(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> ServiceAccount? {
        let key = "serviceAccount"
        guard let path = section.requiredText(key, example: "keys/service-account.json", problems: &problems) else {
            return nil
        }
        guard !path.contains("{") else {
            problems.append(section.problem(key, "give the path of the JSON file, not what is in it"))
            return nil
        }
        do {
            let account = try ServiceAccount(json: Array(section.files.text(of: path, in: path).utf8))
            PrivateFile(path: path).check(key, of: section, problems: &problems, warnings: &warnings)
            return account
        } catch let error as ConfigurationProblem.Unreadable {
            problems.append(section.problem(key, error.text))
        } catch let error as ServiceAccountError {
            problems.append(section.problem(key, "\(path): \(error.message)"))
        } catch {
            problems.append(section.problem(key, "\(path): can't be read: \(error.localizedDescription)"))
        }
        return nil
    }
}
