import APNS
import Foundation
import PushModel
import Signing
import Upstream

/// Reads one project file: `project`, `number`, `weight`, `links`, `delivery` and `apps`.
struct ProjectFile {
    /// Every field of a project file, by section; `""` is the top.
    static let keys: [String: [String]] = [
        "": ["project", "number", "weight", "apps", "registrations", "topics", "links", "delivery", "retention"],
        "registrations": ["staleAfterDays", "stale", "requireInstallation"],
        "topics": ["clientLimit", "clientPattern"],
        "links": LinkSection.keys,
        "links.attribution": LinkSection.attributionKeys,
        "links.referral": LinkSection.referralKeys,
        "delivery": ["trackLinks"],
        "retention": RetentionSection.keys,
        "apps": ["id", "platform", "apns", "webPush", "fcm", "firebaseKeys"] + AppLinkSection.keys,
        "apps.webPush": WebPushSection.keys,
        "apps.fcm": FCMSection.keys,
        "apps.apns": APNSSection.keys,
        "apps.apns.endpoint": PushEnvironment.allCases.map(\.rawValue),
        "apps.apns.broadcastEndpoint": PushEnvironment.allCases.map(\.rawValue),
        "apps.apns.channelEndpoint": PushEnvironment.allCases.map(\.rawValue),
    ]

    /// Adds a problem for each field that the section must not have.
    static func refuseUnknown(
        _ name: String, in section: ConfigurationSection, problems: inout [ConfigurationProblem]
    ) {
        section.refuseUnknownKeys(known: keys[name] ?? [], problems: &problems)
    }

    /// What one file gave: parts are `nil` when a problem was added for them.
    struct Content {
        var id: ProjectID?
        var number: Int64?
        var weight = 1
        var apps: [AppConfiguration?] = []
        /// Those that are not reached by APNs.
        var otherApps: [App] = []
        /// How the web apps among them are reached, as far as they are.
        var browsers: [BrowserConfiguration] = []
        /// How the Android apps among them are reached, as far as they are.
        var androids: [AndroidConfiguration] = []
        var links: LinkSettings?
        /// The hosts and paths of prefixes, and where they stand.
        var prefixes: [(prefix: LinkPrefix, item: ConfigurationSection.Item)] = []
        /// Apps whose installs are matched by proof only.
        var provenApps: Set<AppID> = []
        var stale = StalePolicy()
        var topics = TopicPolicy()
        var requiresInstallation = true
        var retention = RetentionPolicy()
        var places: [String: ConfigurationPlace] = [:]
        var appKeys: [(key: AppKey, place: ConfigurationPlace, field: String)] = []
    }

    /// The path as the operator named it.
    let path: String
    /// What the file holds; `nil`: it is read.
    var text: String?
    /// Where the files are that it names.
    var files = FileSource.disk
    /// What holds for messages of projects that do not say how long theirs are kept.
    var retention = RetentionPolicy()

