import HTTPListener
import HTTPTypes
import HummingbirdCore
import PushModel

/// A request for a link host, as far as its answer depends on it.
struct LinkVisit {
    let request: Request
    /// The path, as it came.
    let path: String
    /// The query, as it came.
    let query: String?
    /// What it was sent from.
    let client: LinkClient
    /// `User-Agent`; empty: it has none.
    let userAgent: String
    let time: Timestamp
    private let peer: String?
    private let proxies: Int

    /// Reads a request.
    init(_ request: Request, peer: String?, proxies: Int, time: Timestamp) {
        self.request = request
        self.peer = peer
        self.proxies = proxies
        self.time = time
        path = request.uri.path
        query = request.uri.query
        let fields = Fields(request.headers)
        userAgent = fields.userAgent ?? ""
        var client = LinkClient(
            userAgent: userAgent, platformHint: fields.platformHint, mobileHint: fields.mobileHint,
            purpose: fields.purpose)
        // The browser itself said which of the two it is.
        if client.kind == .mac, let query = request.uri.query {
            if query.hasParameter(.isPad) { client.kind = .iPad }
            if query.hasParameter(.isNoPad) { client.kind = .desktop }
        }
        self.client = client
    }

    /// What a client says of itself, read in one pass: asking `HTTPFields` for a name makes another string of its values.
    private struct Fields {
        var userAgent: String?
        var platformHint: String?
        var mobileHint: String?
        var purpose: String?

        init(_ fields: HTTPFields) {
            for field in fields {
                switch field.name {
                case .userAgent: userAgent = userAgent ?? field.value
                case .platformHint: platformHint = platformHint ?? field.value
                case .mobileHint: mobileHint = mobileHint ?? field.value
                case .secPurpose, .purpose, .xPurpose, .xMoz:
                    // Whichever of them says it.
                    purpose = purpose.map { $0 + "," + field.value } ?? field.value
                default: break
                }
            }
        }
    }

    /// Path and query.
    var target: String { request.uri.string }

    /// Whether the method is GET or HEAD.
    var isReading: Bool { request.method == .get || request.method == .head }

    /// Whether it is a click: somebody opens the link. Not a look ahead, nor a crawler's.
    var isClick: Bool { request.method == .get && client.isClick }

    /// Whether it comes from the button of the preview page, where its click was counted.
    var isFromPreview: Bool { query?.hasParameter(.isFromPreview) ?? false }

    /// Whether `d=1` asks for the debug page.
    var isDebug: Bool { query?.hasParameter("d=1") ?? false }

    /// Whether its answer is that of every computer.
    var isFromComputer: Bool { client.kind == .desktop || client.kind == .other }

    /// A parameter of the query, decoded.
    func parameter(_ name: String) -> String? {
        query?.split(separator: "&").first { $0.hasPrefix(name + "=") }
            .map { PercentEncoding.decode(String($0.dropFirst(name.utf8.count + 1))) }
    }

    /// Where the request comes from, as the outermost proxy of ours saw it.
    var address: ClientAddress? {
        ClientAddress.forwarded(request.headers, peer: peer, proxies: proxies).map { ClientAddress($0) }
    }
}

extension String {
    /// The preview page's mark on the URL of its button.
    static let isFromPreview = "_imcp=1"
    /// The mark of an iPad that calls itself a Mac, and that of a Mac.
    static let isPad = "_ipad=1"
    static let isNoPad = "_ipad=0"

    /// Whether a query has a parameter, given as `name=value`.
    func hasParameter(_ pair: String) -> Bool {
        contains(pair) && split(separator: "&").contains { $0 == pair }
    }

    /// A URL with one more parameter.
    func appending(parameter: String) -> String {
        self + (utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + parameter
    }
}

extension HTTPField.Name {
    /// `Sec-CH-UA-Platform`.
    static let platformHint = HTTPField.Name("Sec-CH-UA-Platform")!
    /// `Sec-CH-UA-Mobile`.
    static let mobileHint = HTTPField.Name("Sec-CH-UA-Mobile")!
    // By these browsers say that they only look ahead.
    fileprivate static let secPurpose = HTTPField.Name("Sec-Purpose")!
    fileprivate static let purpose = HTTPField.Name("Purpose")!
    fileprivate static let xPurpose = HTTPField.Name("X-Purpose")!
    fileprivate static let xMoz = HTTPField.Name("X-Moz")!
}
