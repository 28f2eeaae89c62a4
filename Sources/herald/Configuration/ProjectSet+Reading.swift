import Foundation
import PushModel

extension ProjectSet {
    /// Reads all `*.yaml` and `*.yml` files of the directory, and checks that no two claim the same id, number, app or
    /// link prefix.
    ///
    /// - Parameters:
    ///   - place: where the directory was configured, to point at when it can't be read.
    ///   - environmentProxy: for apps whose file names no proxy.
    ///   - retention: the gateway's, for fields that a file does not name.
    static func read(
        directory: String, configuredAt place: ConfigurationPlace, environmentProxy: EnvironmentProxy? = nil,
        retention: RetentionPolicy = RetentionPolicy()
    ) throws(ConfigurationError) -> ProjectSet {
        let files = try files(in: directory, configuredAt: place)
        var set = try read(
            files.map { ProjectFile(path: $0, retention: retention) }, environmentProxy: environmentProxy)
        if files.isEmpty {
            set.warnings.append(
                ConfigurationProblem(
                    place, field: "projects", "no project files (*.yaml) in \(directory); nothing can be sent yet"))
        }
        return set
    }

    /// Reads project files, wherever they are, and checks them against each other.
    ///
    /// - Parameter environmentProxy: for apps whose file names no proxy.
    static func read(
        _ files: [ProjectFile], environmentProxy: EnvironmentProxy?
    ) throws(ConfigurationError) -> ProjectSet {
        var problems: [ConfigurationProblem] = []
        var warnings: [ConfigurationProblem] = []
        var contents: [(file: String, content: ProjectFile.Content)] = []
        for file in files {
            guard let content = file.read(problems: &problems, warnings: &warnings) else { continue }
            contents.append((file.path, content))
        }
        refuseDuplicates(contents.map(\.content), problems: &problems)
        guard problems.isEmpty else { throw ConfigurationError(problems: problems.inOrder) }
        return ProjectSet(
            configurations: contents.compactMap(ProjectConfiguration.init), warnings: warnings,
            environmentProxy: environmentProxy)
    }

    /// The project ids that the files name, whatever else is wrong with them.
    static func declaredIDs(directory: String, configuredAt place: ConfigurationPlace) throws(ConfigurationError)
        -> [ProjectID]
    {
        var ignored: [ConfigurationProblem] = []
        return try files(in: directory, configuredAt: place).compactMap { file in
            ConfigurationFile(path: file).section(purpose: "", problems: &ignored)?
                .text("project", problems: &ignored).flatMap(ProjectID.init(rawValue:))
        }
    }

    /// The project files of a directory, in the order of their names.
    static func files(
        in directory: String, configuredAt place: ConfigurationPlace
    ) throws(ConfigurationError) -> [String] {
        let reason: String
        switch PathKind(of: directory) {
        case .missing: reason = "no such directory; make it or name the right one"
        case .file: reason = "is a file; name the directory that holds the project files"
        case .directory:
            do {
                return try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
                    .filter { !$0.hasPrefix(".") && ($0.hasSuffix(".yaml") || $0.hasSuffix(".yml")) }
                    .map { directory.hasSuffix("/") ? directory + $0 : "\(directory)/\($0)" }
            } catch {
                reason = "can't be read by this user; check owner and mode"
            }
        }
        throw ConfigurationError(
            problems: [ConfigurationProblem(place, field: "projects", "\(directory): \(reason)")])
    }

