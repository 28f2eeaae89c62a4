import HTTPListener
import PushModel
import Store

/// Who signs assertions: keys of service accounts. Those that signed lately are remembered.
struct AccountSigners: Sendable {
    private let store: any ServiceAccountStore
    private let limits: ClientRateLimits
    private let wallTime: WallTime
    /// By the keys' ids.
    private let recent = CredentialCache<String, ServiceAccountIdentity>()

    /// Looks keys up in `store`.
    ///
    /// - Parameter limits: how often an address may fail.
    init(store: any ServiceAccountStore, limits: ClientRateLimits, wallTime: @escaping WallTime) {
        self.store = store
        self.limits = limits
        self.wallTime = wallTime
    }

    /// Whether an address that failed too often may present this all the same: a JWT that an account's key signed which was
    /// found lately. Costs no read of the store; without a key's id nothing is verified either.
    func passes(_ text: String, from address: ClientAddress) async -> Bool {
        // Only whether it does: who can't present it gets the refusal of the limit, whatever else is wrong.
        guard (try? limits.check(.failures(address))) == nil, Assertion.isAssertion(text),
            let assertion = try? Assertion(text, at: wallTime()), let key = assertion.keyID,
            let signer = recent.lastRecord(key)
        else { return false }
        // As above: a signature that does not hold does not pass.
        return (try? await assertion.check(by: signer)) != nil
    }

    /// Who signed an assertion.
    ///
    /// - Throws: as the store's.
    func signer(of assertion: Assertion) async throws(Assertion.Problem) -> ServiceAccountIdentity {
        let signer = try await store.signer(of: assertion)
        recent.keep(signer, as: signer.key.id)
        return signer
    }
}
