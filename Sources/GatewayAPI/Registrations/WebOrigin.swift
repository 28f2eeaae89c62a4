import PushModel

/// Which web app a page is of: what it says itself, otherwise what its browser says, otherwise the only one there is.
struct WebOrigin: Sendable {
    /// The host that the page names, in lower case.
    let stated: String?
    private let header: String?

    /// Takes `origin` of a body and the Origin header.
    init(_ stated: String?, header: String?) {
        self.stated = stated.flatMap { $0.isEmpty ? nil : Self.host(of: $0) }
        self.header = header.flatMap { $0 == "null" ? nil : Self.host(of: $0) }
    }

    /// The web app of the project.
    func app(of project: Project, field: String) throws(FCMError) -> App {
        let apps = project.apps.values.filter { $0.platform == .web }
        if let host = stated ?? header {
            if let app = apps.first(where: { $0.id.rawValue == host }) { return app }
            throw .badRequest(field, "The project has no web app of this origin.")
        }
        guard apps.count == 1, let app = apps.first else {
            throw .badRequest(
                field,
                apps.isEmpty
                    ? "The project has no web app."
                    : "The project has several web apps: the origin is missing.")
        }
        return app
    }

    /// `www.example.com` of `https://www.example.com:8443/path`.
    private static func host(of text: String) -> String {
        var rest = text[...]
        if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
        return rest.prefix { $0 != "/" && $0 != ":" }.lowercased()
    }
}
