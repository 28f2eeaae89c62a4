import Configuration
import Console
import Foundation
import IPAddresses
import Logging
import PushModel

extension GatewayConfiguration {
    /// Every key of the file, by section; `""` is the top.
    static let keys: [String: [String]] = [
        "": [
            "listen", "publicURL", "data", "store", "projects", "operations", "console", "limits", "retention", "apns",
            "webhooks", "tracing", "log",
        ],
        "listen": ["host", "port", "certificate", "key", "certificates"],
        "store": ["url", "passwordFile"],
        "operations": ["host", "port"],
        "console": ["enabled", "path", "oidc"],
        "console.oidc": [
            "issuer", "clientID", "clientSecret", "clientSecretFile", "name", "scopes", "operatorClaim", "rolesClaim",
            "roles", "trust",
        ],
        "limits": [
            "messages", "bytes", "projectMessages", "projectBytes", "activeMessages", "pageSize", "inFlight",
            "shutdownSeconds", "bodyBytes", "batchBodyBytes", "upstreamThreads", "upstreamConnections",
            "clientAddressRate", "clientRegistrationRate", "clientProjectRate", "newRegistrationAddressRate",
            "newRegistrationProjectRate", "proxies", "failedAuthenticationRate", "connections", "addressConnections",
            "newLinkAddressRate", "newLinkProjectRate", "linkMissRate", "freeBytes",
        ],
        "retention": ["eventHours"] + RetentionSection.keys,
        "apns": ["badDeviceTokens"],
        "apns.badDeviceTokens": ["share", "atLeast", "windowSeconds"],
        "tracing": ["endpoint", "sample"],
        "webhooks": ["allowHTTP", "allowNetworks", "proxy", "proxyCredentialsFile"],
        "log": ["level", "format"],
    ]

    /// The keys of the lists' elements, by list. No environment variable overrides a list.
    static let lists: [String: [String]] = [
        "listen.certificates": ["certificate", "key"], "webhooks.allowHTTP": [], "webhooks.allowNetworks": [],
        "console.oidc.scopes": [], "console.oidc.roles": ["value", "project", "role"],
    ]

    /// Reads the file, then lets the environment override it value by value (`HERALD_LISTEN_PORT` for `listen.port`).
    static func read(
        file path: String, environment: [String: String]
    ) throws(ConfigurationError) -> GatewayConfiguration {
        var problems: [ConfigurationProblem] = []
        let root = ConfigurationFile(path: path).section(
            purpose: "copy Config/herald.yaml of the distribution", problems: &problems)
        guard let root else { throw ConfigurationError(problems: problems) }
        let settings = SettingsReader(root: root, environment: environment)
        settings.refuseUnknown(problems: &problems)
        var configuration = GatewayConfiguration(settings, problems: &problems)
        configuration.environmentProxy = EnvironmentProxy(environment: environment, problems: &problems)
        configuration.readTracing(settings, environment, problems: &problems)
        configuration.secretsKeys = SecretsKeys(environment: environment)
        SecretsKeys.refuseUnknown(in: environment, problems: &problems)
        configuration.keyLogFile = environment["SSLKEYLOGFILE"].flatMap { $0.isEmpty ? nil : $0 }
        guard problems.isEmpty else { throw ConfigurationError(problems: problems.inOrder) }
        return configuration
    }

