import JSON
import Links
import PushModel
import Store

extension ReportView {
    /// A link of a message, with what happened with it by the events of `linkStats`.
    static func link(_ tracked: MessageLink, _ settings: LinkSettings) -> JSONValue {
        let key = tracked.link.key
        // A prefix that the project had when the message was sent may be gone.
        let prefix = settings.prefixes.first { $0.name == key.prefix }?.url ?? "https://" + key.prefix
        let parameters = LinkParameters(query: tracked.link.parameters)
        var members: [JSONValue.Member] = [.init("shortLink", .string(prefix + "/" + key.suffix))]
        if let target = parameters[.link] { members.append(.init("link", .string(target))) }
        members += LinkEvent.allCases.map { event in
            JSONValue.Member(event.reportName, .integer(tracked.counts[event] ?? 0))
        }
        return .object(members)
    }
}

extension LinkEvent {
    /// What reports call it.
    var reportName: String {
        switch self {
        case .click: "clicks"
        case .redirect: "redirects"
        case .appInstall: "appInstalls"
        case .appFirstOpen: "appFirstOpens"
        case .appReopen: "appReopens"
        }
    }
}
