// Bodies of the routes of links, attribution and referrals.
extension BodyCorpus {
    private static let shortLinks = ["/shortLinks"]
    private static let longLink =
        "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx%3Fa%3Db&apn=com.example.droid&amv=12"
        + "&afl=https%3A%2F%2Fa.example%2Fandroid&al=https%3A%2F%2Fx.b.example%2Fa&ibi=com.example.app&isi=1234567890"
        + "&ius=shop&imv=2.0&ifl=https%3A%2F%2Fx.b.example&ipbi=com.example.app&ipfl=https%3A%2F%2Fa.example%2Fpad"
        + "&efr=1&st=Title&sd=Text&si=https%3A%2F%2Fa.example%2Fi.png&utm_source=mail&utm_campaign=spring&at=1&ct=2"
        + "&mt=8&pt=3&ofl=https%3A%2F%2Fa.example%2Fdesk&cid=7&zzz=1"
    private static let info =
        #"{"domainUriPrefix":"https://links.example.com/promo","link":"https://a.example/x","androidInfo":"#
        + #"{"androidPackageName":"com.example.droid","androidFallbackLink":"https://a.example/f","#
        + #""androidMinPackageVersionCode":"12"},"iosInfo":{"iosBundleId":"com.example.app","#
        + #""iosFallbackLink":"https://a.example/i","iosCustomScheme":"shop","iosAppStoreId":"1234567890","#
        + #""iosMinimumVersion":"2.0"},"navigationInfo":{"enableForcedRedirect":true},"desktopInfo":"#
        + #"{"desktopFallbackLink":"https://a.example/d"},"socialMetaTagInfo":{"socialTitle":"t","#
        + #""socialImageLink":"https://a.example/i.png"},"analyticsInfo":{"googlePlayAnalytics":{"utmSource":"m"},"#
        + #""itunesConnectAnalytics":{"at":"1","mt":"8"}}}"#
    private static let device =
        #"{"deviceModelName":"iPhone14,5","languageCode":"en-US","languageCodeFromWebview":"en-US","#
        + #""screenResolutionWidth":844,"screenResolutionHeight":390,"timezone":"Asia/Kolkata"}"#

    /// Good bodies; what stands between `@` is replaced by what is in the gateway.
    static let links: [(routes: [String], text: String)] = [
        (
            shortLinks,
            #"{"longDynamicLink":"\#(longLink)","suffix":{"option":"SHORT"},"sdkVersion":"10.29.0"}"#
        ),
        (shortLinks, #"{"dynamicLinkInfo":\#(info),"suffix":{"option":1}}"#),
        (
            shortLinks,
            #"{"dynamic_link_info":{"dynamic_link_domain":"go.example.com","link":"https://a.example/?x=1#f","#
                + #""android_info":{"android_package_name":"com.example.droid"}},"suffix":{"option":0}}"#
        ),
        (
            ["/managedShortLinks:create"],
            #"{"name":"Spring","dynamicLinkInfo":\#(info),"suffix":{"option":"CUSTOM","customSuffix":"spring-26"},"#
                + #""expirationTime":"2027-02-01T00:00:00Z"}"#
        ),
        (["/managedShortLinks:create"], #"{"name":"Summer","longDynamicLink":"\#(longLink)"}"#),
        (
            ["/managedShortLinks/{link}"],
            #"{"linkName":"Autumn","visibility":"ARCHIVED","expirationTime":"","flaggedAttribute":[],"#
                + #""longDynamicLink":"https://go.example.com/?link=https%3A%2F%2Fa.example%2Fz"}"#
        ),
        (
            ["/managedShortLinks/{link}"],
            #"{"flaggedAttribute":["SPAM"],"expirationTime":"2027-02-01T00:00:00Z"}"#
        ),
        (
            ["/managedShortLinks/{link}"],
            #"{"flaggedAttribute":[],"visibility":"UNARCHIVED","expirationTime":""}"#
        ),
        (
            ["/installAttribution"],
            #"{"bundleId":"com.example.app","appInstallationTime":1767323044,"device":\#(device),"iosVersion":"17.5.1","#
                + #""sdkVersion":"10.29.0","uniqueMatchLinkToCheck":"@link@","visualStyle":0,"retrievalMethod":1,"#
                + #""installId":"i-1"}"#
        ),
        (
            ["/installAttribution"],
            #"{"bundle_id":"com.example.app","device":\#(device),"iosVersion":"17.5.1"}"#
        ),
        (
            ["/installAttribution"],
            #"{"bundleId":"com.example.droid","installReferrer":"gl_click=@click@&utm_source=x","androidVersion":"14"}"#
        ),
        (
            ["/reopenAttribution"],
            #"{"requestedLink":"@link@","bundle_id":"com.example.app","sdk_version":"10.29.0"}"#
        ),
        (["/reopenAttribution"], #"{"requestedLink":"\#(longLink)","bundle_id":"com.example.app"}"#),
        (
            ["/referral/invitations"],
            #"{"inviter":"alice","campaign":"winter","longDynamicLink":"\#(longLink)","notice":{"title":"t","body":"b"}}"#
        ),
        (["/referral/conversions"], #"{"referralId":"@referral@","invitee":"bob"}"#),
        (["/decision"], #"{"decision":"GRANT"}"#),
        (
            ["/convertInvitation"],
            #"{"invitationId":{"id":"@invitation@"},"containerClientId":{"type":"IOS"}}"#
        ),
    ]
}
