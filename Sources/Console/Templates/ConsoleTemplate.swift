import Links
import Mustache

/// The templates of the console. Those with a name of a page stand in the layout; the part that follows what happens is a
/// partial of its own.
enum ConsoleTemplate: String, Sendable, CaseIterable {
    case layout, message, signIn, signInLink, prove, account
    case overview, overviewLive, messages, messagesLive, report, reportLive, deliveries
    case device, topics, topic, users, apps, webhooks, webhook
    case compose, composeCheck, review, links, linkNew, link, linkOutcomes, referral, access, audit, settings
    case pager, progress, phone

    /// The source.
    var text: String {
        switch self {
        case .layout: Self.layoutText
        case .message: Self.messageText
        case .signIn: Self.signInText
        case .signInLink: Self.signInLinkText
        case .prove: Self.proveText
        case .account: Self.accountText
        case .overview: Self.overviewText
        case .overviewLive: Self.overviewLiveText
        case .messages: Self.messagesText
        case .messagesLive: Self.messagesLiveText
        case .report: Self.reportText
        case .reportLive: Self.reportLiveText
        case .deliveries: Self.deliveriesText
        case .device: Self.deviceText
        case .topics: Self.topicsText
        case .topic: Self.topicText
        case .users: Self.usersText
        case .apps: Self.appsText
        case .webhooks: Self.webhooksText
        case .webhook: Self.webhookText
        case .compose: Self.composeText
        case .composeCheck: Self.composeCheckText
        case .review: Self.reviewText
        case .links: Self.linksText
        case .linkNew: Self.linkNewText
        case .link: Self.linkText
        case .linkOutcomes: Self.linkOutcomesText
        case .referral: Self.referralText
        case .access: Self.accessText
        case .audit: Self.auditText
        case .settings: Self.settingsText
        case .pager: Self.pagerText
        case .progress: Self.progressText
        case .phone: Self.phoneText
        }
    }

    /// The part of a page that follows what happens.
    var live: ConsoleTemplate? { ConsoleTemplate(rawValue: rawValue + "Live") }

    /// A page in the layout.
    static func page(_ main: String) -> String { "{{<layout}}{{$main}}\n" + main + "\n{{/main}}{{/layout}}" }

    /// A form's hidden field that proves which session it is of.
    static let token = #"<input type="hidden" name="_token" value="{{token}}">"#
}

/// The templates, parsed once. Every value is escaped where it stands, but for ``Markup``.
struct ConsoleTemplates: Sendable {
    private let library: MustacheLibrary

    /// Parses all templates.
    ///
    /// - Throws: what the parser says; then a template of this module is wrong.
    init() throws {
        HTMLText.register()
        var templates: [String: MustacheTemplate] = [:]
        for template in ConsoleTemplate.allCases {
            let text = "{{% CONTENT_TYPE: \(HTMLText.name) }}" + template.text
            templates[template.rawValue] = try MustacheTemplate(string: text)
        }
        library = MustacheLibrary(templates: templates)
    }

    /// A whole page.
    func render(_ page: Reply.Page, _ model: Model) -> String { render(page.template, model) }

    /// The part of a page that follows what happens; `nil`: it has none.
    func renderLive(_ page: Reply.Page, _ model: Model) -> String? { page.template.live.map { render($0, model) } }

    private func render(_ template: ConsoleTemplate, _ model: Model) -> String {
        library.render(model, withTemplate: template.rawValue) ?? ""
    }
}
