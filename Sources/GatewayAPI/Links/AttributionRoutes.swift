import FCMWire
import HTTPListener
import Hummingbird
import JSON
import Links
import PushModel
import Store

/// `installAttribution` and `reopenAttribution` of the Dynamic Links API, as the iOS SDK asks and reads them. Android apps
/// ask the same, with the Play Store's install referrer.
enum AttributionRoutes {
    /// Where an app asks at its first start.
    static let installPath = "/v1/installAttribution"
    /// Where an app asks for the link that opened it.
    static let reopenPath = "/v1/reopenAttribution"

    static let all = [
        Route(method: .post, path: installPath, scope: .keyProject(.attribution, install)).withQueryKey,
        Route(method: .post, path: reopenPath, scope: .keyProject(.attribution, reopen)).withQueryKey,
    ]

    @Sendable private static func reopen(_ call: ProjectCall) async throws -> Response {
        let body = AttributionBody(try await call.json())
        let url = try body.required("requested_link")
        let app = try call.app(of: body)
        let attribution = try call.attribution
        try call.checkMisses(attribution)
        do throws(AttributionProblem) {
            let link = try await attribution.reopen(url, on: app.platform, of: call.project, at: call.now)
            return Response(json: AttributionView.reopened(link, on: app))
        } catch {
            if case .unknown = error { attribution.missed(by: call.call.clientAddress) }
            throw FCMError(error, field: "requestedLink")
        }
    }

    @Sendable private static func install(_ call: ProjectCall) async throws -> Response {
        let body = AttributionBody(try await call.json())
        let app = try call.app(of: body)
        let attribution = try call.attribution
        try call.checkMisses(attribution)
        let address = call.call.clientAddress
        let request = InstallRequest(body, app: app, project: call.project, address: address, at: call.now, attribution)
        do throws(AttributionProblem) {
            let match = try await attribution.install(request.install, of: call.project)
            if match == nil, request.install.shownLink != nil { attribution.missed(by: address) }
            return Response(json: AttributionView.installed(match, on: app, address: address))
        } catch {
            throw FCMError(error, field: "uniqueMatchLinkToCheck")
        }
    }
}

/// What an app says at its first start.
struct InstallRequest {
    /// As it is matched.
    let install: LinkAttribution.Install

    init(
        _ body: AttributionBody, app: AppKey, project: Project, address: ClientAddress?, at now: Timestamp,
        _ attribution: LinkAttribution
    ) {
        let device = body.object("device")
        let traits = DeviceTraits(
            address: address.flatMap(attribution.digest),
            width: device.number("screen_resolution_width"), height: device.number("screen_resolution_height"),
            // What a web view says is what the page saw, if it says anything.
            languages: [
                device.text("language_code_from_webview"), device.text("language_code"),
                device.text("language_code_raw"),
            ],
            timeZone: device.text("timezone"), system: body.text("ios_version") ?? body.text("android_version"),
            device: app.platform == .android
                ? .android : device.text("device_model_name").flatMap { DeviceClass(model: $0) })
        let installedAt = body.number("app_installation_time").flatMap { seconds in
            (1...253_402_300_799).contains(seconds) ? Timestamp(seconds: Int64(seconds)) : nil
        }
        install = LinkAttribution.Install(
            opening: FirstOpening(
                project: project.id, app: app, traits: traits, installedAt: installedAt, time: now),
            shownLink: body.text("unique_match_link_to_check"), referrer: body.text("install_referrer"),
            id: body.text("install_id", limit: 255))
    }
}

extension ProjectCall {
    /// Gives apps their links.
    ///
    /// - Throws: NOT_FOUND when the project has no links.
    var attribution: LinkAttribution {
        get throws(FCMError) {
            guard let attribution = services.attribution, project.links != nil else {
                throw FCMError(.notFound, "The project \(project.id) has no links.")
            }
            return attribution
        }
    }

    /// Throws RESOURCE_EXHAUSTED for an address that asked for too many links that are not there: suffixes can be tried here
    /// as on link hosts.
    func checkMisses(_ attribution: LinkAttribution) throws(FCMError) {
        guard let seconds = attribution.wait(of: call.clientAddress) else { return }
        var error = FCMError(.resourceExhausted, "Too many links were asked for that are not there.")
        error.quotaSubject = "client address"
        error.retryAfterSeconds = seconds
        throw error
    }

