package import PushModel

/// What a backend or an operator says of a referral.
package enum ReferralDecision: Hashable, Sendable {
    /// What the campaign is for was done, by this user as far as it is known.
    case conversion(invitee: UserID?)
    /// The reward is given.
    case grant
    /// The reward is refused.
    case decline
}

/// A referral after a decision.
package struct ReferralChange: Hashable, Sendable {
    /// The referral as it is now.
    package var referral: Referral
    /// Its invitation.
    package var invitation: Invitation
    /// The steps that it made; empty: none, as when a decision comes again.
    package var steps: [ReferralState]

    /// Puts a change together.
    package init(referral: Referral, invitation: Invitation, steps: [ReferralState]) {
        self.referral = referral
        self.invitation = invitation
        self.steps = steps
    }
}

/// How far the referrals of an invitation came.
package struct ReferralCounts: Hashable, Sendable {
    /// Who invites.
    package var inviter: UserID
    /// What for.
    package var campaign: String
    /// The invitation.
    package var invitation: InvitationID
    /// Clicks on its link.
    package var clicked = 0
    /// Installs whose app was opened for the first time.
    package var opened = 0
    /// Conversions.
    package var converted = 0
    /// Rewards.
    package var rewarded = 0
    /// Referrals that a rule or an operator rejected.
    package var rejected = 0

    /// Counts nothing yet.
    package init(inviter: UserID, campaign: String, invitation: InvitationID) {
        self.inviter = inviter
        self.campaign = campaign
        self.invitation = invitation
    }

    /// Conversions that wait for a decision.
    package var pending = 0
}

/// A referral came to a state, or an invitation was made.
package struct ReferralStep: Hashable, Sendable {
    /// The invitation.
    package var invitation: InvitationID
    /// The referral; `nil`: the invitation was made.
    package var referral: ReferralID?
    /// The state.
    package var state: ReferralState
    /// Why it was rejected.
    package var rejection: ReferralRejection?

    /// Describes a step.
    package init(
        invitation: InvitationID, referral: ReferralID? = nil, state: ReferralState, rejection: ReferralRejection? = nil
    ) {
        self.invitation = invitation
        self.referral = referral
        self.state = state
        self.rejection = rejection
    }
}
