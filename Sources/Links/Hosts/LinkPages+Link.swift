import PushModel

extension SocialPage {
    /// What crawlers read of a link.
    init(_ resolution: LinkResolution, policy: LinkPolicy) {
        let parameters = resolution.parameters
        let apple = resolution.appleApp(isPad: false)
        let store = apple?.links.appStoreID.map(String.init) ?? (apple == nil ? nil : parameters[.appStoreID])
        self.init(
            url: resolution.url, title: parameters[.socialTitle], description: parameters[.socialDescription],
            imageURL: parameters.socialImage(allowedBy: policy)?.text,
            ios: store.map { AppLink(url: nil, id: $0) },
            android: resolution.androidApp.map { AppLink(url: nil, id: $0.id.rawValue) },
            webURL: resolution.desktopURL)
    }
}

extension DebugPage {
    /// How a link is read and decided.
    init(_ link: OpenedLink, _ resolution: LinkResolution) {
        // What was refused when it was made was refused before this page.
        let warnings = (try? link.tenant.check.check(link.parameters)) ?? []
        self.init(
            shortLink: link.link == nil ? nil : link.url,
            longLink: LongLink.url(prefix: link.prefix, parameters: link.parameters),
            parameters: link.parameters.all.map {
                Parameter(name: $0.parameter.rawValue, meaning: $0.parameter.restField, value: $0.value)
            },
            warnings: warnings.map { Warning(code: $0.code.rawValue, message: $0.message) },
            branches: Self.branches(link, resolution))
    }

    private static let platforms: [(name: String, kind: LinkClient.Kind)] = [
        ("iPhone", .iPhone), ("iPad", .iPad), ("Android, Chrome", .androidChrome),
        ("Android, another browser or an app", .androidOther), ("Mac, Safari", .mac), ("Desktop", .desktop),
        ("Crawler", .crawler),
    ]

    private static func branches(_ link: OpenedLink, _ resolution: LinkResolution) -> [Branch] {
        // The decisions are those of the link without d=1; one that leads nowhere has none.
        guard
            let plain = try? LinkResolution(
                url: link.url, parameters: link.parameters, project: link.tenant.project, policy: link.tenant.policy)
        else { return [] }
        return platforms.map { platform in
            let (outcome, target) = outcome(plain.decision(for: LinkClient(platform.kind)))
            return Branch(
                platform: platform.name, steps: steps(platform.kind, link, plain), outcome: outcome, target: target)
        }
    }

    private static func outcome(_ decision: LinkDecision) -> (String, String?) {
        switch decision {
        case .redirect(let url): ("Redirect", url)
        case .intent(let url): ("Redirect that opens the app, or its fallback without it", url)
        case .preview: ("Preview page on its own host", nil)
        case .ipadCheck(let desktop): ("Page that tells an iPad from a Mac, which is redirected", desktop)
        case .socialPage: ("Page with what social networks show", nil)
        case .debugPage: ("This page", nil)
        }
    }

    private static func steps(
        _ kind: LinkClient.Kind, _ link: OpenedLink, _ resolution: LinkResolution
    ) -> [Step] {
        switch kind {
        case .androidChrome, .androidOther:
            return [
                named("Android app", resolution.androidApp),
                given("Is there a fallback for Android?", resolution.targets.androidFallback?.text),
            ]
        case .iPhone, .iPad, .mac:
            let isPad = kind != .iPhone
            return [
                named("Apple app", resolution.appleApp(isPad: isPad)),
                given("Does efr=1 skip the preview page?", link.parameters.isForcedRedirect ? "efr=1" : nil),
                given("Is there a host for the preview page?", link.tenant.settings.preview?.host),
                given(
                    "Is there a fallback for iOS?",
                    (isPad ? resolution.targets.ipadFallback : nil)?.text ?? resolution.targets.iosFallback?.text),
            ]
        case .desktop, .other: return [given("Is there a fallback for others?", resolution.targets.otherFallback?.text)]
        case .crawler: return []
        }
    }

    private static func named(_ what: String, _ app: App?) -> Step {
        given("Does the link name an \(what) of the project?", app?.id.rawValue)
    }

    private static func given(_ question: String, _ value: String?) -> Step {
        Step(question: question, answer: value.map { "yes, \($0)" } ?? "no")
    }
}