    /// The app that a body names: an app of the project. With an install referrer it is one of Android.
    func app(of body: AttributionBody) throws(FCMError) -> AppKey {
        let text = try body.required("bundle_id")
        let apps = AppID(rawValue: text).map { project.apps($0).map(\.key) } ?? []
        let isAndroid = body.text("install_referrer") != nil || body.text("android_version") != nil
        let wanted: Platform = isAndroid ? .android : .apple
        guard let app = apps.first(where: { $0.platform == wanted }) ?? apps.first(where: { $0.platform != .web })
        else {
            throw .badRequest("bundleId", "The project \(project.id) has no app '\(text.excerpt)'.")
        }
        return app
    }
}

extension FCMError {
    /// An app that asked did not get a link.
    init(_ problem: AttributionProblem, field: String) {
        switch problem {
        case .refused(let problem): self = .badRequest(field, "The link can't be used: \(problem)")
        case .unknown: self.init(.notFound, "There is no such link.")
        case .store(let error): self.init(error)
        }
    }
}

/// Answers in the words of the Dynamic Links API; what is empty is left out.
enum AttributionView {
    /// What led to an app; of an app that nothing is known of the message and the address' version alone.
    static func installed(_ match: LinkAttribution.Match?, on app: AppKey, address: ClientAddress?) -> JSONValue {
        let version = address.map { $0.text.contains(":") ? "IP_V6" : "IP_V4" } ?? "UNKNOWN_IP_VERSION"
        let request = JSONValue.Member("requestIpVersion", .string(version))
        guard let match else {
            return .object([.init("matchMessage", .string("No link was found for this install.")), request])
        }
        let link = match.link
        var members = texts([
            ("requestedLink", link.url), ("resolvedLink", link.longLink), ("deepLink", link.deepLink(on: app.platform)),
            ("appMinimumVersion", link.minimumVersion(on: app.platform)),
            ("attributionConfidence", match.confidence.name), ("fallbackLink", link.parameters[.iosFallback]),
            ("externalBrowserDestinationLink", link.parameters[.link]),
        ])
        members += campaign(of: link) + texts([("referralId", match.referral?.rawValue)])
        members.append(.init("matchMessage", .string(text(of: match.confidence))))
        members.append(request)
        return .object(members)
    }

    /// The link that opened an installed app.
    static func reopened(_ link: AttributedLink, on app: AppKey) -> JSONValue {
        .object(
            texts([
                ("deepLink", link.deepLink(on: app.platform)), ("resolvedLink", link.longLink),
                ("iosMinAppVersion", link.minimumVersion(on: app.platform)),
            ]) + campaign(of: link))
    }

    private static func campaign(of link: AttributedLink) -> [JSONValue.Member] {
        texts([
            ("utmSource", link.parameters[.utmSource]), ("utmMedium", link.parameters[.utmMedium]),
            ("utmCampaign", link.parameters[.utmCampaign]), ("utmTerm", link.parameters[.utmTerm]),
            ("utmContent", link.parameters[.utmContent]), ("invitationId", link.invitation?.rawValue),
        ])
    }

    private static func texts(_ pairs: [(name: String, text: String?)]) -> [JSONValue.Member] {
        pairs.compactMap { pair in pair.text.map { .init(pair.name, .string($0)) } }
    }

    private static func text(of confidence: MatchConfidence) -> String {
        switch confidence {
        case .weak: "The link was found by a device that may be this one."
        case .standard: "The link was found by a device like this one; no other is."
        case .unique: "The link is proven to be of this device."
        }
    }
}

extension AttributedLink {
    /// The app's version that the link asks for.
    fileprivate func minimumVersion(on platform: Platform) -> String? {
        parameters[platform == .android ? .androidMinimumVersion : .iosMinimumVersion]
    }
}

extension MatchConfidence {
    /// In the words of Dynamic Links.
    var name: String {
        switch self {
        case .weak: "WEAK"
        case .standard: "DEFAULT"
        case .unique: "UNIQUE"
        }
    }
}
