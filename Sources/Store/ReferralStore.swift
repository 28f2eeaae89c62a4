package import PushModel

/// Invitations and what they lead to. Each step of a referral is an event, written in its transaction.
package protocol ReferralStore: Sendable {
    /// Makes an invitation, or finds the one that the inviter has for the campaign: with its own id and parameters, and the
    /// notice that is given now. The inviter's code is the one that they have in the project.
    func invite(_ invitation: Invitation) async throws(StoreError) -> (invitation: Invitation, isNew: Bool)

    /// An invitation by the id of its link.
    func invitation(_ id: InvitationID) async throws(StoreError) -> Invitation?

    /// A referral of a project with its invitation.
    func referral(
        _ id: ReferralID, in project: ProjectID
    ) async throws(StoreError) -> (referral: Referral, invitation: Invitation)?

    /// The referrals of an invitation whose app was opened for the first time and that have not ended or converted, the
    /// oldest first.
    func openReferrals(of invitation: InvitationID, limit: Int) async throws(StoreError) -> [Referral]

    /// Takes a referral on; `nil`: the project has no such referral.
    func change(
        _ id: ReferralID, in project: ProjectID, _ decision: ReferralDecision, _ rules: ReferralRules,
        at time: Timestamp
    ) async throws(StoreError) -> ReferralChange?

    /// How far referrals came, by inviter and campaign, in their order.
    ///
    /// - Parameters:
    ///   - inviter: only theirs.
    ///   - campaign: only of it.
    func referralCounts(
        of project: ProjectID, inviter: UserID?, campaign: String?, limit: Int
    ) async throws(StoreError) -> [ReferralCounts]

    /// Forgets a user: their code, invitations and referrals as inviter, and their name as invitee.
    ///
    /// - Returns: how many invitations and referrals that were.
    func eraseReferrals(of user: UserID, in project: ProjectID) async throws(StoreError) -> Int

    /// Forgets referrals that came no further than a click before a time: at most `limit`; says how many. Their clicks stay
    /// counted.
    func forgetReferrals(clickedBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int
}