    /// Reads the file; `nil` when it is no mapping at all.
    func read(problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]) -> Content? {
        let root = ConfigurationFile(path: path, content: text, files: files).section(
            purpose: "a project file needs project, number and apps", problems: &problems)
        guard let root else { return nil }
        Self.refuseUnknown("", in: root, problems: &problems)
        var content = Content()
        content.id = projectID(root, problems: &problems)
        content.places["project"] = root.place("project")
        content.number = number(root, problems: &problems)
        content.places["number"] = root.place("number")
        readRegistrations(root, into: &content, problems: &problems)
        content.topics = topicPolicy(root, problems: &problems)
        if let weight = root.integer("weight", in: 1...100, problems: &problems) { content.weight = weight }
        if root.has("links"), let block = root.section("links", problems: &problems) {
            LinkSection(section: block).read(into: &content, problems: &problems, warnings: &warnings)
        }
        readDelivery(root, into: &content, problems: &problems)
        content.retention = retentionPolicy(root, problems: &problems)
        guard root.has("apps") else {
            problems.append(root.problem("apps", "missing; add at least one app"))
            return content
        }
        let sections = root.sections("apps", problems: &problems) ?? []
        if sections.isEmpty, problems.allSatisfy({ $0.field?.hasPrefix("apps") != true }) {
            problems.append(root.problem("apps", "the list is empty; add at least one app"))
        }
        for section in sections {
            let app = AppSection(section: section)
            content.apps.append(app.read(problems: &problems, warnings: &warnings, content: &content))
        }
        return content
    }

    private func projectID(_ root: ConfigurationSection, problems: inout [ConfigurationProblem]) -> ProjectID? {
        guard let text = root.requiredText("project", example: "demo", problems: &problems) else { return nil }
        guard let id = ProjectID(rawValue: text), text.contains(where: \.isLetter) else {
            problems.append(
                root.problem(
                    "project",
                    "\"\(text)\" is not a project id; use 1 to 63 of A-Z a-z 0-9 _ - with at least one letter"))
            return nil
        }
        return id
    }

    /// A yes or no.
    enum Switch: String, CaseIterable {
        case yes = "true"
        case no = "false"
    }

    private func readRegistrations(
        _ root: ConfigurationSection, into content: inout Content, problems: inout [ConfigurationProblem]
    ) {
        guard root.has("registrations"), let block = root.section("registrations", problems: &problems) else { return }
        Self.refuseUnknown("registrations", in: block, problems: &problems)
        if let days = block.integer("staleAfterDays", in: 1...3650, problems: &problems) {
            content.stale.afterDays = days
        }
        if let action = block.choice("stale", of: StalePolicy.Action.self, problems: &problems) {
            content.stale.action = action
        }
        if let answer = block.choice("requireInstallation", of: Switch.self, problems: &problems) {
            content.requiresInstallation = answer == .yes
        }
    }

    private func readDelivery(
        _ root: ConfigurationSection, into content: inout Content, problems: inout [ConfigurationProblem]
    ) {
        guard root.has("delivery"), let block = root.section("delivery", problems: &problems) else { return }
        Self.refuseUnknown("delivery", in: block, problems: &problems)
        guard block.choice("trackLinks", of: Switch.self, problems: &problems) == .yes else { return }
        guard content.links != nil else {
            problems.append(
                block.problem(
                    "trackLinks",
                    "needs links.prefixes; add \"links: {prefixes: [https://go.example.com], targets: [www.example.com]}\""
                ))
            return
        }
        content.links?.tracksMessages = true
    }

    private func retentionPolicy(
        _ root: ConfigurationSection, problems: inout [ConfigurationProblem]
    ) -> RetentionPolicy {
        guard root.has("retention"), let block = root.section("retention", problems: &problems) else {
            return retention
        }
        let section = RetentionSection(block, problems: &problems)
        for (field, text) in section.conflicts(over: retention) {
            problems.append(block.problem(field.rawValue, text))
        }
        return section.policy(over: retention)
    }

    private func topicPolicy(_ root: ConfigurationSection, problems: inout [ConfigurationProblem]) -> TopicPolicy {
        var policy = TopicPolicy()
        guard root.has("topics"), let block = root.section("topics", problems: &problems) else { return policy }
        Self.refuseUnknown("topics", in: block, problems: &problems)
        if let limit = block.integer("clientLimit", in: 0...10_000_000, problems: &problems) {
            policy.clientLimit = limit
        }
        guard let text = block.text("clientPattern", problems: &problems) else { return policy }
        policy.clientPattern = TopicPattern(rawValue: text)
        if policy.clientPattern == nil {
            problems.append(
                block.problem("clientPattern", "\"\(text)\" is no pattern; use \(TopicPattern.expectation), as news-*"))
        }
        return policy
    }

    private func number(_ root: ConfigurationSection, problems: inout [ConfigurationProblem]) -> Int64? {
        guard root.has("number") else {
            problems.append(root.problem("number", "missing; add \"number: 123456789012\" (FCM's sender id)"))
            return nil
        }
        return root.integer("number", in: 1...Int.max, problems: &problems).map(Int64.init)
    }
}

