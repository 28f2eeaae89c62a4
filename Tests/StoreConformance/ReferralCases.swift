import PushModel
import Store
import Testing

private let alice = UserID(rawValue: "alice")!
private let bob = UserID(rawValue: "bob")!
private let other = ProjectID(rawValue: "other")!

extension Scene {
    fileprivate func invite(
        _ inviter: UserID = alice, _ campaign: String = "spring", code: String? = nil, notice: InviterNotice? = nil
    ) async throws -> Invitation {
        try await store.invite(
            Invitation(
                id: .random(), project: project, inviter: inviter, code: code ?? "\(InvitationID.random())",
                campaign: campaign, prefix: "go.example.com", parameters: "link=https%3A%2F%2Fa.example%2F",
                notice: notice, createdAt: Timestamp(milliseconds: 500))
        ).invitation
    }

    /// A friend clicks and opens the app for the first time.
    fileprivate func open(
        _ invitation: Invitation, address: UInt8 = 7, confidence: MatchConfidence = .unique, at time: Int64 = 2000,
        rules: ReferralRules = ReferralRules()
    ) async throws -> ReferralID {
        let click = click(at: time - 100, invitation: invitation.id, address: address)
        try await store.add([click])
        var attribution = attribution(
            of: click, confidence: confidence, invitation: invitation.id, address: address, at: time)
        attribution.rules = rules
        guard case .attributed(let referral?) = try await store.attribute(attribution) else {
            throw StoreError(.failed, "The install was not attributed.")
        }
        return referral
    }

    fileprivate func convert(
        _ id: ReferralID, by invitee: UserID? = nil, rules: ReferralRules = ReferralRules(), at time: Int64 = 3000
    ) async throws -> ReferralChange {
        try #require(
            try await store.change(
                id, in: project, .conversion(invitee: invitee), rules, at: Timestamp(milliseconds: time)))
    }

    fileprivate func steps() async throws -> [ReferralStep] {
        try await store.events(after: .zero, EventFilter(), limit: 100).events.compactMap { event in
            if case .referral(let step) = event.kind { step } else { nil }
        }
    }

    fileprivate func counts(of inviter: UserID? = nil, campaign: String? = nil) async throws -> [ReferralCounts] {
        try await store.referralCounts(of: project, inviter: inviter, campaign: campaign, limit: 10)
    }
}

