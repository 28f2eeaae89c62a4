/// What keeps rewards from those who only look like friends. The times are sliding: a day is the last 24 hours.
package struct ReferralRules: Hashable, Sendable {
    /// Rewards of one inviter in a day; the next conversion is rejected.
    package var rewardsPerDay = 20
    /// First openings by one inviter's invitations from one address in a day; the next is rejected.
    package var openingsPerAddress = 3
    /// First openings by one inviter's invitations in an hour; the next is rejected.
    package var openingsPerHour = 30

    /// The defaults.
    package init() {}
}