    private init(_ settings: SettingsReader, problems: inout [ConfigurationProblem]) {
        settings.text("listen.host", into: &listen.host, problems: &problems)
        settings.integer("listen.port", in: 0...65_535, into: &listen.port, problems: &problems)
        listen.certificate = settings.optionalText("listen.certificate", problems: &problems)
        listen.key = settings.optionalText("listen.key", problems: &problems)
        listen.certificates = settings.sections("listen.certificates", problems: &problems).compactMap { section in
            CertificateFiles(section, problems: &problems)
        }
        publicURL = settings.optionalText("publicURL", problems: &problems).flatMap { text in
            let url = Self.publicURL(text)
            if url == nil {
                problems.append(
                    ConfigurationProblem(
                        settings.place("publicURL"), field: "publicURL",
                        "\"\(text)\" is no URL of a server; write it like https://push.example.com"))
            }
            return url
        }
        settings.text("data", into: &dataDirectory, problems: &problems)
        readStore(settings, problems: &problems)
        settings.text("projects", into: &projectsDirectory, problems: &problems)
        readOperations(settings, problems: &problems)
        readConsole(settings, problems: &problems)
        // The name of earlier versions; the new one wins.
        settings.integer("limits.activeMessages", in: 1...100_000_000, into: &limits.messages, problems: &problems)
        settings.integer("limits.messages", in: 1...100_000_000, into: &limits.messages, problems: &problems)
        settings.integer("limits.bytes", in: 4096...Self.mostBytes, into: &limits.bytes, problems: &problems)
        settings.integer(
            "limits.projectMessages", in: 1...100_000_000, into: &limits.projectMessages, problems: &problems)
        settings.integer(
            "limits.projectBytes", in: 4096...Self.mostBytes, into: &limits.projectBytes, problems: &problems)
        settings.integer("limits.freeBytes", in: 0...Self.mostBytes, into: &limits.freeBytes, problems: &problems)
        settings.integer("limits.pageSize", in: 1...10_000, into: &limits.pageSize, problems: &problems)
        settings.integer("limits.inFlight", in: 1...1_000_000, into: &limits.inFlight, problems: &problems)
        settings.integer("limits.shutdownSeconds", in: 0...3600, into: &limits.shutdownSeconds, problems: &problems)
        settings.integer(
            "limits.bodyBytes", in: 4096...1_073_741_824, into: &limits.bodyBytes, problems: &problems)
        settings.integer(
            "limits.batchBodyBytes", in: 4096...1_073_741_824, into: &limits.batchBodyBytes, problems: &problems)
        settings.integer("limits.upstreamThreads", in: 1...64, into: &limits.upstreamThreads, problems: &problems)
        settings.integer(
            "limits.upstreamConnections", in: 1...64, into: &limits.upstreamConnections, problems: &problems)
        settings.integer(
            "limits.clientAddressRate", in: 0...1_000_000, into: &limits.clientAddressRate, problems: &problems)
        settings.integer(
            "limits.clientRegistrationRate", in: 0...1_000_000, into: &limits.clientRegistrationRate,
            problems: &problems)
        settings.integer(
            "limits.clientProjectRate", in: 0...1_000_000, into: &limits.clientProjectRate, problems: &problems)
        settings.integer(
            "limits.newRegistrationAddressRate", in: 0...1_000_000, into: &limits.newRegistrationAddressRate,
            problems: &problems)
        settings.integer(
            "limits.newRegistrationProjectRate", in: 0...1_000_000, into: &limits.newRegistrationProjectRate,
            problems: &problems)
        settings.integer(
            "limits.failedAuthenticationRate", in: 0...1_000_000, into: &limits.failedAuthenticationRate,
            problems: &problems)
        settings.integer(
            "limits.newLinkAddressRate", in: 0...1_000_000, into: &limits.newLinkAddressRate, problems: &problems)
        settings.integer(
            "limits.newLinkProjectRate", in: 0...1_000_000, into: &limits.newLinkProjectRate, problems: &problems)
        settings.integer("limits.linkMissRate", in: 0...1_000_000, into: &limits.linkMissRate, problems: &problems)
        settings.integer("limits.connections", in: 8...1_000_000, into: &limits.connections, problems: &problems)
        settings.integer(
            "limits.addressConnections", in: 1...1_000_000, into: &limits.addressConnections, problems: &problems)
        settings.integer("limits.proxies", in: 0...10, into: &limits.proxies, problems: &problems)
        settings.integer("retention.eventHours", in: 1...8784, into: &retention.eventHours, problems: &problems)
        readRetention(settings, problems: &problems)
        settings.share("apns.badDeviceTokens.share", into: &badDeviceTokens.share, problems: &problems)
        settings.integer(
            "apns.badDeviceTokens.atLeast", in: 1...1_000_000, into: &badDeviceTokens.atLeast, problems: &problems)
        settings.integer(
            "apns.badDeviceTokens.windowSeconds", in: 1...3600, into: &badDeviceTokens.windowSeconds,
            problems: &problems)
        readWebhooks(settings, problems: &problems)
        settings.choice("log.level", into: &log.level, problems: &problems)
        settings.choice("log.format", into: &log.format, problems: &problems)
        for setting in Setting.allCases { places[setting] = settings.place(setting.rawValue) }
        checkTogether(settings, problems: &problems)
    }

