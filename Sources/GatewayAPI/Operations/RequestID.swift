import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging

/// What one request is called in logs and in its answer.
struct RequestID: Hashable, Sendable {
    /// 1 to 128 characters of `[A-Za-z0-9._:/+=@-]`.
    let text: String

    /// The caller's own id (`X-Request-Id`) when it can stand in a log line, otherwise a new one.
    init(_ headers: HTTPFields) {
        text = headers[.requestID].flatMap { Self.isSane($0) ? $0 : nil } ?? Self.made()
    }

    private static func isSane(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"),
                    UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: "="), UInt8(ascii: "@"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private static func made() -> String {
        let digits = Array("0123456789abcdef".utf8)
        var number = UInt128.random(in: .min ... .max)
        let bytes = (0..<32).map { _ in
            defer { number >>= 4 }
            return digits[Int(number & 15)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Gives every request an id: in each of its log lines (`request.id`) and in its answer (`X-Request-Id`).
struct RequestIDs: RouterMiddleware {
    func handle(
        _ request: Request, context: GatewayRequestContext,
        next: (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        // A part of a batch goes by the batch's id.
        guard context.id.isEmpty else { return try await next(request, context) }
        let id = RequestID(request.headers)
        var context = context
        context.name(id)
        var response = try await next(request, context)
        response.headers[.requestID] = id.text
        return response
    }
}

extension HTTPField.Name {
    /// `X-Request-Id`.
    static let requestID = HTTPField.Name("X-Request-Id")!
}
