import HTTPTypes
import Store

/// Finds out who sent a request.
struct Authenticator: Sendable {
    private let store: any CredentialStore
    private let cache: KeyCache

    /// Looks keys up in `store`; what was found lately comes from `cache`.
    init(store: any CredentialStore, cache: KeyCache = KeyCache()) {
        self.store = store
        self.cache = cache
    }

    /// The caller of a request.
    ///
    /// - Throws: UNAUTHENTICATED without a key that is known and not revoked; UNAVAILABLE when the store fails.
    func caller(of headers: HTTPFields) async throws(FCMError) -> Caller {
        guard let text = Self.key(in: headers) else { throw FCMError(.unauthenticated) }
        guard let id = APIKey.id(in: text) else { throw Self.invalidKey }
        let record: APIKeyRecord?
        do {
            record = try await cache.key(id, from: store)
        } catch {
            throw FCMError(error)
        }
        guard let record, APIKey.matches(text, record), record.revokedAt == nil else { throw Self.invalidKey }
        return Caller(keyID: record.id, project: record.project, role: record.role)
    }

    /// The key that a request presents: `Authorization: Bearer` or `key=`, otherwise `X-Goog-Api-Key`.
    static func key(in headers: HTTPFields) -> String? {
        guard let authorization = headers[.authorization] else {
            return headers[.googleAPIKey].map(trimmed).flatMap { $0.isEmpty ? nil : $0 }
        }
        let start = authorization.prefix(7).lowercased()
        for scheme in ["bearer ", "key="] where start.hasPrefix(scheme) {
            let key = trimmed(authorization.dropFirst(scheme.count))
            return key.isEmpty ? nil : key
        }
        return nil
    }

    // One answer for unknown, wrong and revoked keys: a caller can't tell which ids exist.
    private static var invalidKey: FCMError {
        FCMError(.unauthenticated, "The API key is not valid: it is unknown or was revoked.")
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var part = text[...]
        while let first = part.first, first == " " || first == "\t" { part.removeFirst() }
        while let last = part.last, last == " " || last == "\t" { part.removeLast() }
        return String(part)
    }
}

extension HTTPField.Name {
    /// `X-Goog-Api-Key`.
    static let googleAPIKey = HTTPField.Name("X-Goog-Api-Key")!
    /// `X-Next-Page-Token`: where the next page of an export begins.
    static let nextPageToken = HTTPField.Name("X-Next-Page-Token")!
}
