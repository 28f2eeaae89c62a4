import HTTPTypes

extension OpenAPI {
    /// Which link led to an app, in the words of Dynamic Links. Requests may have more fields: SDKs send some.
    static let attribution = Area(
        name: "Attribution",
        operations: [
            Operation(
                method: .post, path: AttributionRoutes.installPath, id: "installAttribution",
                summary:
                    "Gives an app that is opened for the first time the link that led to its install. What can't be "
                    + "answered now is answered in plain text, so that SDKs keep the clipboard.",
                body: .json(.named("InstallAttributionRequest")),
                answers: [200: .json(.named("InstallAttribution"))], errors: [404]),
            Operation(
                method: .post, path: AttributionRoutes.reopenPath, id: "reopenAttribution",
                summary: "Gives an installed app what the link holds that opened it.",
                body: .json(
                    .object(
                        ["requestedLink": .string, "bundleId": .string, "sdkVersion": .string],
                        required: ["requestedLink", "bundleId"])),
                answers: [200: .json(.named("ReopenAttribution"))], errors: [404]),
        ],
        schemas: [
            "InstallAttributionRequest": .object(
                [
                    "bundleId": .string, "appInstallationTime": .either(.integer, .string),
                    "device": .object([
                        "deviceModelName": .string, "languageCode": .string, "languageCodeRaw": .string,
                        "languageCodeFromWebview": .string, "screenResolutionWidth": .either(.integer, .string),
                        "screenResolutionHeight": .either(.integer, .string), "timezone": .string,
                    ]),
                    "iosVersion": .string, "sdkVersion": .string, "uniqueMatchLinkToCheck": .string,
                    "androidVersion": .string.saying("Of Android apps, instead of `iosVersion`."),
                    "installReferrer": .string.saying("What the Play Install Referrer library says."),
                    "installId": .string.saying(
                        "What the install calls itself, kept over reinstalls: it gets one link, once."),
                ], required: ["bundleId"]),
            "InstallAttribution": .object(
                [
                    "requestedLink": .string, "resolvedLink": .string, "deepLink": .string,
                    "appMinimumVersion": .string, "attributionConfidence": .choice(["WEAK", "DEFAULT", "UNIQUE"]),
                    "fallbackLink": .string, "externalBrowserDestinationLink": .string, "utmSource": .string,
                    "utmMedium": .string, "utmCampaign": .string, "utmTerm": .string, "utmContent": .string,
                    "invitationId": .string, "referralId": .string, "matchMessage": .string,
                    "requestIpVersion": .choice(["IP_V4", "IP_V6", "UNKNOWN_IP_VERSION"]),
                ], required: ["matchMessage", "requestIpVersion"]),
            "ReopenAttribution": .object([
                "deepLink": .string, "resolvedLink": .string, "iosMinAppVersion": .string, "utmSource": .string,
                "utmMedium": .string, "utmCampaign": .string, "utmTerm": .string, "utmContent": .string,
                "invitationId": .string,
            ]),
        ])
}
