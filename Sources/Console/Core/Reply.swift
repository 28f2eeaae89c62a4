import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

/// What a template sees, by name.
typealias Model = [String: any Sendable]

extension [String: any Sendable] {
    /// The model with a value that may be absent.
    func with(_ name: String, _ value: (any Sendable)?) -> Model {
        var model = self
        model[name] = value
        return model
    }
}

/// What a page answers.
enum Reply: Sendable {
    /// A page of the console: a template and what it shows.
    case page(Page)
    /// Another page, after a change.
    case redirect(String)
    /// Anything else.
    case response(Response)

    /// A page of the console.
    struct Page: Sendable {
        /// The template.
        var template: ConsoleTemplate
        /// The title, as the browser shows it.
        var title: String
        /// What the template sees.
        var model: Model
        /// The part of the menu that it belongs to.
        var menu: MenuItem?
        /// The status.
        var status: HTTPResponse.Status = .ok
        /// Whether the page follows what happens, see ``LiveFeed``.
        var isLive = false
    }

    /// A page of the console.
    static func page(
        _ template: ConsoleTemplate, _ title: String, menu: MenuItem? = nil, status: HTTPResponse.Status = .ok,
        isLive: Bool = false, _ model: Model
    ) -> Reply {
        .page(
            Page(template: template, title: title, model: model, menu: menu, status: status, isLive: isLive))
    }
}

/// The parts of the menu.
enum MenuItem: String, Sendable, CaseIterable {
    case overview, messages, device, topics, compose, webhooks, links, access

    /// What it is called.
    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    /// Below the project's path.
    var path: String { self == .overview ? "" : "/" + rawValue }

    /// A picture of 20 by 20, as the path of an SVG.
    var icon: String {
        switch self {
        case .overview: "M3 17V9m5 8V4m5 13v-6m4 6V7"
        case .messages: "M3 5h14v9H9l-4 3v-3H3z"
        case .device: "M6 2h8v16H6zM9 15.5h2"
        case .topics: "M8 3 6 17m8-14-2 14M3 7.5h14M3 12.5h14"
        case .compose: "M4 16l1-4 8.5-8.5 3 3L8 15zM11.5 5.5l3 3"
        case .webhooks: "M7 13a3 3 0 1 1-3-5m6-1a3 3 0 1 1 4 4M7 13h6m-3-6-3 6m6-2a3 3 0 1 1 0 5"
        case .links: "M8 12l4-4M7 9l-2 2a3 3 0 0 0 4 4l2-2m2-4 2-2a3 3 0 0 0-4-4L9 7"
        case .access: "M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zm-6 7c0-3 2.5-5 6-5s6 2 6 5"
        }
    }
}

extension HTTPFields {
    /// What every answer of the console has: nothing is kept, framed, guessed or loaded from elsewhere.
    static let ofConsole: HTTPFields = [
        .cacheControl: "no-store",
        .contentSecurityPolicy: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            + "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        .xContentTypeOptions: "nosniff", .referrerPolicy: "same-origin", .openerPolicy: "same-origin",
        .crossOriginResourcePolicy: "same-origin", .robotsTag: "noindex",
    ]
}

extension Response {
    /// A page's text.
    static func html(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        console(text, "text/html; charset=utf-8", status: status)
    }

    /// A text of a type.
    static func console(
        _ text: String, _ type: String, status: HTTPResponse.Status = .ok, and fields: HTTPFields = [:]
    ) -> Response {
        console(bytes: ByteBuffer(string: text), type, status: status, and: fields)
    }

    /// Bytes of a type.
    static func console(
        bytes: ByteBuffer, _ type: String, status: HTTPResponse.Status = .ok, and fields: HTTPFields = [:]
    ) -> Response {
        var headers = HTTPFields.ofConsole
        headers[.contentType] = type
        for field in fields { headers[field.name] = field.value }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    /// 303: a form was taken, and the browser goes on with GET.
    static func seeOther(_ place: String, cookie: String? = nil) -> Response {
        var headers = HTTPFields.ofConsole
        headers[.location] = place
        if let cookie { headers[.setCookie] = cookie }
        return Response(status: .seeOther, headers: headers)
    }
}
