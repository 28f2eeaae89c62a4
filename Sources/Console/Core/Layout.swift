import Delivery
import PushModel
import Store

/// What stands around every page: the menu, the projects, who is signed in.
struct Layout {
    private let signedIn: SignedIn?
    private let project: Project?
    private let role: OperatorRole?
    private let base: String
    private let services: ConsoleServices

    init(
        _ signedIn: SignedIn?, project: Project?, role: OperatorRole?, base: String, services: ConsoleServices
    ) {
        self.signedIn = signedIn
        self.project = project
        self.role = role
        self.base = base
        self.services = services
    }

    /// The model of a page with what the layout needs.
    func model(for page: Reply.Page, at url: String) -> Model {
        var model = page.model
        model["title"] = page.title
        model["base"] = base
        model["style"] = "\(base)/assets/\(ConsoleAssets.styleName)"
        model["script"] = "\(base)/assets/\(ConsoleAssets.scriptName)"
        model["here"] = url
        model["now"] = Format.time(services.wallTime())
        guard let signedIn else { return model }
        model["operator"] = signedIn.owner.name.rawValue
        model["token"] = signedIn.formToken
        guard let project, let role else { return model }
        let root = "\(base)/p/\(project.id)"
        model["root"] = root
        model["project"] = project.id.rawValue
        model["role"] = role.rawValue
        for (name, least) in [("maySend", OperatorRole.sender), ("mayOperate", .operator), ("mayAdmin", .admin)] {
            model[name] = role >= least
        }
        model["menu"] = MenuItem.allCases.map { item in
            [
                "title": item.title,
                "url": root + item.path,
                "icon": item.icon,
                "current": item == page.menu,
            ] as Model
        }
        let projects = signedIn.owner.roles.keys.filter { services.projects.project($0) != nil }.map(\.rawValue)
        if projects.count > 1 {
            model["manyProjects"] = true
            model["projects"] = projects.sorted().map { name in
                [
                    "name": name,
                    "url": "\(base)/p/\(name)",
                    "current": name == project.id.rawValue,
                ] as Model
            }
        }
        if page.isLive {
            model["live"] = url + (url.contains("?") ? "&" : "?") + "live=1"
        }
        return model
    }
}
