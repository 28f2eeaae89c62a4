import Foundation

/// The parameters of a link by the names that they have in its query, in the order in which they were added.
struct LinkQuery: Hashable, Sendable {
    /// The names that HeraldLinks writes or reads: those of long links first, then those that an app alone receives.
    /// The gateway has a list of its own: this library needs Foundation alone.
    enum Name: String, Hashable, Sendable {
        case link
        case androidPackage = "apn"
        case androidFallback = "afl"
        case androidMinimumVersion = "amv"
        case iosBundle = "ibi"
        case iosFallback = "ifl"
        case iosScheme = "ius"
        case ipadFallback = "ipfl"
        case ipadBundle = "ipbi"
        case appStoreID = "isi"
        case iosMinimumVersion = "imv"
        case productPage = "ppid"
        case otherFallback = "ofl"
        case forcedRedirect = "efr"
        case socialTitle = "st"
        case socialDescription = "sd"
        case socialImage = "si"
        case utmSource = "utm_source"
        case utmMedium = "utm_medium"
        case utmCampaign = "utm_campaign"
        case utmTerm = "utm_term"
        case utmContent = "utm_content"
        case affiliateToken = "at"
        case campaignToken = "ct"
        case providerToken = "pt"
        case deepLink = "deep_link_id"
        case matchType = "match_type"
        case matchMessage = "match_message"
        case invitation = "invitation_id"
        case addressVersion = "request_ip_version"
    }

    /// Names and values, decoded.
    private(set) var items: [Item] = []

    /// A parameter.
    struct Item: Hashable, Sendable {
        var name: String
        var value: String
    }

    /// Makes an empty query.
    init() {}

    /// Reads a query: the first `=` of a pair splits it, `+` stays, and what can't be decoded is dropped with its name.
    init(parsing query: String) {
        for pair in query.split(separator: "&") {
            guard let equals = pair.firstIndex(of: "="),
                let value = String(pair[pair.index(after: equals)...]).removingPercentEncoding
            else { continue }
            items.append(Item(name: String(pair[..<equals]), value: value))
        }
    }

    /// The first value of a name.
    subscript(name: Name) -> String? { items.first { $0.name == name.rawValue }?.value }

    /// Adds a parameter; one that is missing or empty adds nothing.
    mutating func add(_ name: Name, _ value: String?) {
        guard let value, !value.isEmpty else { return }
        items.append(Item(name: name.rawValue, value: value))
    }

    /// The query without its question mark: of values every byte but ASCII letters and digits is percent-encoded, as
    /// Firebase's SDK for iOS does it.
    var encoded: String { items.map { $0.name + "=" + Self.encoded($0.value) }.joined(separator: "&") }

    private static func encoded(_ value: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in value.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: bytes.append(byte)
            default: bytes += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
