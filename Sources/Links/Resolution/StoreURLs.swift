import PushModel

/// An `intent:` URL: Chrome opens the link in the app of this package, or goes to the fallback.
struct IntentURL {
    /// The URL.
    let text: String

    /// Puts the URL together; the link's own begins with a scheme and `://`. The block behind `#Intent;` ends at `;` and `#`: every value in it is encoded, and the link has
    /// neither fragment nor semicolon when it is canonical; what it has of them is encoded too.
    init(url: String, package: AppID, fallback: String) {
        let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) ?? url.startIndex
        let scheme = String(url[..<colon])
        var bytes = Array("intent://".utf8)
        bytes.reserveCapacity(200 + url.utf8.count + 2 * fallback.utf8.count)
        for byte in url[colon...].utf8.dropFirst("://".utf8.count) {
            if Self.isRefused(byte) { PercentEncoding.append(byte, to: &bytes) } else { bytes.append(byte) }
        }
        bytes.append(contentsOf: "#Intent;scheme=".utf8)
        PercentEncoding.append(scheme, to: &bytes)
        bytes.append(contentsOf: ";package=".utf8)
        PercentEncoding.append(package.rawValue, to: &bytes)
        bytes.append(contentsOf: Self.action.utf8)
        PercentEncoding.append(fallback, to: &bytes)
        bytes.append(contentsOf: ";end".utf8)
        text = String(decoding: bytes, as: UTF8.self)
    }

    private static let action =
        ";action=android.intent.action.VIEW;category=android.intent.category.BROWSABLE;S.browser_fallback_url="

    private static func isRefused(_ byte: UInt8) -> Bool {
        switch byte {
        case ...0x20, 0x7f..., UInt8(ascii: "#"), UInt8(ascii: ";"), UInt8(ascii: "\\"), UInt8(ascii: "\""),
            UInt8(ascii: "<"), UInt8(ascii: ">"):
            true
        default: false
        }
    }
}

/// An app's page in the Play Store, with what the Install Referrer library hands the app after its install (§3.3).
struct PlayStoreURL {
    /// The URL.
    let text: String

    /// Puts the URL together.
    init(package: AppID, parameters: LinkParameters, click: String?) {
        var text = "https://play.google.com/store/apps/details?id=" + PercentEncoding.encode(package.rawValue)
        var referrer = click.map { "gl_click=" + PercentEncoding.encode($0) } ?? ""
        let campaign = parameters.campaignQuery
        if !campaign.isEmpty { referrer += (referrer.isEmpty ? "" : "&") + campaign }
        if !referrer.isEmpty { text += "&referrer=" + PercentEncoding.encode(referrer) }
        if let version = parameters[.androidMinimumVersion].flatMap(Int64.init) { text += "&min_version=\(version)" }
        self.text = text
    }
}

/// An app's page in the App Store (§3.5).
struct AppStoreURL {
    /// The URL.
    let text: String

    /// Puts the URL together; `nil`: the link names no page. The number is the app's own where that is known: a link leads to
    /// no other app.
    init?(app: App, parameters: LinkParameters) {
        guard let given = parameters[.appStoreID], let number = app.links.appStoreID ?? Self.number(given) else {
            return nil
        }
        var query: [String] = []
        for parameter in [LinkParameter.providerToken, .affiliateToken, .campaignToken, .productPage] {
            guard let value = parameters[parameter] else { continue }
            query.append(parameter.rawValue + "=" + PercentEncoding.encode(value))
        }
        // Campaigns count only with a media type; 8 stands for apps.
        if let media = parameters[.mediaType] ?? (query.isEmpty ? nil : "8") {
            query.append("mt=" + PercentEncoding.encode(media))
        }
        text = "https://apps.apple.com/app/id\(number)" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }

    /// The number of a page, digits only.
    static func number(_ text: String) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}

extension LinkParameters {
    private static let campaign: [LinkParameter] = [.utmSource, .utmMedium, .utmCampaign, .utmTerm, .utmContent]

    /// The `utm` parameters as a query; empty: there are none.
    var campaignQuery: String {
        var bytes: [UInt8] = []
        for parameter in Self.campaign {
            guard let value = self[parameter] else { continue }
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            bytes.append(contentsOf: parameter.rawValue.utf8)
            bytes.append(UInt8(ascii: "="))
            PercentEncoding.append(value, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
