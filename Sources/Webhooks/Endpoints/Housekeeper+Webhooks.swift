package import Delivery
import PushModel
package import Store

extension Housekeeper.Chore {
    /// How long attempts are kept.
    package static let webhookAttemptLifetime: Duration = .seconds(7 * 86_400)
    /// How long dead letters are kept.
    package static let deadLetterLifetime: Duration = .seconds(30 * 86_400)

    /// Forgets attempts that are older than ``webhookAttemptLifetime``, or too many.
    package static func webhookAttempts(of store: any WebhookStore) -> Self {
        Self("attempts of webhooks") { now, limit throws(StoreError) in
            try await store.forgetWebhookAttempts(before: now + (.zero - webhookAttemptLifetime), limit: limit)
        }
    }

    /// Forgets dead letters that are older than ``deadLetterLifetime``.
    package static func deadLetters(of store: any WebhookStore) -> Self {
        Self("dead letters of webhooks") { now, limit throws(StoreError) in
            try await store.forgetDeadLetters(before: now + (.zero - deadLetterLifetime), limit: limit)
        }
    }
}
