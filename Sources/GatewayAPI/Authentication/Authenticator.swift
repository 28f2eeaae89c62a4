import HTTPTypes
import HummingbirdCore
import PushModel
import Store

/// Finds out who sent a request: by an API key, an access token, or a JWT that a service account signed.
struct Authenticator: Sendable {
    private let store: any CredentialStore & ServiceAccountStore
    private let signers: AccountSigners
    private let limits: ClientRateLimits
    private let attempts: SharedAttempts
    private let wallTime: WallTime
    private let uses: KeyUses
    private let publicURL: @Sendable () -> String
    private let keys = CredentialCache<String, APIKeyRecord>()
    /// By the SHA-256 of the token or JWT.
    private let grants = CredentialCache<[UInt8], Grant>()

    /// A service account's right to call until a time.
    private struct Grant: Sendable {
        var identity: ServiceAccountIdentity
        var expiresAt: Timestamp
    }

    /// Looks credentials up in `store`; what was found lately is remembered.
    ///
    /// - Parameters:
    ///   - signers: who signs the JWTs that are bearers.
    ///   - limits: how often an address may fail.
    ///   - uses: hears when a key is used.
    ///   - publicURL: under which clients reach the gateway: the audience of JWTs that are bearers.
    init(
        store: any CredentialStore & ServiceAccountStore, signers: AccountSigners,
        limits: ClientRateLimits = ClientRateLimits(.none),
        uses: KeyUses, publicURL: @escaping @Sendable () -> String, wallTime: @escaping WallTime
    ) {
        self.store = store
        self.signers = signers
        self.limits = limits
        attempts = SharedAttempts(limits)
        self.uses = uses
        self.publicURL = publicURL
        self.wallTime = wallTime
    }

    /// The caller of a request. An address that failed too often is refused before anything is looked up, unless its
    /// credential was found lately, or is a JWT by an account's key that signed lately: others behind the same address go on.
    ///
    /// - Parameter takesQueryKey: whether an API key may also stand in the query, as `key`.
    /// - Throws: UNAUTHENTICATED without a credential that is known and works; RESOURCE_EXHAUSTED for an address that
    ///   failed too often; UNAVAILABLE when the store fails.
    func caller(of call: Call, takesQueryKey: Bool = false) async throws(FCMError) -> Caller {
        if let use = call.context.operatorUse { return Caller(use) }
        let queryKey = { takesQueryKey ? call.query["key"] : nil }
        guard let text = Self.credential(in: call.request.headers) ?? queryKey() else {
            throw FCMError(.unauthenticated).hinting(SenderHint.credential(in: call.request.headers))
        }
        let caller = try await counted(text, call)
        if caller.role != .client { call.proveConnection() }
        return caller
    }

    private func counted(_ text: String, _ call: Call) async throws(FCMError) -> Caller {
        // What nearly every request presents: a key that was read a moment ago. It is hashed once.
        if let id = APIKey.id(in: text), let record = keys.freshRecord(id), APIKey.matches(text, record) {
            return try caller(record)
        }
        guard let address = call.clientAddress, limits.rates.failures > 0, !wasFoundLately(text) else {
            return try await caller(presenting: text)
        }
        if await signers.passes(text, from: address) { return try await caller(presenting: text) }
        return try await attempts.caller(presenting: text, from: address) { () async throws(FCMError) in
            try await caller(presenting: text)
        }
    }

    private func caller(presenting text: String) async throws(FCMError) -> Caller {
        if AccessToken.isToken(text) { return try await caller(accessToken: text) }
        if Assertion.isAssertion(text) { return try await caller(jwt: text) }
        return try await caller(key: text)
    }

    /// Whether the store knew this very credential when it was asked last; it may have been revoked since.
    private func wasFoundLately(_ text: String) -> Bool {
        if AccessToken.isToken(text) || Assertion.isAssertion(text) {
            return grants.lastRecord(AccessToken.digest(of: text)) != nil
        }
        return APIKey.id(in: text).flatMap(keys.lastRecord).map { APIKey.matches(text, $0) } ?? false
    }

    private func caller(key text: String) async throws(FCMError) -> Caller {
        guard let id = APIKey.id(in: text) else { throw Self.invalidKey.hinting(SenderHint.key(text)) }
        let record: APIKeyRecord?
        do {
            record = try await keys.record(id, read: store.apiKey)
        } catch {
            throw FCMError(error)
        }
        guard let record, APIKey.matches(text, record) else { throw Self.invalidKey }
        return try caller(record)
    }

    /// Who presented the key of a record.
    private func caller(_ record: APIKeyRecord) throws(FCMError) -> Caller {
        guard record.revokedAt == nil else { throw Self.invalidKey }
        if let end = record.expiresAt, end <= wallTime() { throw Self.expiredKey(record.id, end) }
        uses.note(record.id, at: wallTime())
        return Caller(credential: .apiKey(record.id), project: record.project, role: record.role, name: record.name)
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
        var issuer: String?
        do throws(Assertion.Problem) {
            let assertion = try Assertion(text, at: wallTime())
            issuer = assertion.issuer
            try assertion.checkAsBearer(publicURL: publicURL())
            let identity = try await signers.signer(of: assertion)
            return Grant(identity: identity, expiresAt: assertion.expiresAt)
        } catch {
            throw FCMError(error).hinting(SenderHint.issuer(issuer))
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

    // Only the holder of the secret comes here.
    private static func expiredKey(_ id: String, _ end: Timestamp) -> FCMError {
        FCMError(
            .unauthenticated, "The API key \(id) expired at \(end.rfc3339). Make another with herald key create.",
            reason: .invalidCredential)
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
    /// `X-Next-Page-Token`: where the next page of an export begins.
    static let nextPageToken = HTTPField.Name("X-Next-Page-Token")!
}