    /// A URL of a server, with a path or without, without a slash at the end; `nil`: it is none.
    static func publicURL(_ text: String) -> String? {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host()?.isEmpty == false,
            url.query() == nil, url.fragment() == nil, url.user() == nil
        else { return nil }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private mutating func readRetention(_ settings: SettingsReader, problems: inout [ConfigurationProblem]) {
        var section = RetentionSection()
        for field in RetentionSection.Field.allCases {
            settings.integer(
                "retention.\(field.rawValue)", in: field.range, into: &section.values[field], problems: &problems)
        }
        for (field, text) in section.conflicts(over: RetentionPolicy()) {
            let name = "retention.\(field.rawValue)"
            problems.append(ConfigurationProblem(settings.place(name), field: name, text))
        }
        retention.messages = section.policy(over: RetentionPolicy())
    }

    private mutating func readTracing(
        _ settings: SettingsReader, _ environment: [String: String], problems: inout [ConfigurationProblem]
    ) {
        if let text = settings.optionalText("tracing.endpoint", problems: &problems) {
            tracing.url = TracingSection.url(endpoint: text)
            if tracing.url == nil {
                problems.append(
                    ConfigurationProblem(
                        settings.place("tracing.endpoint"), field: "tracing.endpoint",
                        "\"\(text)\" is no URL of a collector; write it like http://127.0.0.1:4318"))
            }
        }
        var sample = -1.0
        settings.share("tracing.sample", fromZero: true, into: &sample, problems: &problems)
        TracingSection(environment: environment).complete(
            &tracing, sample: sample < 0 ? nil : sample, problems: &problems)
    }

    private mutating func readWebhooks(_ settings: SettingsReader, problems: inout [ConfigurationProblem]) {
        webhooks.proxy = WebhookProxySection(settings: settings).read(problems: &problems)
        webhooks.allowHTTP = settings.items("webhooks.allowHTTP", problems: &problems).compactMap { item in
            let host = item.text.lowercased()
            guard HostName(rawValue: host) != nil || IPAddress(host) != nil else {
                problems.append(item.problem("\"\(item.text)\" is no host; use a name as hooks.example.com"))
                return nil
            }
            return host
        }
        webhooks.allowNetworks = settings.items("webhooks.allowNetworks", problems: &problems).compactMap { item in
            guard let network = IPNetwork(item.text) else {
                problems.append(item.problem("\"\(item.text)\" is no network; write it like 10.0.0.0/8"))
                return nil
            }
            return network
        }
    }

    private mutating func readStore(_ settings: SettingsReader, problems: inout [ConfigurationProblem]) {
        let passwordFile = settings.optionalText("store.passwordFile", problems: &problems)
        guard let url = settings.optionalText("store.url", problems: &problems) else {
            if passwordFile != nil {
                problems.append(
                    ConfigurationProblem(
                        settings.place("store.passwordFile"), field: "store.passwordFile",
                        "needs its database; add \"url: postgresql://HOST/DATABASE\" to store"))
            }
            return
        }
        database = SharedDatabase(url: url, passwordFile: passwordFile)
        guard let problem = SharedStore.problem(of: url) else { return }
        problems.append(ConfigurationProblem(settings.place("store.url"), field: "store.url", problem))
    }

    private mutating func readOperations(_ settings: SettingsReader, problems: inout [ConfigurationProblem]) {
        let host = settings.optionalText("operations.host", problems: &problems)
        var port: Int?
        settings.integer("operations.port", in: 0...65_535, into: &port, problems: &problems)
        switch (host, port) {
        case (nil, nil): break
        case (_, let port?):
            operations = Operations(host: host ?? "127.0.0.1", port: port)
            guard port != 0, port == listen.port else { return }
            problems.append(
                ConfigurationProblem(
                    settings.place("operations.port"), field: "operations.port",
                    "\(port) is listen.port; take another one"))
        case (_?, nil):
            problems.append(
                ConfigurationProblem(
                    settings.place("operations.host"), field: "operations.host",
                    "needs its port; add \"port: 9090\" to operations"))
        }
    }

    /// The words of a switch, as YAML and variables have them.
    private enum Switch: String, CaseIterable {
        case on = "true"
        case off = "false"
    }

    private mutating func readConsole(_ settings: SettingsReader, problems: inout [ConfigurationProblem]) {
        var isEnabled = Switch.on
        settings.choice("console.enabled", into: &isEnabled, problems: &problems)
        console.isEnabled = isEnabled == .on
        console.oidc = OIDCSection(settings: settings).read(isReachable: publicURL != nil, problems: &problems)
        settings.text("console.path", into: &console.path, problems: &problems)
        guard !ConsoleConfiguration.isPath(console.path) else { return }
        problems.append(
            ConfigurationProblem(
                settings.place("console.path"), field: "console.path",
                "\"\(console.path)\" can't be the console's path; write one that the API does not have, like /console"))
    }

    /// A terabyte: more would be a slip of the keyboard.
    private static let mostBytes = 1 << 40

    /// Rules over more than one value.
    private func checkTogether(_ settings: SettingsReader, problems: inout [ConfigurationProblem]) {
        switch (listen.certificate, listen.key) {
        case (.some, nil):
            problems.append(
                ConfigurationProblem(
                    settings.place("listen.certificate"), field: "listen.certificate",
                    "needs its key; add \"key: <PEM file>\" to listen"))
        case (nil, .some):
            problems.append(
                ConfigurationProblem(
                    settings.place("listen.key"), field: "listen.key",
                    "needs its certificate; add \"certificate: <PEM file>\" to listen"))
        case (.some, .some), (nil, nil): break
        }
        if areProjectsStored, database == nil {
            problems.append(
                ConfigurationProblem(
                    settings.place("projects"), field: "projects",
                    "the embedded store is one gateway's and keeps no projects; name the directory of the project files "
                        + "(./database for one of this name), or set store.url"))
        }
        if limits.pageSize > limits.inFlight {
            problems.append(
                ConfigurationProblem(
                    settings.place("limits.pageSize"), field: "limits.pageSize",
                    "\(limits.pageSize) is more than limits.inFlight (\(limits.inFlight)); "
                        + "a page must fit in what may be in flight"))
        }
    }
}

extension GatewayConfiguration.CertificateFiles {
    /// Reads an element of `listen.certificates`.
    fileprivate init?(_ section: ConfigurationSection, problems: inout [ConfigurationProblem]) {
        section.refuseUnknownKeys(
            known: GatewayConfiguration.lists["listen.certificates"] ?? [], problems: &problems)
        let certificate = section.requiredText("certificate", example: "tls/fullchain.pem", problems: &problems)
        let key = section.requiredText("key", example: "tls/privkey.pem", problems: &problems)
        guard let certificate, let key else { return nil }
        self.init(
            field: section.path, certificate: certificate, key: key, certificatePlace: section.place("certificate"),
            keyPlace: section.place("key"))
    }
}

/// The values of the file with those of the environment over them.
struct SettingsReader {
    private let sections: [String: ConfigurationSection]
    private let environment: ConfigReader
    private let variables: [String]
    private let root: ConfigurationSection
    private let early: [ConfigurationProblem]

