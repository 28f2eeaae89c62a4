import PushModel
import Store

/// The tables of invitations and referrals, within one transaction.
struct ReferralTable {
    /// An invitation and its numbers.
    struct FoundInvitation {
        let number: Int64
        let inviter: Int64
        let invitation: Invitation
    }

    /// A referral, its number and what it belongs to.
    struct Found {
        var number: Int64
        var referral: Referral
        var parent: FoundInvitation
    }

    let db: any Database

    private static let invitationColumns = """
        i.number, i.inviter, i.id, v.project, v.user, v.code, i.campaign, i.prefix, i.parameters, i.title, i.body,
        i.created_at
        """
    private static let joined = "referral_invitation i CROSS JOIN referral_inviter v ON v.id = i.inviter"
    static let invitationByID = "SELECT \(invitationColumns) FROM \(joined) WHERE i.id = ?"
    static let invitationByCampaign = """
        SELECT \(invitationColumns) FROM referral_inviter v CROSS JOIN referral_invitation i ON i.inviter = v.id
        WHERE v.project = ? AND v.user = ? AND i.campaign = ?
        """
    private static let columns = "number, id, state, rejection, confidence, invitee, changed_at"
    static let byClick = "SELECT \(columns) FROM referral WHERE click = ?"
    static let byID = "SELECT \(columns), project, invitation FROM referral WHERE id = ?"
    static let invitationID = "SELECT id FROM referral_invitation WHERE number = ?"
    static let open = """
        SELECT \(columns) FROM referral INDEXED BY referral_of
        WHERE invitation = ? AND state = \(ReferralState.firstOpen.rawValue) ORDER BY number LIMIT ?
        """
    static let insert = """
        INSERT INTO referral (id, project, inviter, invitation, click, state, confidence, address, changed_at, clicked_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    static let update = """
        UPDATE referral SET state = ?2, rejection = ?3, confidence = ?4, invitee = ?5, changed_at = ?6,
            address = coalesce(?7, address),
            opened_at = CASE WHEN ?8 = 1 THEN ?6 ELSE opened_at END,
            converted_at = CASE WHEN ?9 = 1 THEN ?6 ELSE converted_at END,
            rewarded_at = CASE WHEN ?10 = 1 THEN ?6 ELSE rewarded_at END
        WHERE number = ?1
        """
    static let openings = """
        SELECT count(*), count(*) FILTER (WHERE address = ?3), count(*) FILTER (WHERE opened_at > ?4)
        FROM referral INDEXED BY referral_opened WHERE inviter = ?1 AND opened_at > ?2
        """
    static let rewards = """
        SELECT count(*) FROM referral INDEXED BY referral_rewarded WHERE inviter = ? AND rewarded_at > ?
        """
    static let isInviteeKnown = """
        SELECT 1 FROM referral INDEXED BY referral_invitee WHERE project = ? AND invitee = ? AND number <> ? LIMIT 1
        """

    func invitation(_ id: InvitationID) throws -> FoundInvitation? {
        try db.row(Self.invitationByID, [id.value.data]).map(Self.invitation)
    }

    /// Makes an invitation unless the inviter has one for the campaign.
    func invite(_ new: Invitation) throws -> (invitation: Invitation, isNew: Bool) {
        let key: SQLArguments = [new.project.rawValue, new.inviter.rawValue]
        try db.change(
            "INSERT INTO referral_inviter (project, user, code) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            key + [new.code])
        let notice: SQLArguments = [new.notice?.title, new.notice?.body]
        let isNew =
            try db.change(
                """
                INSERT INTO referral_invitation
                    (title, body, id, inviter, campaign, prefix, parameters, created_at)
                SELECT ?, ?, ?, id, ?, ?, ?, ? FROM referral_inviter WHERE project = ? AND user = ?
                ON CONFLICT DO NOTHING
                """,
                notice + [new.id.value.data, new.campaign, new.prefix, new.parameters, new.createdAt.milliseconds]
                    + key) == 1
        guard let found = try db.row(Self.invitationByCampaign, key + [new.campaign]).map(Self.invitation) else {
            throw StoreError.invalid("an invitation")
        }
        if isNew {
            try note(.invited, of: nil, found.invitation, at: new.createdAt)
            return (found.invitation, true)
        }
        try db.change("UPDATE referral_invitation SET title = ?, body = ? WHERE number = ?", notice + [found.number])
        var invitation = found.invitation
        invitation.notice = new.notice
        return (invitation, false)
    }

    /// Begins the referral of a click on an invitation, once.
    func clicked(_ click: LinkClick) throws {
        guard let id = click.invitation, try db.row(Self.byClick, [click.id.value.data]) == nil,
            let parent = try invitation(id), parent.invitation.project == click.project
        else { return }
        _ = try begin(parent, click: click, at: click.time)
    }

    /// Takes the referral of a first opening on, or begins it, and looks at the rules.
    func opened(_ attribution: NewAttribution) throws -> ReferralID? {
        guard let id = attribution.invitation, let parent = try invitation(id),
            parent.invitation.project == attribution.project
        else { return nil }
        var found: Found
        if let click = attribution.click {
            found = try referral(of: click, parent) ?? begin(parent, click: click, at: click.time)
        } else {
            found = try begin(parent, click: nil, at: attribution.time)
        }
        // The link alone can be copied: only a click that is used up proves a device.
        let isProven = attribution.confidence != .unique || attribution.click != nil
        found.referral.confidence = isProven ? attribution.confidence : .standard
        let rejection = try rejection(of: attribution, parent)
        var events: [ReferralEvent] = [.firstOpen]
        if let rejection { events.append(.rejection(rejection)) }
        _ = try apply(events, to: &found, address: attribution.address, at: attribution.time)
        return found.referral.id
    }

    /// What a backend or an operator decides.
    func change(
        _ id: ReferralID, in project: ProjectID, _ decision: ReferralDecision, _ rules: ReferralRules,
        at time: Timestamp
    ) throws -> ReferralChange? {
        guard var found = try find(id, in: project) else { return nil }
        let event = try event(for: decision, found, rules, at: time)
        if case .conversion(let invitee?) = decision, found.referral.progress.state == .firstOpen {
            found.referral.invitee = invitee
        }
        let steps = try apply([event], to: &found, address: nil, at: time)
        return ReferralChange(referral: found.referral, invitation: found.parent.invitation, steps: steps)
    }

    /// A referral by its id.
    func find(_ id: ReferralID, in project: ProjectID) throws -> Found? {
        guard let row = try db.row(Self.byID, [id.value.data]), row[7] as String == project.rawValue,
            let parent = try db.row(Self.invitationID, [row[8] as Int64]),
            let invitation = SixteenBytes(parent[0] as [UInt8]).map(InvitationID.init),
            let found = try self.invitation(invitation)
        else { return nil }
        return Found(number: row[0], referral: try Self.referral(row, of: invitation), parent: found)
    }

    /// Referrals of an invitation that may convert.
    func open(_ id: InvitationID, limit: Int) throws -> [Referral] {
        guard let parent = try invitation(id) else { return [] }
        let rows = try db.rows(Self.open, [parent.number, limit])
        return try rows.map { try Self.referral($0, of: id) }
    }
}

// MARK: - Steps

extension ReferralTable {
    private func referral(of click: LinkClick, _ parent: FoundInvitation) throws -> Found? {
        guard let row = try db.row(Self.byClick, [click.id.value.data]) else { return nil }
        return Found(number: row[0], referral: try Self.referral(row, of: parent.invitation.id), parent: parent)
    }

    /// Begins a referral; with a click it makes its first step.
    private func begin(_ parent: FoundInvitation, click: LinkClick?, at time: Timestamp) throws -> Found {
        var progress = ReferralProgress()
        if click != nil { _ = progress.apply(.click) }
        let referral = Referral(
            id: .random(), invitation: parent.invitation.id, progress: progress, changedAt: time)
        // Without a click it opens in the same transaction.
        let stored = click == nil ? ReferralState.installed : progress.state
        let number = try db.insert(
            Self.insert,
            [
                referral.id.value.data, parent.invitation.project.rawValue, parent.inviter, parent.number,
                click?.id.value.data, stored.rawValue, nil, click?.traits.address?.value.data, time.milliseconds,
                click?.time.milliseconds,
            ], key: "number")
        let found = Found(number: number, referral: referral, parent: parent)
        if click != nil {
            try db.change("UPDATE referral_invitation SET clicks = clicks + 1 WHERE number = ?", [parent.number])
            try note(.clicked, of: referral, parent.invitation, at: time)
        }
        return found
    }

    private func apply(
        _ events: [ReferralEvent], to found: inout Found, address: KeyedDigest?, at time: Timestamp
    ) throws -> [ReferralState] {
        var steps: [ReferralState] = []
        for event in events { steps += found.referral.progress.apply(event) }
        guard !steps.isEmpty else { return [] }
        found.referral.changedAt = time
        let referral = found.referral
        try db.change(
            Self.update,
            [
                found.number, referral.progress.state.rawValue, referral.progress.rejection?.rawValue,
                referral.confidence?.rawValue, referral.invitee?.rawValue, time.milliseconds, address?.value.data,
                steps.contains(.firstOpen), steps.contains(.converted), steps.contains(.rewarded),
            ])
        for step in steps { try note(step, of: referral, found.parent.invitation, at: time) }
        return steps
    }

    private func note(
        _ state: ReferralState, of referral: Referral?, _ invitation: Invitation, at time: Timestamp
    ) throws {
        let step = ReferralStep(
            invitation: invitation.id, referral: referral?.id, state: state,
            rejection: state == .rejected ? referral?.progress.rejection : nil)
        try EventTable(db: db).add(.referral(step), of: invitation.project, at: time)
    }
}

// MARK: - Rules

extension ReferralTable {
    private static let day: Duration = .seconds(86_400)
    private static let hour: Duration = .seconds(3600)

    /// Why a first opening can't earn a reward.
    private func rejection(
        of attribution: NewAttribution, _ parent: FoundInvitation
    ) throws -> ReferralRejection? {
        let now = attribution.time
        guard
            let row = try db.row(
                Self.openings,
                [
                    parent.inviter, (now + (.zero - Self.day)).milliseconds, attribution.address?.value.data,
                    (now + (.zero - Self.hour)).milliseconds,
                ])
        else { return nil }
        if row[1] >= attribution.rules.openingsPerAddress { return .addressCluster }
        return row[2] >= attribution.rules.openingsPerHour ? .velocity : nil
    }

    private func event(
        for decision: ReferralDecision, _ found: Found, _ rules: ReferralRules, at time: Timestamp
    ) throws -> ReferralEvent {
        switch decision {
        case .grant: return .grant
        case .decline: return .rejection(.declined)
        case .conversion(let invitee):
            guard found.referral.progress.state == .firstOpen else { return .conversion(.weak) }
            if let invitee {
                let invitation = found.parent.invitation
                if invitee == invitation.inviter { return .rejection(.selfInvitation) }
                let isKnown = try db.number(
                    Self.isInviteeKnown, [invitation.project.rawValue, invitee.rawValue, found.number])
                if isKnown != nil { return .rejection(.inviteeKnown) }
            }
            let since = (time + (.zero - Self.day)).milliseconds
            let rewards = try db.number(Self.rewards, [found.parent.inviter, since]) ?? 0
            if rewards >= rules.rewardsPerDay { return .rejection(.dailyCap) }
            return .conversion(found.referral.confidence ?? .weak)
        }
    }
}

// MARK: - Rows

extension ReferralTable {
    private static func invitation(_ row: Row) throws -> FoundInvitation {
        guard let id = SixteenBytes(row[2] as [UInt8]), let user = UserID(rawValue: row[4]) else {
            throw StoreError.invalid("an invitation")
        }
        var notice: InviterNotice?
        if let title = row[9] as String?, let body = row[10] as String? {
            notice = InviterNotice(title: title, body: body)
        }
        return FoundInvitation(
            number: row[0], inviter: row[1],
            invitation: Invitation(
                id: InvitationID(id), project: try ProjectID(stored: row[3]), inviter: user, code: row[5],
                campaign: row[6], prefix: row[7], parameters: row[8], notice: notice,
                createdAt: Timestamp(milliseconds: row[11])))
    }

    private static func referral(_ row: Row, of invitation: InvitationID) throws -> Referral {
        guard let id = SixteenBytes(row[1] as [UInt8]), let state = ReferralState(rawValue: row[2]) else {
            throw StoreError.invalid("a referral")
        }
        return Referral(
            id: ReferralID(id), invitation: invitation,
            progress: ReferralProgress(state, rejection: (row[3] as Int?).flatMap(ReferralRejection.init)),
            confidence: (row[4] as Int?).flatMap(MatchConfidence.init),
            invitee: (row[5] as String?).flatMap(UserID.init), changedAt: Timestamp(milliseconds: row[6]))
    }
}
