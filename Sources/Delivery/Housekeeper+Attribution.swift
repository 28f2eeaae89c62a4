import PushModel
package import Store

extension Housekeeper.Chore {
    /// How long it is known that an install was given a link: longer than most apps stay installed.
    package static let attributedInstallLifetime: Duration = .seconds(400 * 86_400)
    /// How long a referral is kept that came no further than a click.
    package static let clickedReferralLifetime: Duration = .seconds(90 * 86_400)

    /// Forgets clicks on links that expired.
    package static func clicks(of store: any ClickStore) -> Self {
        Self("clicks") { now, limit throws(StoreError) in
            try await store.forgetClicks(expiredBefore: now, limit: limit)
        }
    }

    /// Forgets installs that were given a link longer ago than ``attributedInstallLifetime``.
    package static func attributedInstalls(of store: any ClickStore) -> Self {
        Self("attributed installs") { now, limit throws(StoreError) in
            try await store.forgetAttributedInstalls(
                before: now + (.zero - attributedInstallLifetime), limit: limit)
        }
    }

    /// Forgets referrals that are clicks longer ago than ``clickedReferralLifetime``.
    package static func clickedReferrals(of store: any ReferralStore) -> Self {
        Self("clicked referrals") { now, limit throws(StoreError) in
            try await store.forgetReferrals(clickedBefore: now + (.zero - clickedReferralLifetime), limit: limit)
        }
    }
}
