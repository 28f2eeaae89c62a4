package import PushModel
package import Store

extension SQLStore: ReferralStore {
    /// Makes or finds an invitation in one transaction.
    package func invite(
        _ invitation: Invitation
    ) async throws(StoreError) -> (invitation: Invitation, isNew: Bool) {
        try await write { db in try ReferralTable(db: db).invite(invitation) }
    }

    /// By its unique id.
    package func invitation(_ id: InvitationID) async throws(StoreError) -> Invitation? {
        try await lookUp { db in try ReferralTable(db: db).invitation(id)?.invitation }
    }

    /// By its unique id.
    package func referral(
        _ id: ReferralID, in project: ProjectID
    ) async throws(StoreError) -> (referral: Referral, invitation: Invitation)? {
        try await lookUp { db in
            try ReferralTable(db: db).find(id, in: project).map { ($0.referral, $0.parent.invitation) }
        }
    }

    /// By the index of an invitation's referrals.
    package func openReferrals(of invitation: InvitationID, limit: Int) async throws(StoreError) -> [Referral] {
        try await read { db in try ReferralTable(db: db).open(invitation, limit: limit) }
    }

    /// Decides in one transaction, with the steps' events.
    package func change(
        _ id: ReferralID, in project: ProjectID, _ decision: ReferralDecision, _ rules: ReferralRules,
        at time: Timestamp
    ) async throws(StoreError) -> ReferralChange? {
        try await write { db in try ReferralTable(db: db).change(id, in: project, decision, rules, at: time) }
    }

    /// Counts rows of the invitations that are asked for.
    package func referralCounts(
        of project: ProjectID, inviter: UserID?, campaign: String?, limit: Int
    ) async throws(StoreError) -> [ReferralCounts] {
        try await read { db in
            try ReferralCountReader(db: db).counts(of: project, inviter: inviter, campaign: campaign, limit: limit)
        }
    }

    /// Deletes the inviter with what hangs on it, and the name of the invitee.
    package func eraseReferrals(of user: UserID, in project: ProjectID) async throws(StoreError) -> Int {
        try await write { db in
            let key: SQLArguments = [project.rawValue, user.rawValue]
            let invitations =
                try db.number(
                    """
                    SELECT count(*) FROM referral_inviter v CROSS JOIN referral_invitation i ON i.inviter = v.id
                    WHERE v.project = ? AND v.user = ?
                    """, key) ?? 0
            try db.change("DELETE FROM referral_inviter WHERE project = ? AND user = ?", key)
            let named = try db.change(
                "UPDATE referral SET invitee = NULL WHERE project = ? AND invitee = ?", key)
            return Int(invitations) + named
        }
    }

    /// Forgets referrals by the index of those that are only clicks.
    package func forgetReferrals(clickedBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        try await write(rows: limit) { db in
            try db.change(ReferralCountReader.forget, [time.milliseconds, limit])
        }
    }
}

/// Counts how far referrals came.
struct ReferralCountReader {
    let db: any Database

    static let forget = """
        DELETE FROM referral WHERE number IN (
            SELECT number FROM referral INDEXED BY referral_clicked
            WHERE state = 1 AND clicked_at < ?1 ORDER BY clicked_at LIMIT ?2)
        """
    private static let columns = """
        SELECT v.user, i.campaign, i.id, i.clicks, count(r.opened_at), count(r.converted_at), count(r.rewarded_at),
            count(r.rejection), count(*) FILTER (WHERE r.state = 4)
        FROM referral_inviter v
        CROSS JOIN referral_invitation i ON i.inviter = v.id
        LEFT JOIN referral r ON r.invitation = i.number
        """
    private static let end = "GROUP BY i.number, v.id ORDER BY v.user, i.campaign LIMIT"
    static let all = "\(columns) WHERE v.project = ?1 AND (i.campaign = ?2 OR ?2 IS NULL) \(end) ?3"
    static let ofInviter = """
        \(columns) WHERE v.project = ?1 AND (i.campaign = ?2 OR ?2 IS NULL) AND v.user = ?4 \(end) ?3
        """

    func counts(of project: ProjectID, inviter: UserID?, campaign: String?, limit: Int) throws -> [ReferralCounts] {
        var arguments: SQLArguments = [project.rawValue, campaign, limit]
        if let inviter { arguments += [inviter.rawValue] }
        return try db.rows(inviter == nil ? Self.all : Self.ofInviter, arguments).map { row in
            guard let user = UserID(rawValue: row[0]), let id = SixteenBytes(row[2] as [UInt8]) else {
                throw StoreError.invalid("an invitation")
            }
            var counts = ReferralCounts(inviter: user, campaign: row[1], invitation: InvitationID(id))
            (counts.clicked, counts.opened, counts.converted) = (row[3], row[4], row[5])
            (counts.rewarded, counts.rejected, counts.pending) = (row[6], row[7], row[8])
            return counts
        }
    }
}