/// The platforms that an app may be of.
private enum ConfigurablePlatform: String, CaseIterable {
    case apple
    case android
    case web

    var platform: Platform {
        switch self {
        case .apple: .apple
        case .android: .android
        case .web: .web
        }
    }
}

/// Reads one entry of `apps`.
private struct AppSection {
    let section: ConfigurationSection

    func read(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem],
        content: inout ProjectFile.Content
    ) -> AppConfiguration? {
        let platform = platform(problems: &problems)
        let id = appID(of: platform, problems: &problems)
        if let id { content.appKeys.append((AppKey(platform, id), section.place("id"), section.field("id"))) }
        switch platform {
        case .web:
            section.refuseUnknownKeys(known: ["id", "platform", "webPush"], problems: &problems)
            let browsers = browsers(of: id, problems: &problems, warnings: &warnings)
            if let browsers { content.browsers.append(browsers) }
            if let id { content.otherApps.append(App(web: id, service: browsers?.service)) }
            return nil
        case .android:
            section.refuseUnknownKeys(
                known: ["id", "platform", "fcm"] + AppLinkSection.androidKeys, problems: &problems)
            let links = AppLinkSection(section: section).android(problems: &problems)
            let way = android(of: id, problems: &problems, warnings: &warnings, content: &content)
            if let way { content.androids.append(way) }
            if let id {
                var app = App(id: id, service: .android(isReached: way != nil), links: links)
                app.relaysUnknownTokens = way?.unknownTokens == .relay
                app.repeatsUnanswered = way?.ambiguous != .drop
                content.otherApps.append(app)
            }
            return nil
        case .apple:
            return apple(id, problems: &problems, warnings: &warnings, content: &content)
        }
    }

    /// The `webPush` block; `nil`: there is none, or after a problem.
    private func browsers(
        of id: AppID?, problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> BrowserConfiguration? {
        guard section.has("webPush"), !section.isEmpty("webPush"),
            let block = section.section("webPush", problems: &problems)
        else { return nil }
        return WebPushSection(section: block).read(of: id, problems: &problems, warnings: &warnings)
    }

    /// The `fcm` block; `nil`: there is none, or after a problem.
    private func android(
        of id: AppID?, problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem],
        content: inout ProjectFile.Content
    ) -> AndroidConfiguration? {
        guard section.has("fcm"), !section.isEmpty("fcm"), let block = section.section("fcm", problems: &problems)
        else { return nil }
        content.places[section.field("fcm")] = section.place("fcm")
        for key in FCMSection.keys where block.has(key) { content.places[block.field(key)] = block.place(key) }
        return FCMSection(section: block).read(
            of: id, field: section.path, problems: &problems, warnings: &warnings)
    }

    private func apple(
        _ id: AppID?, problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem],
        content: inout ProjectFile.Content
    ) -> AppConfiguration? {
        section.refuseUnknownKeys(
            known: ["id", "platform", "apns", "firebaseKeys"] + AppLinkSection.appleKeys, problems: &problems)
        let firebaseKeys =
            section.choice("firebaseKeys", of: FirebaseKeys.self, problems: &problems) ?? .standard
        let linkSection = AppLinkSection(section: section)
        var links = linkSection.apple(problems: &problems)
        if !linkSection.isMatchedHeuristically(problems: &problems), let id { content.provenApps.insert(id) }
        guard section.has("apns"), !section.isEmpty("apns") else {
            guard content.links != nil, !section.has("apns") else {
                problems.append(section.problem("apns", "missing; add team and key, or a certificate"))
                return nil
            }
            if links.appIDPrefix == nil { warnings.append(linkSection.noPrefix) }
            if let id { content.otherApps.append(App(id: id, service: .linksOnly(.apple), links: links)) }
            return nil
        }
        guard let block = section.section("apns", problems: &problems) else { return nil }
        content.places[section.field("apns")] = section.place("apns")
        for key in APNSSection.keys where block.has(key) { content.places[block.field(key)] = block.place(key) }
        let upstream = APNSSection(section: block, app: id).read(problems: &problems, warnings: &warnings)
        guard let id, let upstream else { return nil }
        if case .providerKey(let team, _, _) = upstream.credential { links.appIDPrefix = links.appIDPrefix ?? team }
        if content.links != nil, links.appIDPrefix == nil { warnings.append(linkSection.noPrefix) }
        return AppConfiguration(
            id: id, field: section.path, environment: upstream.environment, firebaseKeys: firebaseKeys,
            credential: upstream.credential, credentialFile: upstream.credentialFile, endpoints: upstream.endpoints,
            broadcastEndpoints: upstream.broadcastEndpoints, channelEndpoints: upstream.channelEndpoints,
            publicationLimit: upstream.publicationLimit,
            trustFile: upstream.trustFile, proxy: upstream.proxy, links: links)
    }

    private func appID(of platform: Platform, problems: inout [ConfigurationProblem]) -> AppID? {
        let isWeb = platform == .web
        let example = isWeb ? "www.example.com" : "com.example.app"
        guard let text = section.requiredText("id", example: example, problems: &problems) else { return nil }
        guard let id = AppID(rawValue: text), !isWeb || text == text.lowercased() else {
            let form =
                switch platform {
                case .web: "the host of a page; use 1 to 255 of a-z"
                case .apple: "a bundle id; use 1 to 255 of A-Z a-z"
                case .android: "a package name; use 1 to 255 of A-Z a-z"
                }
            problems.append(section.problem("id", "\"\(text)\" is not \(form) 0-9 . _ -"))
            return nil
        }
        return id
    }

    /// The platform; after a problem that of most apps.
    private func platform(problems: inout [ConfigurationProblem]) -> Platform {
        guard section.requiredText("platform", example: "apple", problems: &problems) != nil else { return .apple }
        return section.choice("platform", of: ConfigurablePlatform.self, problems: &problems)?.platform ?? .apple
    }
}

