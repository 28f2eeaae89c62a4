package import PushModel

/// A link that was asked for with all that the answer depends on but the client: the decision table as a pure
/// function.
package struct LinkResolution: Sendable {
    /// The link's own URL without internal parameters: the short one, or the canonical long one.
    package let url: String
    /// Its parameters.
    package let parameters: LinkParameters
    /// Its targets, all allowed.
    package let targets: LinkTargets
    /// Whether the debug page was asked for.
    package let isDebug: Bool
    private let project: Project
    private let policy: LinkPolicy
    private let click: String?

    /// Checks a link's targets under the policy of now.
    ///
    /// - Parameter url: The link's own URL: scheme, host and what follows, without internal parameters.
    /// - Parameter click: An opaque id for the install referrer; `nil`: the click is not kept.
    /// - Throws: The problem of `link` or a fallback: the request is answered with 400 (rows 13 and 14).
    package init(
        url: String, parameters: LinkParameters, project: Project, policy: LinkPolicy, click: String? = nil,
        isDebug: Bool = false
    ) throws(LinkProblem) {
        targets = try LinkTargets(parameters, policy: policy)
        self.url = url
        self.parameters = parameters
        self.project = project
        self.policy = policy
        self.click = click
        self.isDebug = isDebug
    }

    /// What a client is answered.
    package func decision(for client: LinkClient) -> LinkDecision {
        if isDebug { return .debugPage }
        switch client.kind {
        case .crawler: return .socialPage
        case .androidChrome: return androidDecision(knowsIntents: true)
        case .androidOther: return androidDecision(knowsIntents: false)
        case .iPhone: return appleDecision(isPad: false)
        case .iPad: return appleDecision(isPad: true)
        case .mac: return macDecision
        case .desktop, .other: return .redirect(desktopURL)
        }
    }

    // MARK: Rows 3 to 5

    /// The Android app that the link names, when the project has it: no other is ever opened.
    package var androidApp: App? { app(.android, .androidPackage) }

    private func androidDecision(knowsIntents: Bool) -> LinkDecision {
        guard parameters[.androidPackage] != nil else { return .redirect(androidBrowserURL) }
        guard let app = androidApp else {
            return .redirect(targets.androidFallback?.text ?? androidBrowserURL)
        }
        let store = PlayStoreURL(package: app.id, parameters: parameters, click: click)
        let fallback = targets.androidFallback?.text ?? store.text
        return knowsIntents
            ? .intent(IntentURL(url: url, package: app.id, fallback: fallback).text) : .redirect(fallback)
    }

    private var androidBrowserURL: String { browserURL(targets.androidLink ?? targets.link) }

    // MARK: Rows 6 to 10

    /// The Apple app that the link names for a device, when the project has it. On an iPad `ipbi` goes before `ibi`.
    package func appleApp(isPad: Bool) -> App? {
        let pad = isPad ? app(.apple, .ipadBundle) : nil
        return pad ?? app(.apple, .iosBundle)
    }

    /// Where an Apple device without the app goes: to the fallback, else the App Store, else `link`. On an iPad `ipfl` goes
    /// before `ifl`. A link that names no app opens in the browser.
    package func appleFallbackURL(isPad: Bool) -> String {
        guard parameters[.iosBundle] != nil || isPad && parameters[.ipadBundle] != nil else {
            return browserURL(targets.link)
        }
        if isPad, let fallback = targets.ipadFallback { return fallback.text }
        if let fallback = targets.iosFallback { return fallback.text }
        let store = appleApp(isPad: isPad).flatMap { AppStoreURL(app: $0, parameters: parameters) }
        return store?.text ?? browserURL(targets.link)
    }

    /// The scheme by which an Apple app opens this link's URLs when universal links don't: `ius` when it is one of an app,
    /// else the bundle id; `nil`: the project doesn't have the app.
    package func customScheme(isPad: Bool) -> String? {
        guard let app = appleApp(isPad: isPad) else { return nil }
        guard let scheme = parameters[.iosScheme]?.lowercased(), scheme.first?.isLetter == true,
            scheme.utf8.allSatisfy({ PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "+") }),
            !Self.foreignSchemes.contains(scheme)
        else { return app.id.rawValue }
        return scheme
    }

    /// Schemes of browsers and systems, some of which run what follows.
    private static let foreignSchemes: Set<String> = [
        "about", "blob", "content", "data", "file", "filesystem", "ftp", "http", "https", "intent", "javascript",
        "mailto",
        "sms", "tel", "vbscript", "view-source", "ws", "wss",
    ]

    private func appleDecision(isPad: Bool) -> LinkDecision {
        let isDirect = appleApp(isPad: isPad) == nil || parameters.isForcedRedirect || project.links?.preview == nil
        return isDirect ? .redirect(appleFallbackURL(isPad: isPad)) : .preview
    }

    /// Safari on an iPad calls itself a Mac (§3.7): where the two are answered differently the browser has to tell.
    private var macDecision: LinkDecision {
        let desktop = desktopURL
        let isSame = appleApp(isPad: true) == nil || appleDecision(isPad: true) == .redirect(desktop)
        return isSame ? .redirect(desktop) : .ipadCheck(desktop: desktop)
    }

    // MARK: Row 11

    /// Where computers and other devices go.
    package var desktopURL: String { targets.otherFallback?.text ?? browserURL(targets.link) }

    private func app(_ platform: Platform, _ parameter: LinkParameter) -> App? {
        parameters[parameter].flatMap(AppID.init).flatMap { project.apps[AppKey(platform, $0)] }
    }

    /// A payload link as browsers get it: with the link's `utm` parameters, unless it has some of its own or the policy would
    /// refuse what comes of it.
    private func browserURL(_ target: TargetURL) -> String {
        let campaign = parameters.campaignQuery
        guard !campaign.isEmpty, let url = target.appending(query: campaign), policy.allows(url) else {
            return target.text
        }
        return url.text
    }
}
