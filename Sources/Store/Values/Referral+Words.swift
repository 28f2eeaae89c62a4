extension ReferralState {
    /// The state in events.
    package var word: String {
        switch self {
        case .invited: "invited"
        case .clicked: "clicked"
        case .installed: "installed"
        case .firstOpen: "firstOpen"
        case .converted: "converted"
        case .rewarded: "rewarded"
        case .rejected: "rejected"
        }
    }

    /// The state in answers.
    package var name: String { self == .firstOpen ? "FIRST_OPEN" : word.uppercased() }
}

extension ReferralRejection {
    /// The reason in events and answers.
    package var word: String {
        switch self {
        case .selfInvitation: "SELF_INVITATION"
        case .addressCluster: "ADDRESS_CLUSTER"
        case .dailyCap: "DAILY_CAP"
        case .velocity: "VELOCITY"
        case .inviteeKnown: "INVITEE_KNOWN"
        case .declined: "DECLINED"
        }
    }
}
