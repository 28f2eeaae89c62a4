package import PushModel
import Synchronization

/// Which hosts are for links, and whose they are. Safe to share; a reload replaces it as a whole.
package final class LinkHosts: Sendable {
    /// What a host is for.
    package enum Role: Sendable {
        /// Links, and nothing else.
        case links(LinkSite)
        /// The preview pages of links on other hosts, of the projects that name this one.
        case preview(host: String)

        /// The host's name as projects have it, in lower case, without a port.
        package var host: String {
            switch self {
            case .links(let site): site.host
            case .preview(let host): host
            }
        }
    }

    private struct Table {
        var roles: [String: Role] = [:]
        var tenants: [ProjectID: LinkTenant] = [:]
        var sites: [String: LinkSite] = [:]
    }

    private let table = Mutex(Table())

    /// No hosts.
    package init() {}

    /// Takes the hosts of projects, all or, when it throws, none.
    ///
    /// - Throws: the problem of a project's targets or patterns.
    package func replace(with projects: [Project]) throws(LinkProblem) {
        var tenants: [LinkTenant] = []
        for project in projects {
            if let tenant = try LinkTenant(project) { tenants.append(tenant) }
        }
        var new = Table()
        new.tenants = Dictionary(tenants.map { ($0.project.id, $0) }, uniquingKeysWith: { _, last in last })
        for host in tenants.compactMap({ $0.settings.preview?.host }) { new.roles[host] = .preview(host: host) }
        for host in Set(tenants.flatMap { $0.settings.prefixes.map(\.host) }) {
            let site = LinkSite(host: host, tenants: tenants)
            new.sites[host] = site
            new.roles[host] = .links(site)
        }
        table.withLock { $0 = new }
    }

    /// What the host of a request is for, whatever the port; `nil`: not for links.
    ///
    /// - Parameter authority: `Host`, or `:authority`.
    package func role(of authority: String) -> Role? {
        table.withLock { table in
            // The gateway of a project without links looks no further.
            table.roles.isEmpty ? nil : table.roles[Self.host(of: authority)]
        }
    }

    /// What stands on a host.
    package func site(_ host: String) -> LinkSite? { table.withLock { $0.sites[host] } }

    /// What of a prefix's paths belongs to other prefixes.
    ///
    /// - Parameter project: whose the prefix is.
    package func takenPaths(below prefix: LinkPrefix, of project: ProjectID) -> TakenPaths {
        let places = site(prefix.host)?.places ?? []
        return TakenPaths(
            below: prefix, own: places.filter { $0.tenant.project.id == project }.map(\.prefix),
            others: places.filter { $0.tenant.project.id != project }.map(\.prefix))
    }

    /// The links of a project; `nil`: it has none.
    package func tenant(_ project: ProjectID) -> LinkTenant? { table.withLock { $0.tenants[project] } }

    /// A host's name in lower case, without the port and the dot of the root.
    static func host(of authority: String) -> String {
        var end = authority.utf8.endIndex
        var isPlain = true
        for (index, byte) in zip(authority.utf8.indices, authority.utf8) {
            if byte == UInt8(ascii: ":") {
                end = index
                break
            }
            if (0x41...0x5a).contains(byte) { isPlain = false }
        }
        var host = authority[..<end]
        if host.utf8.last == UInt8(ascii: ".") { host = host.dropLast() }
        return isPlain ? String(host) : host.lowercased()
    }
}
