import APNS
import Logging
import PushModel
import Store
import Synchronization

/// Leaves provider tokens for other gateways in the store that they share.
final class NodeProviderTokens: SharedProviderTokens {
    private let store = Mutex<(any NodeStore)?>(nil)
    private let logger: Logger

    /// Before ``begin(in:)`` nothing can be asked.
    init(logger: Logger) {
        self.logger = logger
    }

    /// The store is open.
    func begin(in store: any NodeStore) {
        self.store.withLock { $0 = store }
    }

    func token(of key: ProviderKeyName) async throws -> SealedProviderToken? {
        try await asking(key) { store throws(StoreError) in try await store.providerToken(of: key) }
    }

    func keep(
        _ token: SealedProviderToken, of key: ProviderKeyName, replacing former: SealedProviderToken?
    ) async throws -> SealedProviderToken {
        try await asking(key) { store throws(StoreError) in
            try await store.keep(token, of: key, replacing: former)
        }
    }

    private func asking<Answer: Sendable>(
        _ key: ProviderKeyName, _ ask: (any NodeStore) async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        guard let store = store.withLock({ $0 }) else { throw StoreError(.unavailable, "The store is not open yet.") }
        do throws(StoreError) {
            return try await ask(store)
        } catch {
            logger.warning(
                "the provider token of all nodes can't be asked for; this one signs its own",
                metadata: ["key": "\(key.teamID)/\(key.keyID)", "error": "\(error)"])
            throw error
        }
    }
}