    init(root: ConfigurationSection, environment: [String: String]) {
        self.root = root
        variables = environment.keys.sorted()
        let provider = EnvironmentVariablesProvider(environmentVariables: environment)
        self.environment = ConfigReader(provider: provider.prefixKeys(with: "herald"))
        var problems: [ConfigurationProblem] = []
        var sections = ["": root]
        // In order: a section before those within it.
        for name in GatewayConfiguration.keys.keys.sorted() where !name.isEmpty {
            let (parent, key) = Self.split(name)
            sections[name] = sections[parent]?.section(key, problems: &problems)
        }
        self.sections = sections
        early = problems
    }

    /// The variable that overrides a field: `HERALD_LIMITS_PAGE_SIZE` for `limits.pageSize`,
    /// `HERALD_PUBLIC_URL` for `publicURL`.
    static func variable(_ field: String) -> String {
        var variable = "HERALD_"
        var isAfterLowercase = false
        for character in field {
            if isAfterLowercase && character.isUppercase { variable += "_" }
            variable += character == "." ? "_" : character.uppercased()
            isAfterLowercase = character.isLowercase
        }
        return variable
    }

    /// Adds the problems with the names of keys and variables.
    func refuseUnknown(problems: inout [ConfigurationProblem]) {
        problems += early
        for (name, section) in sections {
            section.refuseUnknownKeys(known: GatewayConfiguration.keys[name] ?? [], problems: &problems)
        }
        let known = GatewayConfiguration.keys.flatMap { section, keys in
            keys.map { section.isEmpty ? $0 : "\(section).\($0)" }
                .filter { GatewayConfiguration.keys[$0] == nil && GatewayConfiguration.lists[$0] == nil }
                .map(Self.variable)
        }
        let prefixes = GatewayConfiguration.keys.keys.filter { !$0.isEmpty }.map { Self.variable($0) + "_" }
        for variable in variables where prefixes.contains(where: variable.hasPrefix) && !known.contains(variable) {
            let hint = Spelling.closest(to: variable, among: known).map { "; did you mean \($0)?" } ?? ""
            problems.append(
                ConfigurationProblem(
                    ConfigurationPlace(source: variable, line: nil), "unknown environment variable\(hint)"))
        }
    }

