import HTTPTypes
import PushModel
import Store

/// Finds out who sent a request: by an API key, an access token, or a JWT that a service account signed.
struct Authenticator: Sendable {
    private let store: any CredentialStore & ServiceAccountStore
    private let wallTime: WallTime
    private let keys = CredentialCache<String, APIKeyRecord>()
    /// By the SHA-256 of the token or JWT.
    private let grants = CredentialCache<[UInt8], Grant>()

    /// A service account's right to call until a time.
    private struct Grant: Sendable {
        var identity: ServiceAccountIdentity
        var expiresAt: Timestamp
    }

    /// Looks credentials up in `store`; what was found lately is remembered.
    init(store: any CredentialStore & ServiceAccountStore, wallTime: @escaping WallTime) {
        self.store = store
        self.wallTime = wallTime
    }

    /// The caller of a request.
    ///
    /// - Throws: UNAUTHENTICATED without a credential that is known and works; UNAVAILABLE when the store fails.
    func caller(of headers: HTTPFields) async throws(FCMError) -> Caller {
        guard let text = Self.credential(in: headers) else { throw FCMError(.unauthenticated) }
        if AccessToken.isToken(text) { return try await caller(accessToken: text) }
        if Assertion.isAssertion(text) { return try await caller(jwt: text) }
        return try await caller(key: text)
    }

    private func caller(key text: String) async throws(FCMError) -> Caller {
        guard let id = APIKey.id(in: text) else { throw Self.invalidKey }
        let record: APIKeyRecord?
        do {
            record = try await keys.record(id, read: store.apiKey)
        } catch {
            throw FCMError(error)
        }
        guard let record, APIKey.matches(text, record), record.revokedAt == nil else { throw Self.invalidKey }
        return Caller(credential: .apiKey(record.id), project: record.project, role: record.role)
    }

    private func caller(accessToken text: String) async throws(FCMError) -> Caller {
        let grant: Grant?
        do {
            grant = try await grants.record(AccessToken.digest(of: text)) { digest throws(StoreError) in
                try await store.accessToken(digest).map {
                    Grant(identity: $0.identity, expiresAt: $0.token.expiresAt)
                }
            }
        } catch {
            throw FCMError(error)
        }
        guard let grant, grant.identity.isUsable, wallTime() < grant.expiresAt else {
            throw .unusableToken(
                "The access token is not valid: it is unknown, over, or its key was revoked. Get a new one.")
        }
        return Caller(grant.identity)
    }

    private func caller(jwt text: String) async throws(FCMError) -> Caller {
        let grant = try await grants.record(AccessToken.digest(of: text)) { _ throws(FCMError) in
            try await self.grant(for: text)
        }
        guard let grant, wallTime() < grant.expiresAt else { throw FCMError(Assertion.Problem.times) }
        return Caller(grant.identity)
    }

    private func grant(for text: String) async throws(FCMError) -> Grant {
        do throws(Assertion.Problem) {
            let assertion = try Assertion(text, at: wallTime())
            let identity = try await store.signer(of: assertion)
            return Grant(identity: identity, expiresAt: assertion.expiresAt)
        } catch {
            throw FCMError(error)
        }
    }

    /// The credential that a request presents: `Authorization: Bearer` or `key=`, otherwise `X-Goog-Api-Key`. The latter
    /// also beside `Authorization: FIS_v2`, which holds an installation's refresh token.
    static func credential(in headers: HTTPFields) -> String? {
        let credential: String?
        if let text = headers[.authorization], SchemeCredential.value(of: "fis_v2 ", in: text) == nil {
            credential = SchemeCredential.value(of: "bearer ", in: text) ?? SchemeCredential.value(of: "key=", in: text)
        } else {
            credential = headers[.googleAPIKey].map { String($0.trimmingBlanks) }
        }
        return credential.flatMap { $0.isEmpty ? nil : $0 }
    }

    // One answer for unknown, wrong and revoked keys: a caller can't tell which ids exist.
    private static var invalidKey: FCMError {
        FCMError(
            .unauthenticated, "The API key is not valid: it is unknown or was revoked.", reason: .invalidCredential)
    }
}

extension HTTPField.Name {
    /// `X-Goog-Api-Key`.
    static let googleAPIKey = HTTPField.Name("X-Goog-Api-Key")!
    /// `X-Goog-Firebase-Installations-Auth`: an installation's auth token, with or without `FIS ` in front.
    static let installationAuth = HTTPField.Name("X-Goog-Firebase-Installations-Auth")!
    /// `X-Forwarded-For`: whom a proxy asks for.
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
    /// `X-Next-Page-Token`: where the next page of an export begins.
    static let nextPageToken = HTTPField.Name("X-Next-Page-Token")!
}
