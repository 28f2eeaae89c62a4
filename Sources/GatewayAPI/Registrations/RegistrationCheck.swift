import Hummingbird
import JSON
import PushModel

/// `POST /v1/projects/{p}/registrations:check`: the state of many registrations at once, without a message.
enum RegistrationCheck {
    /// The most tokens.
    static let tokenLimit = 10_000

    /// `{"tokens": […]}` (tokens or FIDs) is answered `{"results": […]}` in the same order.
    @Sendable static func respond(_ call: ProjectCall) async throws -> Response {
        let body = try await call.json()
        try body.refuseUnknown(except: ["tokens"])
        let tokens = try body.strings("tokens") ?? []
        guard (1...tokenLimit).contains(tokens.count) else {
            throw FCMError.badRequest("tokens", "tokens must hold 1 to \(tokenLimit) tokens, not \(tokens.count).")
        }
        let references = tokens.map { RegistrationReference(rawValue: $0) }
        var named = try await call.named(references.compactMap { $0 }).makeIterator()
        let results = references.map { reference in
            guard reference != nil else { return Self.state("INVALID_ARGUMENT") }
            switch named.next() {
            case .known(let registration)?:
                return .object(RegistrationView(registration, in: call).stateMembers)
            case .ofOtherProject?: return Self.state("SENDER_ID_MISMATCH")
            case .unknown?, nil: return Self.state("UNREGISTERED")
            }
        }
        return Response(json: .object([.init("results", .array(results))]))
    }

    private static func state(_ word: String) -> JSONValue { .object([.init("state", .string(word))]) }
}
