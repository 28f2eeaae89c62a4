import HTTPListener
import HTTPTypes
import HummingbirdCore

/// A request of the console, taken apart.
struct Visit: Sendable {
    /// The request.
    let request: Request
    /// The segments of the path below the console's, percent-decoded.
    let segments: [String]
    /// The query's fields.
    let query: Form
    /// The body's fields; empty for what is not posted.
    var form = Form()
    /// The IP address that the request came from, as the outermost proxy of ours saw it.
    let address: String?

    /// Takes a request apart; `nil` for a path that is none.
    ///
    /// - Parameters:
    ///   - path: the console's.
    ///   - peer: the IP address of the other end of the connection.
    ///   - proxies: as many proxies in front.
    init?(_ request: Request, below path: String, from peer: String?, proxies: Int) {
        let rest = request.uri.path.dropFirst(path.utf8.count)
        var segments: [String] = []
        for segment in rest.split(separator: "/") {
            guard let text = Form.decoded(segment) else { return nil }
            segments.append(text)
        }
        self.request = request
        self.segments = segments
        query = Form(request.uri.query.map { Array($0.utf8) } ?? [])
        address = ClientAddress.forwarded(request.headers, peer: peer, proxies: proxies).flatMap(ClientAddress.plain)
    }

    /// A cookie's value.
    func cookie(_ name: String) -> String? {
        for field in request.headers[values: .cookie] {
            for part in field.split(separator: ";") {
                let pair = part.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, pair[0].drop(while: { $0 == " " }) == name else { continue }
                return String(pair[1])
            }
        }
        return nil
    }

    /// What the browser calls itself, shortened to what lists show.
    var browser: String? {
        request.headers[.userAgent].map {
            String($0.unicodeScalars.filter { $0.value >= 32 }.prefix(200).map(Character.init))
        }
    }

    /// Whether the request is made by a page of the same origin, as far as the browser says: a page of another origin
    /// can't make it say so.
    func isOfOrigin(_ publicURL: String) -> Bool {
        if let site = request.headers[.secFetchSite] { return site == "same-origin" || site == "none" }
        guard let origin = request.headers[.origin] else { return true }
        if publicURL == origin || publicURL.hasPrefix(origin + "/") { return true }
        guard let host = request.head.soundAuthority else { return false }
        return origin == "http://" + host || origin == "https://" + host
    }
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let openerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
    static let robotsTag = HTTPField.Name("X-Robots-Tag")!
}
