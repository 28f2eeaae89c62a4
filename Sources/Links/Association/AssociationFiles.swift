package import JSON
package import PushModel

/// The two files by which Apple's and Google's systems know whose links a host has. Served without a
/// redirect as `application/json`.
package struct AssociationFiles: Hashable, Sendable {
    /// `/apple-app-site-association` and `/.well-known/apple-app-site-association`.
    package let apple: JSONValue
    /// `/.well-known/assetlinks.json`.
    package let android: JSONValue

    /// The files of a host, of the apps of all projects that have a prefix there: apps without an App ID prefix or a
    /// fingerprint are left out.
    package init(host: String, projects: [Project]) {
        let tenants = projects.sorted { $0.id.rawValue < $1.id.rawValue }.compactMap { Tenant(host: host, project: $0) }
        let details = tenants.flatMap { tenant in
            tenant.appleDetails(others: tenants.flatMap { $0.id == tenant.id ? [] : $0.paths })
        }
        apple = .object([
            .init("applinks", .object([.init("apps", .array([])), .init("details", .array(details))]))
        ])
        android = .array(tenants.flatMap(\.androidStatements))
    }
}

/// A project on a host.
private struct Tenant {
    let id: ProjectID
    /// The paths of its prefixes there, sorted; empty for the whole host.
    let paths: [String]
    private let apps: [App]

    init?(host: String, project: Project) {
        paths = (project.links?.prefixes ?? []).filter { $0.host == host }.map(\.path).sorted()
        guard !paths.isEmpty else { return nil }
        id = project.id
        apps = project.apps.values.sorted { $0.key < $1.key }
    }

    /// An entry for each Apple app: `appID` and `paths` for iOS 12 and before, `appIDs` and `components` for later ones.
    func appleDetails(others: [String]) -> [JSONValue] {
        let patterns = patterns(others: others)
        return apps.filter { $0.platform == .apple }.compactMap { app in
            guard let prefix = app.links.appIDPrefix else { return nil }
            let id = JSONValue.string(prefix + "." + app.id.rawValue)
            return .object([
                .init("appID", id),
                .init("paths", .array(patterns.map { .string(($0.isExcluded ? "NOT " : "") + $0.path) })),
                .init("appIDs", .array([id])),
                .init("components", .array(patterns.map(\.component))),
            ])
        }
    }

    private struct Pattern {
        let path: String
        let isExcluded: Bool

        var component: JSONValue {
            .object([.init("/", .string(path))] + (isExcluded ? [.init("exclude", .bool(true))] : []))
        }
    }

    /// The first that matches counts: what is excluded comes first, `/_/` of each prefix and the prefixes of other projects
    /// that lie below one of these.
    private func patterns(others: [String]) -> [Pattern] {
        let foreign = others.filter { other in !other.isEmpty && paths.contains { other.hasPrefix($0 + "/") } }
        let excluded = paths.map { $0 + "/_/*" } + foreign.sorted().flatMap { [$0, $0 + "/*"] }
        let included = paths.flatMap { $0.isEmpty ? ["/*"] : [$0 + "/*", $0] }
        return excluded.map { Pattern(path: $0, isExcluded: true) }
            + included.map { Pattern(path: $0, isExcluded: false) }
    }

    /// A statement for each Android app with a fingerprint. It is for the whole host: Android's own filters know paths.
    var androidStatements: [JSONValue] {
        apps.filter { $0.platform == .android && !$0.links.sha256.isEmpty }.map { app in
            .object([
                .init("relation", .array([.string("delegate_permission/common.handle_all_urls")])),
                .init(
                    "target",
                    .object([
                        .init("namespace", .string("android_app")),
                        .init("package_name", .string(app.id.rawValue)),
                        .init("sha256_cert_fingerprints", .array(app.links.sha256.map(JSONValue.string))),
                    ])),
            ])
        }
    }
}
