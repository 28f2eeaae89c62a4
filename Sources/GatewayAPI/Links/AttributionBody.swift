import JSON
import Links
import PushModel
import Store

/// The body of an attribution request as SDKs write it: names in two spellings in one body, numbers as texts and texts as
/// numbers, and more fields than are read. A value of another type is none: an app's first start must
/// not fail for it.
struct AttributionBody {
    /// `nil`: an object without fields.
    private let members: ObjectReader?

    init(_ members: ObjectReader?) {
        self.members = members
    }

    /// A text, 1 to `limit` bytes; a number is its digits.
    func text(_ name: String, limit: Int = 8192) -> String? {
        switch members?.value(name) {
        case .string(let text)?: (1...limit).contains(text.utf8.count) ? text : nil
        case .number(let digits)?: digits
        case .bool?, .array?, .object?, .null?, nil: nil
        }
    }

    /// A whole number.
    func number(_ name: String) -> Int? {
        guard let text = text(name) else { return nil }
        return Int(text) ?? Double(text).flatMap { abs($0) < 1e15 ? Int($0) : nil }
    }

    /// An object; an empty one when there is none.
    func object(_ name: String) -> AttributionBody {
        // A value of another type is none here; so the error is of no use.
        AttributionBody(try? members?.object(name, type: "TYPE_MESSAGE"))
    }

    /// A text that there must be.
    func required(_ name: String) throws(FCMError) -> String {
        guard let text = text(name) else { throw .badRequest(name, "\(name) is missing.") }
        return text
    }
}