    /// Where a value stands: its variable, or its line.
    func place(_ field: String) -> ConfigurationPlace {
        if override(field) != nil { return ConfigurationPlace(source: Self.variable(field), line: nil) }
        let (section, key) = split(field)
        return (sections[section] ?? root).place(key)
    }

    func optionalText(_ field: String, problems: inout [ConfigurationProblem]) -> String? {
        let (section, key) = split(field)
        let written = sections[section]?.text(key, problems: &problems)
        return override(field) ?? written
    }

    /// The elements of a list.
    func sections(_ field: String, problems: inout [ConfigurationProblem]) -> [ConfigurationSection] {
        let (section, key) = split(field)
        guard let section = sections[section], section.has(key), !section.isEmpty(key) else { return [] }
        return section.sections(key, problems: &problems) ?? []
    }

    /// The texts of a list.
    func items(_ field: String, problems: inout [ConfigurationProblem]) -> [ConfigurationSection.Item] {
        let (section, key) = split(field)
        return sections[section]?.items(key, problems: &problems) ?? []
    }

    func text(_ field: String, into value: inout String, problems: inout [ConfigurationProblem]) {
        if let text = optionalText(field, problems: &problems) { value = text }
    }

    func integer(
        _ field: String, in range: ClosedRange<Int>, into value: inout Int, problems: inout [ConfigurationProblem]
    ) {
        let (section, key) = split(field)
        if let number = sections[section]?.integer(key, in: range, problems: &problems) { value = number }
        guard let text = override(field) else { return }
        guard let number = Int(text) else {
            problems.append(
                ConfigurationProblem(place(field), field: field, "expected a whole number, found \"\(text)\""))
            return
        }
        guard range.contains(number) else {
            problems.append(
                ConfigurationProblem(place(field), field: field, ConfigurationSection.outOfRange(number, range)))
            return
        }
        value = number
    }

    /// A whole number that may be absent.
    func integer(
        _ field: String, in range: ClosedRange<Int>, into value: inout Int?, problems: inout [ConfigurationProblem]
    ) {
        // A value below the range stays only when nothing was read.
        var number = range.lowerBound - 1
        integer(field, in: range, into: &number, problems: &problems)
        if range.contains(number) { value = number }
    }

    /// A share, above 0 or `fromZero`.
    func share(
        _ field: String, fromZero: Bool = false, into value: inout Double, problems: inout [ConfigurationProblem]
    ) {
        let (section, key) = split(field)
        if let number = sections[section]?.share(key, fromZero: fromZero, problems: &problems) { value = number }
        guard let text = override(field) else { return }
        guard let number = Double(text), ConfigurationSection.isShare(number, fromZero: fromZero) else {
            let message = ConfigurationSection.notAShare(text, fromZero: fromZero)
            problems.append(ConfigurationProblem(place(field), field: field, message))
            return
        }
        value = number
    }

    func choice<Value: RawRepresentable & CaseIterable>(
        _ field: String, into value: inout Value, problems: inout [ConfigurationProblem]
    ) where Value.RawValue == String {
        let (section, key) = split(field)
        if let choice = sections[section]?.choice(key, of: Value.self, problems: &problems) { value = choice }
        guard let text = override(field) else { return }
        guard let choice = Value(rawValue: text) else {
            let message = ConfigurationSection.notAChoice(text, Value.allCases.map(\.rawValue))
            problems.append(ConfigurationProblem(place(field), field: field, message))
            return
        }
        value = choice
    }

    /// A variable that is set and not empty: an empty one is how many supervisors say "not set".
    private func override(_ field: String) -> String? {
        guard let text = environment.string(forKey: ConfigKey(field)), !text.isEmpty else { return nil }
        return text
    }

    private func split(_ field: String) -> (section: String, key: String) { Self.split(field) }

    private static func split(_ field: String) -> (section: String, key: String) {
        guard let dot = field.lastIndex(of: ".") else { return ("", field) }
        return (String(field[..<dot]), String(field[field.index(after: dot)...]))
    }
}
