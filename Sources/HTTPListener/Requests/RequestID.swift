package import HTTPTypes

/// The id of one request in logs and in its answer.
package struct RequestID: Hashable, Sendable {
    /// 1 to 128 characters of `[A-Za-z0-9._:/+=@-]`.
    package let text: String

    /// The caller's own id (`X-Request-Id`) when it can stand in a log line, otherwise a new one.
    package init(_ headers: HTTPFields) {
        text = headers[.requestID].flatMap { Self.isSane($0) ? $0 : nil } ?? Self.made()
    }

    /// The field of an answer. It is another one in each, so it takes no place in HTTP/2's table of fields.
    package var field: HTTPField {
        var field = HTTPField(name: .requestID, value: text)
        field.indexingStrategy = .avoid
        return field
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
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        for var number in [UInt64.random(in: .min ... .max), .random(in: .min ... .max)] {
            for _ in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: number & 15)
                bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                number >>= 4
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTTPField.Name {
    /// `X-Request-Id`.
    package static let requestID = HTTPField.Name("X-Request-Id")!
}
