import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

extension HTTPFields {
    /// What every answer about a link has: it is for one client and one moment, it tells the target
    /// nothing of the link, and no search engine keeps it.
    static let ofLinks: HTTPFields = [
        .cacheControl: "private, no-store", .vary: "User-Agent", .referrerPolicy: "no-referrer",
        .robotsTag: "noindex", .contentTypeOptions: "nosniff",
    ]
}

extension HTTPField.Name {
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let robotsTag = HTTPField.Name("X-Robots-Tag")!
    static let contentTypeOptions = HTTPField.Name("X-Content-Type-Options")!
    static let contentSecurityPolicy = HTTPField.Name("Content-Security-Policy")!
}

extension Response {
    /// 302.
    static func redirect(to url: String) -> Response {
        var headers = HTTPFields.ofLinks
        var location = HTTPField(name: .location, value: url)
        // Each link has another one. In HTTP/2's table of fields it would take the place of those that all answers have.
        location.indexingStrategy = .avoid
        headers.append(location)
        return Response(status: .found, headers: headers)
    }

    /// A page.
    static func page(_ page: LinkPage) -> Response {
        var headers = HTTPFields.ofLinks
        headers[.contentType] = "text/html; charset=utf-8"
        headers[.contentSecurityPolicy] = page.contentSecurityPolicy
        return Response(
            status: HTTPResponse.Status(code: page.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: page.html)))
    }

    /// A picture.
    static func picture(_ bytes: [UInt8], _ type: String) -> Response {
        var headers = HTTPFields.ofLinks
        headers[.contentType] = type
        headers[.contentSecurityPolicy] = "default-src 'none'"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// A file that is the same for everybody.
    static func file(_ bytes: [UInt8], _ type: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: type, .cacheControl: "public, max-age=300", .contentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// 405.
    static func methodNotAllowed(_ methods: String) -> Response {
        text("A link is opened with GET.\n", status: .methodNotAllowed, and: [.allow: methods])
    }

    /// 429: the same whether the link is there or not.
    static func tooManyMisses(retryAfterSeconds: Int) -> Response {
        text(
            "Too many links that do not exist were asked for from this address.\n", status: .tooManyRequests,
            and: [.retryAfter: String(retryAfterSeconds)])
    }

    /// 503.
    static var unavailable: Response {
        text("Links can't be looked up now. Try again.\n", status: .serviceUnavailable, and: [.retryAfter: "5"])
    }

    private static func text(_ text: String, status: HTTPResponse.Status, and fields: HTTPFields) -> Response {
        var headers = HTTPFields.ofLinks
        headers[.contentType] = "text/plain; charset=utf-8"
        for field in fields { headers.append(field) }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
