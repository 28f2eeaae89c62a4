import Store
import Testing

struct ReferralProgressTests {
    private static let events: [ReferralEvent] = [
        .click, .firstOpen, .conversion(.unique), .conversion(.weak), .rejection(.velocity), .grant,
    ]

    @Test("a proven referral goes from the click to the reward")
    func proven() {
        var progress = ReferralProgress()
        #expect(progress.apply(.click) == [.clicked])
        #expect(progress.apply(.firstOpen) == [.installed, .firstOpen])
        #expect(progress.apply(.conversion(.unique)) == [.converted, .rewarded])
        #expect(progress.state == .rewarded && progress.rejection == nil)
    }

    @Test("any other waits for a decision", arguments: [MatchConfidence.weak, .standard])
    func waiting(confidence: MatchConfidence) {
        var progress = ReferralProgress(.firstOpen)
        #expect(progress.apply(.conversion(confidence)) == [.converted])
        #expect(progress.apply(.grant) == [.rewarded])
    }

    @Test("nothing leaves the end, and no event that comes again changes anything", arguments: ReferralState.allCases)
    func once(state: ReferralState) {
        for event in Self.events {
            var progress = ReferralProgress(state, rejection: state == .rejected ? .declined : nil)
            let steps = progress.apply(event)
            if state == .rewarded || state == .rejected { #expect(steps.isEmpty) }
            #expect(progress.apply(event).isEmpty, "\(state) \(event)")
            #expect(steps.last ?? state == progress.state)
            #expect((progress.rejection != nil) == (progress.state == .rejected))
        }
    }

    @Test("there is no conversion before the first opening", arguments: [ReferralState.invited, .clicked, .installed])
    func order(state: ReferralState) {
        var progress = ReferralProgress(state)
        #expect(progress.apply(.conversion(.unique)).isEmpty && progress.apply(.grant).isEmpty)
    }
}