extension ConformanceCase {
    static let referrals: [ConformanceCase] = [
        ConformanceCase("an inviter has one code, and one invitation for each campaign") { scene in
            let first = try await scene.invite(code: "CODE1")
            let notice = InviterNotice(title: "Joined", body: "Your friend is here")
            let again = try await scene.invite(code: "CODE2", notice: notice)
            #expect(again.id == first.id && again.code == "CODE1" && again.notice == notice)
            let second = try await scene.invite(alice, "summer", code: "CODE3")
            #expect(second.id != first.id && second.code == "CODE1")
            #expect(try await scene.invite(bob, code: "CODE4").code == "CODE4")
            try await scene.crash()
            #expect(try await scene.store.invitation(first.id) == again)
            #expect(try await scene.store.invitation(.random()) == nil)
            #expect(try await scene.steps().map(\.state) == [.invited, .invited, .invited])
        },
        ConformanceCase("a referral goes from the click to the reward, with an event for each step, through a crash") {
            scene in
            let invitation = try await scene.invite()
            let id = try await scene.open(invitation)
            try await scene.crash()
            let opened = try #require(try await scene.store.referral(id, in: scene.project))
            #expect(opened.referral.progress.state == .firstOpen && opened.referral.confidence == .unique)
            #expect(opened.invitation == invitation)
            #expect(try await scene.store.referral(id, in: other) == nil)
            let change = try await scene.convert(id, by: bob)
            #expect(change.steps == [.converted, .rewarded] && change.referral.invitee == bob)
            #expect(try await scene.convert(id, by: bob).steps == [], "once")
            try await scene.crash()
            #expect(try await scene.convert(id).steps == [], "once, after a crash too")
            let steps = try await scene.steps()
            #expect(steps.map(\.state) == [.invited, .clicked, .installed, .firstOpen, .converted, .rewarded])
            #expect(
                steps.allSatisfy { $0.invitation == invitation.id && $0.referral == ($0.state == .invited ? nil : id) })
        },
        ConformanceCase("clicks that come again and installs of the same click count once") { scene in
            let invitation = try await scene.invite()
            let click = scene.click(invitation: invitation.id)
            try await scene.store.add([click])
            try await scene.store.add([click])
            _ = try await scene.store.attribute(scene.attribution(of: click, invitation: invitation.id))
            let again = try await scene.store.attribute(scene.attribution(of: click, invitation: invitation.id))
            #expect(again == .clickTaken)
            let counts = try await scene.counts()
            #expect(counts.map(\.clicked) == [1] && counts.map(\.opened) == [1])
            #expect(try await scene.steps().map(\.state) == [.invited, .clicked, .installed, .firstOpen])
        },
        ConformanceCase("an install without a known click begins its referral, and earns no reward by itself") {
            scene in
            let invitation = try await scene.invite()
            let result = try await scene.store.attribute(scene.attribution(of: nil, invitation: invitation.id))
            guard case .attributed(let id?) = result else {
                Issue.record("\(result)")
                return
            }
            let change = try await scene.convert(id)
            #expect(change.steps == [.converted] && change.referral.confidence == .standard)
            #expect(try await scene.counts().map(\.pending) == [1])
        },
        ConformanceCase("a match that is not proven waits for a decision") { scene in
            let invitation = try await scene.invite()
            for (decision, state) in [(ReferralDecision.grant, ReferralState.rewarded), (.decline, .rejected)] {
                let id = try await scene.open(invitation, confidence: .standard)
                let early = try await scene.store.change(
                    id, in: scene.project, .grant, ReferralRules(), at: Timestamp(milliseconds: 2500))
                #expect(early?.steps == [], "nothing to grant yet")
                #expect(try await scene.convert(id).steps == [.converted])
                let change = try await scene.store.change(
                    id, in: scene.project, decision, ReferralRules(), at: Timestamp(milliseconds: 4000))
                #expect(change?.steps == [state])
            }
            #expect(try await scene.steps().last?.rejection == .declined)
            let unknown = try await scene.store.change(
                .random(), in: scene.project, .grant, ReferralRules(), at: Timestamp(milliseconds: 1))
            #expect(unknown == nil)
        },
        ConformanceCase("inviters are not their own invitees, and an invitee counts once") { scene in
            let invitation = try await scene.invite()
            let own = try await scene.convert(scene.open(invitation), by: alice)
            #expect(own.steps == [.rejected] && own.referral.progress.rejection == .selfInvitation)
            _ = try await scene.convert(scene.open(invitation, address: 8), by: bob)
            let second = try await scene.convert(scene.open(invitation, address: 9), by: bob)
            #expect(second.referral.progress.rejection == .inviteeKnown)
        },
        ConformanceCase("too many from one address, too many at once and too many rewards are rejected") { scene in
            let invitation = try await scene.invite()
            var rules = ReferralRules()
            (rules.openingsPerAddress, rules.openingsPerHour, rules.rewardsPerDay) = (2, 4, 1)
            var rejections: [ReferralRejection?] = []
            var ids: [ReferralID] = []
            for address in [1, 1, 1, 2, 3] as [UInt8] {
                let id = try await scene.open(invitation, address: address, rules: rules)
                ids.append(id)
                rejections.append(
                    try await scene.store.referral(id, in: scene.project)?.referral.progress.rejection)
            }
            #expect(rejections == [nil, nil, .addressCluster, nil, .velocity])
            #expect(try await scene.convert(ids[0], rules: rules).steps == [.converted, .rewarded])
            #expect(try await scene.convert(ids[1], rules: rules).referral.progress.rejection == .dailyCap)
            let day: Int64 = 86_400_000
            #expect(try await scene.convert(ids[3], rules: rules, at: 3000 + day).steps == [.converted, .rewarded])
            // Another inviter has limits of their own.
            let others = try await scene.open(scene.invite(bob), address: 1, rules: rules)
            #expect(try await scene.store.referral(others, in: scene.project)?.referral.progress.rejection == nil)
        },
        ConformanceCase("invitations of another project lead to nothing") { scene in
            let invitation = try await scene.invite()
            var attribution = scene.attribution(of: nil, invitation: invitation.id)
            attribution.project = other
            #expect(try await scene.store.attribute(attribution) == .attributed(nil))
            #expect(try await scene.steps().map(\.state) == [.invited])
        },
        ConformanceCase("figures are by inviter and campaign") { scene in
            let (spring, summer) = (try await scene.invite(), try await scene.invite(alice, "summer"))
            let bobs = try await scene.invite(bob)
            _ = try await scene.convert(scene.open(spring))
            _ = try await scene.open(summer)
            try await scene.store.add([scene.click(invitation: bobs.id)])
            let all = try await scene.counts()
            #expect(all.map(\.invitation) == [spring.id, summer.id, bobs.id])
            #expect(all.map(\.clicked) == [1, 1, 1] && all.map(\.opened) == [1, 1, 0])
            #expect(all.map(\.converted) == [1, 0, 0] && all.map(\.rewarded) == [1, 0, 0])
            #expect(try await scene.counts(of: bob).map(\.invitation) == [bobs.id])
            #expect(try await scene.counts(campaign: "summer").map(\.invitation) == [summer.id])
            #expect(try await scene.counts(of: bob, campaign: "summer").isEmpty)
        },
        ConformanceCase("referrals that may convert are listed, the oldest first") { scene in
            let invitation = try await scene.invite()
            let ids = [try await scene.open(invitation, address: 1), try await scene.open(invitation, address: 2)]
            #expect(try await scene.store.openReferrals(of: invitation.id, limit: 9).map(\.id) == ids)
            _ = try await scene.convert(ids[0])
            #expect(try await scene.store.openReferrals(of: invitation.id, limit: 9).map(\.id) == [ids[1]])
        },
        ConformanceCase("a user who is erased leaves neither invitations nor a name") { scene in
            let invitation = try await scene.invite()
            let id = try await scene.open(invitation)
            _ = try await scene.convert(id, by: bob)
            #expect(try await scene.store.eraseReferrals(of: bob, in: other) == 0)
            #expect(try await scene.store.eraseReferrals(of: bob, in: scene.project) == 1)
            #expect(try await scene.store.referral(id, in: scene.project)?.referral.invitee == nil)
            #expect(try await scene.store.eraseReferrals(of: alice, in: scene.project) == 1)
            #expect(try await scene.store.invitation(invitation.id) == nil)
            #expect(try await scene.store.referral(id, in: scene.project) == nil)
            #expect(try await scene.counts().isEmpty)
            #expect(try await scene.steps().count == 6, "events name ids only")
        },
        ConformanceCase("referrals that came no further than a click are forgotten, their clicks stay counted") {
            scene in
            let invitation = try await scene.invite()
            try await scene.store.add((1...3).map { scene.click(at: Int64($0) * 100, invitation: invitation.id) })
            let opened = try await scene.open(invitation, at: 400)
            let time = Timestamp(milliseconds: 1000)
            #expect(try await scene.store.forgetReferrals(clickedBefore: time, limit: 2) == 2)
            #expect(try await scene.store.forgetReferrals(clickedBefore: time, limit: 2) == 1)
            #expect(try await scene.store.referral(opened, in: scene.project) != nil)
            #expect(try await scene.counts().map(\.clicked) == [4])
        },
    ]
}