/// Reads the `apns` block of an app.
struct APNSSection {
    static let keys =
        [
            "team", "key", "keyID", "environment", "endpoint", "broadcastEndpoint", "channelEndpoint", "trust", "proxy",
            "proxyCredentialsFile", "publicationsPerMinute",
        ]
        + CertificateSection.keys

    struct Block {
        var environment: PushEnvironment
        var credential: APNSCredential
        var credentialFile: CredentialFile
        var endpoints: [PushEnvironment: UpstreamEndpoint]
        var broadcastEndpoints: [PushEnvironment: UpstreamEndpoint]
        var channelEndpoints: [PushEnvironment: UpstreamEndpoint]
        var publicationLimit: Int?
        var trustFile: String?
        var proxy: ProxyChoice
    }

    let section: ConfigurationSection
    /// `nil`: its id is wrong.
    let app: AppID?

    func read(problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]) -> Block? {
        ProjectFile.refuseUnknown("apps.apns", in: section, problems: &problems)
        let environment =
            section.choice("environment", of: PushEnvironment.self, problems: &problems) ?? .production
        let endpoints = self.endpoints("endpoint", problems: &problems)
        let broadcasts = self.endpoints("broadcastEndpoint", problems: &problems)
        let channels = self.endpoints("channelEndpoint", problems: &problems)
        let publications = section.integer("publicationsPerMinute", in: 0...60_000, problems: &problems) ?? 0
        let trust = trustFile(problems: &problems)
        let proxy = proxy(problems: &problems, warnings: &warnings)
        let credential =
            CertificateSection.isIn(section)
            ? CertificateSection(section: section, app: app, environment: environment)
                .read(problems: &problems, warnings: &warnings).map(APNSCredential.certificate)
            : providerKey(problems: &problems, warnings: &warnings)
        guard let credential, let endpoints, let broadcasts, let channels else { return nil }
        let field = ["key", "p12", "certificate"].first(where: section.has) ?? "key"
        let file = CredentialFile(path: section.text(field, problems: &problems) ?? "", in: section.files)
        return Block(
            environment: environment, credential: credential, credentialFile: file,
            // Apple's, with those over them that the file names.
            endpoints: Dictionary(
                uniqueKeysWithValues: PushEnvironment.allCases.map { ($0, endpoints[$0] ?? UpstreamEndpoint.apple($0)) }
            ),
            broadcastEndpoints: broadcasts, channelEndpoints: channels,
            publicationLimit: publications > 0 ? publications : nil, trustFile: trust, proxy: proxy)
    }

    private func providerKey(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> APNSCredential? {
        let team = identifier("team", example: "TEAM123456", problems: &problems)
        let key = key(problems: &problems, warnings: &warnings)
        guard let team, let key else { return nil }
        return .providerKey(teamID: team, keyID: key.id, key: key.key)
    }

    /// A team or key id: ten upper-case letters and digits.
    private func identifier(
        _ name: String, example: String, problems: inout [ConfigurationProblem]
    ) -> String? {
        guard let text = section.requiredText(name, example: example, problems: &problems) else { return nil }
        guard Self.isAppleID(text) else {
            problems.append(
                section.problem(name, "\"\(text)\" must be 10 upper-case letters and digits, such as \(example)"))
            return nil
        }
        return text
    }

    static func isAppleID(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) }
    }

    private func key(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> (id: String, key: ES256PrivateKey)? {
        let example = "keys/AuthKey_ABC1234567.p8"
        guard let path = section.requiredText("key", example: example, problems: &problems) else { return nil }
        guard !path.contains("\n"), !path.contains("-----BEGIN") else {
            problems.append(section.problem("key", "give the path of the .p8 file, not the key itself"))
            return nil
        }
        let id = keyID(of: path, problems: &problems)
        guard let key = loadedKey(path, problems: &problems) else { return nil }
        PrivateFile(path: path).check("key", of: section, problems: &problems, warnings: &warnings)
        return id.map { ($0, key) }
    }

    private func keyID(of path: String, problems: inout [ConfigurationProblem]) -> String? {
        if section.has("keyID") { return identifier("keyID", example: "ABC1234567", problems: &problems) }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let id = name.hasPrefix("AuthKey_") && name.hasSuffix(".p8") ? String(name.dropFirst(8).dropLast(3)) : ""
        guard Self.isAppleID(id) else {
            problems.append(
                section.problem(
                    "key",
                    "no key id in the file name \(name); name it AuthKey_<key id>.p8 or add \"keyID: ABC1234567\""))
            return nil
        }
        return id
    }

    private func loadedKey(_ path: String, problems: inout [ConfigurationProblem]) -> ES256PrivateKey? {
        do {
            return try ES256PrivateKey(pem: section.files.text(of: path, in: path))
        } catch let error as ConfigurationProblem.Unreadable {
            problems.append(section.problem("key", error.text))
        } catch let error as SigningError {
            let what =
                switch error.code {
                case .notAPrivateKey: "no private key in it; use the .p8 as it came from the developer account"
                case .notP256: "not a P-256 key; APNs takes no other; use the .p8 of the developer account"
                case .notACertificate, .keyMismatch, .passwordNeeded, .wrongPassword, .unsupportedEncryption, .notRSA,
                    .notASubscriptionKey, .tooLong, .notSealed, .library:
                    error.message
                }
            problems.append(section.problem("key", "\(path): \(what)"))
        } catch {
            problems.append(section.problem("key", "\(path): can't be read: \(error.localizedDescription)"))
        }
        return nil
    }

    func trustFile(problems: inout [ConfigurationProblem]) -> String? {
        guard let path = section.text("trust", problems: &problems), path != "system" else { return nil }
        do {
            let text = try section.files.text(of: path, in: path)
            if !text.contains("-----BEGIN CERTIFICATE-----") {
                problems.append(section.problem("trust", "\(path): no PEM certificate in it"))
            }
            return try section.files.authorities(at: path, text)
        } catch {
            problems.append(section.problem("trust", error.text))
        }
        return path
    }

    /// `proxy` and its credentials; after a problem it does not matter what comes back.
    func proxy(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> ProxyChoice {
        let text = section.text("proxy", problems: &problems)
        guard let text, text != "none" else {
            if section.has("proxyCredentialsFile") {
                problems.append(
                    section.problem("proxyCredentialsFile", "needs a proxy; add \"proxy: http://host:port\""))
            }
            return text == nil ? .environment : .direct
        }
        do {
            var proxy = try ProxyURL(text).proxy
            guard proxy.credentials == nil else {
                problems.append(
                    section.problem(
                        "proxy",
                        "must not hold a password; write user:password to a file (chmod 600) and name it in "
                            + "proxyCredentialsFile"))
                return .direct
            }
            proxy.credentials = proxyCredentials(problems: &problems, warnings: &warnings)
            return .proxy(proxy)
        } catch {
            problems.append(section.problem("proxy", "\"\(text)\" \(error.text)"))
            return .direct
        }
    }

    private func proxyCredentials(
        problems: inout [ConfigurationProblem], warnings: inout [ConfigurationProblem]
    ) -> UpstreamProxy.Credentials? {
        let key = "proxyCredentialsFile"
        guard let path = section.text(key, problems: &problems) else { return nil }
        do {
            let line = try section.files.text(of: path, in: path).trimmingCharacters(in: .newlines)
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let found = UpstreamProxy.Credentials(checked: String(parts[0]), String(parts[1]))
            else {
                problems.append(section.problem(key, "\(path): expected one line user:password"))
                return nil
            }
            PrivateFile(path: path).check(key, of: section, problems: &problems, warnings: &warnings)
            return found
        } catch {
            problems.append(section.problem(key, error.text))
            return nil
        }
    }

    /// The endpoints that the file names under a key; `nil` after a problem.
    private func endpoints(
        _ key: String, problems: inout [ConfigurationProblem]
    ) -> [PushEnvironment: UpstreamEndpoint]? {
        var endpoints: [PushEnvironment: UpstreamEndpoint] = [:]
        guard section.has(key) else { return endpoints }
        if section.isSection(key) {
            guard let block = section.section(key, problems: &problems) else { return nil }
            ProjectFile.refuseUnknown("apps.apns.\(key)", in: block, problems: &problems)
            for environment in PushEnvironment.allCases where block.has(environment.rawValue) {
                guard let endpoint = Self.endpoint(block, environment.rawValue, problems: &problems) else { return nil }
                endpoints[environment] = endpoint
            }
            return endpoints
        }
        guard let endpoint = Self.endpoint(section, key, problems: &problems) else { return nil }
        return Dictionary(uniqueKeysWithValues: PushEnvironment.allCases.map { ($0, endpoint) })
    }

    /// The one endpoint of a service that has no environments; `nil` after a problem.
    func endpoint(problems: inout [ConfigurationProblem]) -> UpstreamEndpoint? {
        Self.endpoint(section, "endpoint", problems: &problems)
    }

    private static func endpoint(
        _ section: ConfigurationSection, _ key: String, problems: inout [ConfigurationProblem]
    ) -> UpstreamEndpoint? {
        guard let text = section.text(key, problems: &problems) else { return nil }
        guard let endpoint = UpstreamEndpoint(text: text) else {
            problems.append(
                section.problem(key, "\"\(text)\" is not host:port; write it like api.push.apple.com:443"))
            return nil
        }
        return endpoint
    }
}
