package import PushModel

/// What an invitation is called outside, and in its link: `/i/<id>`.
package typealias InvitationID = OpaqueID<Invitation>
/// What a referral is called outside.
package typealias ReferralID = OpaqueID<Referral>

/// A user's link for a campaign, which they give to others.
package struct Invitation: Hashable, Sendable {
    /// Its name outside.
    package var id: InvitationID
    /// Whose it is.
    package var project: ProjectID
    /// Who invites.
    package var inviter: UserID
    /// The inviter's code: what links carry instead of the user's id.
    package var code: String
    /// What for; an inviter has one invitation for each.
    package var campaign: String
    /// The ``LinkPrefix/name`` of the prefix of its link.
    package var prefix: String
    /// The parameters of its link, as ``Link/parameters``.
    package var parameters: String
    /// What the inviter is told when somebody they invited converts; `nil`: nothing.
    package var notice: InviterNotice?
    /// When it was made.
    package var createdAt: Timestamp

    /// Puts an invitation together.
    package init(
        id: InvitationID, project: ProjectID, inviter: UserID, code: String, campaign: String, prefix: String,
        parameters: String, notice: InviterNotice? = nil, createdAt: Timestamp
    ) {
        self.id = id
        self.project = project
        self.inviter = inviter
        self.code = code
        self.campaign = campaign
        self.prefix = prefix
        self.parameters = parameters
        self.notice = notice
        self.createdAt = createdAt
    }
}

/// The text of a push to an inviter.
package struct InviterNotice: Hashable, Sendable {
    /// The title.
    package var title: String
    /// The body.
    package var body: String

    /// Puts a notice together.
    package init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// Somebody who followed an invitation: from the click to the reward.
package struct Referral: Hashable, Sendable {
    /// Its name outside.
    package var id: ReferralID
    /// The invitation.
    package var invitation: InvitationID
    /// How far it is.
    package var progress: ReferralProgress
    /// How sure it is that the install comes from the invitation; `nil`: it is not installed yet.
    package var confidence: MatchConfidence?
    /// Who was invited, once the backend says it.
    package var invitee: UserID?
    /// When it came where it is.
    package var changedAt: Timestamp

    /// Puts a referral together.
    package init(
        id: ReferralID, invitation: InvitationID, progress: ReferralProgress, confidence: MatchConfidence? = nil,
        invitee: UserID? = nil, changedAt: Timestamp
    ) {
        self.id = id
        self.invitation = invitation
        self.progress = progress
        self.confidence = confidence
        self.invitee = invitee
        self.changedAt = changedAt
    }
}

/// How far a referral is.
package enum ReferralState: Int, Hashable, Sendable, CaseIterable {
    /// The invitation was made; of it alone, before there is a referral. Next: ``clicked``, ``installed``.
    case invited = 0
    /// Its link was tapped. Next: ``installed``, ``rejected``.
    case clicked = 1
    /// The app was installed. Next: ``firstOpen``, ``rejected``.
    case installed = 2
    /// The app was opened for the first time. Next: ``converted``, ``rejected``.
    case firstOpen = 3
    /// What the campaign is for was done; the reward waits for a decision. Next: ``rewarded``, ``rejected``.
    case converted = 4
    /// Inviter and invitee have earned the reward. The end.
    case rewarded = 5
    /// A rule forbids the reward. The end.
    case rejected = 6
}

/// Why there is no reward.
package enum ReferralRejection: Int, Hashable, Sendable, CaseIterable {
    /// The inviter invited themselves.
    case selfInvitation = 1
    /// Too many invitees of the inviter come from one address.
    case addressCluster = 2
    /// The inviter had as many rewards this day as there are for one.
    case dailyCap = 3
    /// More invitees of the inviter came at once than people do.
    case velocity = 4
    /// The invitee has a referral already.
    case inviteeKnown = 5
    /// An operator decided so.
    case declined = 6
}

/// What happens to a referral.
package enum ReferralEvent: Hashable, Sendable {
    /// The link was tapped.
    case click
    /// The app was opened for the first time after it was installed.
    case firstOpen
    /// What the campaign is for was done.
    case conversion(MatchConfidence)
    /// A rule, or an operator.
    case rejection(ReferralRejection)
    /// An operator grants the reward.
    case grant
}

/// The state machine of a referral: a value that says which steps an event makes.
package struct ReferralProgress: Hashable, Sendable {
    /// How far it is.
    package private(set) var state: ReferralState
    /// Why it was rejected; `nil`: it was not.
    package private(set) var rejection: ReferralRejection?

    /// As it was stored; `.invited`: there is no click yet.
    package init(_ state: ReferralState = .invited, rejection: ReferralRejection? = nil) {
        self.state = state
        self.rejection = rejection
    }

    /// Goes on by an event.
    ///
    /// - Returns: the states that it goes through, in order; empty: the event changes nothing, as one that comes again.
    package mutating func apply(_ event: ReferralEvent) -> [ReferralState] {
        let steps = steps(for: event)
        if case .rejection(let reason) = event, !steps.isEmpty { rejection = reason }
        state = steps.last ?? state
        return steps
    }

    private func steps(for event: ReferralEvent) -> [ReferralState] {
        switch (state, event) {
        case (.invited, .click): [.clicked]
        case (.invited, .firstOpen), (.clicked, .firstOpen): [.installed, .firstOpen]
        case (.installed, .firstOpen): [.firstOpen]
        // Only a device that showed the link or the click itself is sure enough for a reward that no person decides on.
        case (.firstOpen, .conversion(.unique)): [.converted, .rewarded]
        case (.firstOpen, .conversion): [.converted]
        case (.converted, .grant): [.rewarded]
        case (.clicked, .rejection), (.installed, .rejection), (.firstOpen, .rejection), (.converted, .rejection):
            [.rejected]
        case (.invited, .conversion), (.clicked, .conversion), (.installed, .conversion): []
        case (.invited, .rejection), (.invited, .grant), (.clicked, .grant), (.installed, .grant), (.firstOpen, .grant):
            []
        case (.clicked, .click), (.installed, .click), (.firstOpen, .click), (.converted, .click): []
        case (.firstOpen, .firstOpen), (.converted, .firstOpen), (.converted, .conversion): []
        case (.rewarded, _), (.rejected, _): []
        }
    }
}
