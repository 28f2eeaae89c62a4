import JSON
import PushModel

/// A host that has links: the prefixes on it, and its association files.
package final class LinkSite: Sendable {
    /// Its name.
    let host: String
    /// The prefixes, the longest path first, each with the project that it belongs to.
    let places: [(prefix: LinkPrefix, tenant: LinkTenant)]
    /// `apple-app-site-association`.
    let appleAssociation: [UInt8]
    /// `assetlinks.json`.
    let androidAssociation: [UInt8]

    /// Gathers what stands on a host.
    init(host: String, tenants: [LinkTenant]) {
        self.host = host
        places = tenants.flatMap { tenant in
            tenant.settings.prefixes.filter { $0.host == host }.map { (prefix: $0, tenant: tenant) }
        }.sorted { $0.prefix.path.utf8.count > $1.prefix.path.utf8.count }
        let files = AssociationFiles(host: host, projects: tenants.map(\.project))
        appleAssociation = files.apple.bytes
        androidAssociation = files.android.bytes
    }

    /// The prefix that a path belongs to, and what of the path stands behind it.
    func place(of path: String) -> (prefix: LinkPrefix, tenant: LinkTenant, rest: Substring)? {
        for (prefix, tenant) in places where prefix.covers(path: path) {
            return (prefix, tenant, path[prefix.path.endIndex...])
        }
        return nil
    }
}