    private static func refuseDuplicates(
        _ contents: [ProjectFile.Content], problems: inout [ConfigurationProblem]
    ) {
        var ids: [ProjectID: ConfigurationPlace] = [:]
        var numbers: [Int64: ConfigurationPlace] = [:]
        var apps: [AppKey: ConfigurationPlace] = [:]
        var prefixes: [String: ConfigurationPlace] = [:]
        for content in contents {
            if let id = content.id, let place = content.places["project"] {
                claim(id, named: id.rawValue, field: "project", at: place, in: &ids, problems: &problems)
            }
            if let number = content.number, let place = content.places["number"] {
                claim(number, named: String(number), field: "number", at: place, in: &numbers, problems: &problems)
            }
            for app in content.appKeys {
                claim(
                    app.key, named: app.key.id.rawValue, field: app.field, at: app.place, in: &apps,
                    problems: &problems)
            }
            for (prefix, item) in content.prefixes {
                claim(
                    prefix.name, named: prefix.name, field: item.field, at: item.place, in: &prefixes,
                    problems: &problems)
            }
        }
        for content in contents { refuseSecondRelay(content, problems: &problems) }
        refusePreviewsOnLinkHosts(contents, problems: &problems)
        refusePrefixesOfInvitations(contents.flatMap(\.prefixes), problems: &problems)
    }

    /// Of a token that nothing has registered here it is not known which app it is of.
    private static func refuseSecondRelay(_ content: ProjectFile.Content, problems: inout [ConfigurationProblem]) {
        let relaying = content.androids.filter { $0.unknownTokens == .relay }
        guard let first = relaying.first else { return }
        for app in relaying.dropFirst() {
            let field = "\(app.field).fcm.unknownTokens"
            guard let place = content.places[field] else { continue }
            problems.append(
                ConfigurationProblem(
                    place, field: field,
                    "\(first.id) relays unknown tokens already, and only one app of a project may; leave it out here"))
        }
    }

    /// `<prefix>/i/<id>` is an invitation: a prefix there would hide all of them.
    private static func refusePrefixesOfInvitations(
        _ prefixes: [(prefix: LinkPrefix, item: ConfigurationSection.Item)], problems: inout [ConfigurationProblem]
    ) {
        for (prefix, item) in prefixes where prefix.path.hasSuffix("/i") {
            let name = String(prefix.name.dropLast("/i".count))
            guard prefixes.contains(where: { $0.prefix.name == name }) else { continue }
            problems.append(item.problem("\(prefix.name)/… are the invitations of \(name); take another path"))
        }
    }

    /// Safari opens no universal link from a page of the same host, and one host answers in one way.
    private static func refusePreviewsOnLinkHosts(
        _ contents: [ProjectFile.Content], problems: inout [ConfigurationProblem]
    ) {
        let hosts = Set(contents.flatMap(\.prefixes).map(\.prefix.host))
        for content in contents {
            guard let host = content.links?.preview?.host, hosts.contains(host),
                let place = content.places["links.preview"]
            else { continue }
            problems.append(
                ConfigurationProblem(
                    place, field: "links.preview", "\(host) has links already; the preview page needs another host"))
        }
    }

    private static func claim<Key: Hashable>(
        _ key: Key, named name: String, field: String, at place: ConfigurationPlace,
        in claimed: inout [Key: ConfigurationPlace], problems: inout [ConfigurationProblem]
    ) {
        if let first = claimed[key] {
            problems.append(ConfigurationProblem(place, field: field, "\(name) is taken already at \(first)"))
        } else {
            claimed[key] = place
        }
    }
}

extension ProjectConfiguration {
    /// The configuration of a file without problems.
    fileprivate init?(file: String, content: ProjectFile.Content) {
        guard let id = content.id, let number = content.number else { return nil }
        self.init(
            file: file, id: id, number: number, weight: content.weight, apps: content.apps.compactMap { $0 },
            otherApps: content.otherApps, browsers: content.browsers, androids: content.androids, links: content.links,
            stale: content.stale,
            topics: content.topics, requiresInstallation: content.requiresInstallation, retention: content.retention,
            places: content.places)
        let linked = apps.map(\.id) + otherApps.filter { $0.platform == .apple }.map(\.id)
        links?.heuristicApps = Set(linked).subtracting(content.provenApps)
    }
}
