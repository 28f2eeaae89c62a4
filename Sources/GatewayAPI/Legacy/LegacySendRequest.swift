import FCMWire
import JSON
import NIOCore
import PushModel

/// The body of `POST /fcm/send`, decoded (fcm.md §3).
struct LegacySendRequest: Sendable {
    /// To whom.
    let recipient: Recipient
    /// What to send; otherwise why it is sent to no one.
    let content: Result<FCMMessage, LegacyError>
    /// The app that registrations must be of; `nil`: any.
    let restrictedPackageName: String?
    /// Whether nothing is to be kept.
    let isDryRun: Bool

    /// To whom.
    enum Recipient: Hashable, Sendable {
        /// `to`: a token or a group's key.
        case one(String)
        /// `registration_ids`: 1 to ``LegacySendRequest/tokenLimit``.
        case many([String])
        /// `to` with `/topics/` in front.
        case topic(Topic)
        /// `condition`.
        case condition(Condition)
        /// The request names no recipient.
        case missing
    }

    /// The most `registration_ids`.
    static let tokenLimit = 1000

    /// The names that a request may have; the last two had a meaning once.
    private static let names: Set<String> = [
        "to", "registration_ids", "condition", "collapse_key", "priority", "content_available", "mutable_content",
        "time_to_live", "restricted_package_name", "dry_run", "data", "notification", "delay_while_idle",
        "notification_key",
    ]

    /// Decodes a body that is sent at `now`.
    ///
    /// - Throws: an error for the whole call: no JSON, an unknown name, a wrong type.
    init(_ body: RequestBody, at now: Timestamp) throws(FCMError) {
        let json: JSONValue
        do throws(JSONSyntaxError) {
            json = try JSONValue(parsing: body.bytes.readableBytesView)
        } catch {
            throw FCMError(.badRequest, "JSON_PARSING_ERROR: \(error.message) at position \(error.offset).")
        }
        do throws(FCMError) {
            try self.init(json, at: now)
        } catch {
            throw .invalidParameters(error)
        }
    }

    private init(_ json: JSONValue, at now: Timestamp) throws(FCMError) {
        guard case .object(let members) = json else { throw FCMError(.badRequest, "The body must be a JSON object.") }
        // As they are written: unlike v1, the legacy API has no second spelling.
        if let unknown = members.first(where: { !Self.names.contains($0.name) }) {
            throw FCMError(.badRequest, "Unknown name \"\(unknown.name.excerpt)\".")
        }
        let reader = try ObjectReader(root: json)
        recipient = try Self.recipient(in: reader)
        restrictedPackageName = try reader.text("restricted_package_name")
        isDryRun = try reader.bool("dry_run") ?? false
        content = try LegacyMessage(reader).content(at: now)
    }

    private static func recipient(in reader: ObjectReader) throws(FCMError) -> Recipient {
        let to = try reader.text("to")
        let tokens = try reader.strings("registration_ids")
        let condition = try reader.text("condition")
        switch (to, tokens, condition) {
        case (let to?, nil, nil): return try one(to)
        case (nil, let tokens?, nil):
            guard tokens.count <= tokenLimit else {
                throw FCMError(
                    .badRequest,
                    "Number of messages on bulk (\(tokens.count)) exceeds maximum allowed (\(tokenLimit))")
            }
            return tokens.isEmpty ? .missing : .many(tokens)
        case (nil, nil, let text?):
            do throws(ConditionSyntaxError) {
                return .condition(try Condition(parsing: text.lowercasedOutsideQuotes))
            } catch {
                throw FCMError(.badRequest, "condition: malformed at byte \(error.offset): \(error.message).")
            }
        case (nil, nil, nil): return .missing
        default:
            throw FCMError(.badRequest, "Must use only one of \"to\", \"registration_ids\" and \"condition\".")
        }
    }

    private static func one(_ to: String) throws(FCMError) -> Recipient {
        let prefix = "/topics/"
        guard to.hasPrefix(prefix) else { return .one(to) }
        guard let topic = Topic(rawValue: String(to.dropFirst(prefix.count))) else {
            throw FCMError(.badRequest, "to: a topic is /topics/<name> with a name of [a-zA-Z0-9-_.~%]{1,900}.")
        }
        return .topic(topic)
    }
}

extension ObjectReader {
    /// A string; an empty one counts as absent.
    func text(_ name: String) throws(FCMError) -> String? {
        guard let text = try string(name), !text.isEmpty else { return nil }
        return text
    }
}

extension String {
    /// A condition in any case as v1 writes it: what is not the name of a topic in lower case. The bytes keep their places.
    fileprivate var lowercasedOutsideQuotes: String {
        var quote: UInt8?
        let bytes = utf8.map { byte in
            if let open = quote {
                if byte == open { quote = nil }
                return byte
            }
            if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") { quote = byte }
            let isUpper = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
            return isUpper ? byte + 32 : byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
