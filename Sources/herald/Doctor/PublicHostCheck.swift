import Foundation
import PushModel

/// Whether clients can reach the API where the configuration says: a host of links or preview pages has no API.
struct PublicHostCheck {
    let configuration: GatewayConfiguration
    let projects: [Project]

    /// What keeps the gateway from nothing but serving its API under its public URL.
    var warnings: [ConfigurationProblem] {
        guard let url = configuration.publicURL, let host = URL(string: url)?.host()?.lowercased() else { return [] }
        return projects.compactMap { project in
            guard let links = project.links else { return nil }
            if let prefix = links.prefixes.first(where: { $0.host == host }) {
                return warning(host, "links (links.prefixes of \(project.id): \(prefix.url))")
            }
            return links.preview?.host == host ? warning(host, "preview pages (links.preview of \(project.id))") : nil
        }
    }

    private func warning(_ host: String, _ what: String) -> ConfigurationProblem {
        configuration.problem(
            .publicURL,
            "\(host) has \(what) and nothing else, so that no client reaches the API there; name another host")
    }
}
