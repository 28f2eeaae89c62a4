import HTTPTypes
import Links

extension OpenAPI {
    /// Dynamic Links: what firebasedynamiclinks.v1.json has, and lists, changes and deletions of our own.
    static let links = Area(
        name: "Links",
        operations: [
            operation(
                .post, "shortLinks", "createShortLink",
                "Makes a short link, or finds the one that was made from the same.",
                body: .named("CreateShortDynamicLinkRequest"), answer: .named("CreateShortDynamicLinkResponse")),
            operation(
                .post, "managedShortLinks:create", "createManagedShortLink",
                "Makes a short link with a name, that lists show.",
                body: .named("CreateManagedShortLinkRequest"), answer: .named("CreateManagedShortLinkResponse"),
                errors: [409]),
            operation(
                .get, "managedShortLinks", "listManagedShortLinks", "Lists short links, the newest first.",
                parameters: Parameter.page(limit: 1000, default: 100) + [
                    .query("domainUriPrefix", .string, "Only links of this prefix."),
                    .query("visibility", visibility, "How they are shown; UNARCHIVED when it is missing."),
                ],
                answer: .object([
                    "managedShortLinks": .list(of: .named("ManagedShortLink")), "nextPageToken": .string,
                ])),
            operation(
                .get, one, "getManagedShortLink", "Reads a short link.", answer: .named("ManagedShortLink"),
                errors: [404]),
            operation(
                .patch, one, "patchManagedShortLink", "Changes a short link: what the body has.",
                body: .named("ManagedShortLinkChange"),
                answer: .object(["managedShortLink": .named("ManagedShortLink"), "warning": warnings]),
                errors: [404]),
            operation(
                .delete, one, "deleteManagedShortLink", "Deletes a short link; its suffix is not given again.",
                answer: .object([:]), errors: [404]),
            operation(
                .get, "{link}/linkStats", "getLinkStats", "Says how often a short link was opened.",
                parameters: [
                    .query("durationDays", .integer, "Days back from now, today included; 7 when it is missing."),
                    .query("sdkVersion", .string, "Passed over."),
                ], answer: .named("DynamicLinkStats"), errors: [404]),
        ],
        schemas: schemas)

    private static let one = "managedShortLinks/{link}"
    private static let visibility = Schema.choice(["UNARCHIVED", "ARCHIVED", "NEVER_SHOWN"])
    private static let warnings = Schema.list(of: .named("DynamicLinkWarning"))

    private static func operation(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, parameters: [Parameter] = [],
        body: Schema? = nil, answer: Schema, errors: Set<Int> = []
    ) -> Operation {
        Operation(
            method: method, path: "/v1/" + path, id: id, summary: summary, parameters: parameters,
            body: body.map { .json($0) }, answers: [200: .json(answer)], errors: errors)
    }

    private static let schemas: Schemas = [
        "CreateShortDynamicLinkRequest": .object([
            "dynamicLinkInfo": .named("DynamicLinkInfo"), "longDynamicLink": .string, "sdkVersion": .string,
            "suffix": .named("Suffix"),
        ]),
        "CreateShortDynamicLinkResponse": .object(
            ["shortLink": .string, "warning": warnings, "previewLink": .string], required: ["shortLink", "previewLink"]),
        "CreateManagedShortLinkRequest": .object(
            [
                "dynamicLinkInfo": .named("DynamicLinkInfo"), "longDynamicLink": .string, "name": .string,
                "sdkVersion": .string, "suffix": .named("Suffix"),
                "expirationTime": .string.saying(
                    "From when on the link is answered with 410: an RFC 3339 time in the future; empty: never."),
            ], required: ["name"]),
        "CreateManagedShortLinkResponse": .object(
            ["managedShortLink": .named("ManagedShortLink"), "warning": warnings, "previewLink": .string],
            required: ["managedShortLink", "previewLink"]),
        "ManagedShortLink": .object(
            [
                "link": .string, "linkName": .string, "creationTime": .time, "info": .named("DynamicLinkInfo"),
                "visibility": visibility, "flaggedAttribute": flags, "expirationTime": .time,
            ], required: ["link", "creationTime", "info", "visibility"]),
        "ManagedShortLinkChange": .object([
            "linkName": .string, "name": .string.saying("The same as linkName."), "visibility": visibility,
            "flaggedAttribute": flags,
            "expirationTime": .string.saying("An RFC 3339 time in the future; empty: the link has no end."),
            "info": .named("DynamicLinkInfo"),
            "dynamicLinkInfo": .named("DynamicLinkInfo").saying("The same as info; one of them."),
            "longDynamicLink": .string,
        ]),
        "Suffix": .object([
            "option": .choice(LinkRequest.SuffixOption.allCases.map(\.rawValue)), "customSuffix": .string,
        ]),
        "DynamicLinkInfo": .object([
            "domainUriPrefix": .string, "dynamicLinkDomain": .string, "link": .string,
            "androidInfo": .named("AndroidInfo"), "iosInfo": .named("IosInfo"), "desktopInfo": .named("DesktopInfo"),
            "socialMetaTagInfo": .named("SocialMetaTagInfo"), "navigationInfo": .named("NavigationInfo"),
            "analyticsInfo": .named("AnalyticsInfo"),
        ]),
        "AndroidInfo": texts(
            "androidFallbackLink", "androidLink", "androidMinPackageVersionCode", "androidPackageName"),
        "IosInfo": texts(
            "iosAppStoreId", "iosBundleId", "iosCustomScheme", "iosFallbackLink", "iosIpadBundleId",
            "iosIpadFallbackLink", "iosMinimumVersion", "iosProductPageId"),
        "DesktopInfo": texts("desktopFallbackLink"),
        "SocialMetaTagInfo": texts("socialDescription", "socialImageLink", "socialTitle"),
        "NavigationInfo": .object(["enableForcedRedirect": .boolean]),
        "AnalyticsInfo": .object([
            "googlePlayAnalytics": .named("GooglePlayAnalytics"),
            "itunesConnectAnalytics": .named("ITunesConnectAnalytics"),
        ]),
        "GooglePlayAnalytics": texts("gclid", "utmCampaign", "utmContent", "utmMedium", "utmSource", "utmTerm"),
        "ITunesConnectAnalytics": texts("at", "ct", "mt", "pt"),
        "DynamicLinkWarning": .object([
            "warningCode": .choice(LinkWarning.Code.allCases.map(\.rawValue)), "warningMessage": .string,
            "warningDocumentLink": .string,
        ]),
        "DynamicLinkStats": .object([
            "linkEventStats": .list(of: .named("DynamicLinkEventStat")), "warnings": warnings,
        ]),
        "DynamicLinkEventStat": .object([
            "platform": .choice(["DYNAMIC_LINK_PLATFORM_UNSPECIFIED", "ANDROID", "IOS", "DESKTOP", "OTHER"]),
            "event": .choice([
                "DYNAMIC_LINK_EVENT_UNSPECIFIED", "CLICK", "REDIRECT", "APP_INSTALL", "APP_FIRST_OPEN", "APP_RE_OPEN",
            ]),
            "count": .string,
        ]),
    ]

    private static let flags = Schema.list(of: .choice(["UNSPECIFIED_ATTRIBUTE", "SPAM"]))

    /// An object of texts.
    private static func texts(_ names: String...) -> Schema {
        .object(fields: names.map { ($0, .string) })
    }
}
