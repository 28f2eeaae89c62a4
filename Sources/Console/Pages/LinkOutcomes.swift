import Links
import PushModel
import Store

/// Where a link opens on each platform, by the decision table that answers its visitors, and what it looks like when it is
/// shared.
struct LinkOutcomes {
    /// What templates see of it.
    let model: Model

    /// Reads them off a link.
    ///
    /// - Parameter url: the link's own URL.
    /// - Throws: the problem of a target.
    init(_ parameters: LinkParameters, url: String, of tenant: LinkTenant) throws(LinkProblem) {
        let resolution = try LinkResolution(
            url: url, parameters: parameters, project: tenant.project, policy: tenant.policy)
        model = [
            "platforms": [
                Self.apple("iPhone", resolution, isPad: false), Self.apple("iPad", resolution, isPad: true),
                Self.android(resolution), Self.row("Desktop", app: nil, otherwise: resolution.desktopURL),
            ], "socialTitle": parameters[.socialTitle] ?? parameters[.link] ?? "",
            "socialDescription": parameters[.socialDescription] ?? "", "host": resolution.targets.link.host,
            "hasPicture": parameters[.socialImage] != nil,
        ]
    }

    private static func apple(_ name: String, _ resolution: LinkResolution, isPad: Bool) -> Model {
        let decision = resolution.decision(for: LinkClient(isPad ? .iPad : .iPhone))
        return row(
            name, app: resolution.appleApp(isPad: isPad)?.id, otherwise: resolution.appleFallbackURL(isPad: isPad)
        ).with("isPreviewed", decision == .preview)
    }

    private static func android(_ resolution: LinkResolution) -> Model {
        guard case .redirect(let fallback) = resolution.decision(for: LinkClient(.androidOther)) else {
            return row("Android", app: resolution.androidApp?.id, otherwise: "")
        }
        return row("Android", app: resolution.androidApp?.id, otherwise: fallback)
    }

    private static func row(_ name: String, app: AppID?, otherwise: String) -> Model {
        let model: Model = ["platform": name, "otherwise": otherwise]
        return model.with("app", app?.rawValue)
    }
}

extension LinkParameters {
    /// What a form says: its fields by the names of ``LinkList``'s.
    init(_ form: Form) {
        self.init()
        let fields: [(LinkParameter, String)] = [
            (.link, "link"), (.iosBundle, "ios"), (.appStoreID, "store"), (.androidPackage, "android"),
            (.otherFallback, "desktop"), (.socialTitle, "title"), (.socialDescription, "description"),
            (.socialImage, "image"),
        ]
        for (parameter, field) in fields { self[parameter] = form[field] }
    }
}
