import PushModel
import Testing

@testable import Delivery

/// How projects share a lane, without a store's offers.
struct FairShareTests {
    private let projects = [
        LaneScheduleTests.project("a"), LaneScheduleTests.project("b", weight: 3), LaneScheduleTests.project("c"),
    ]

    private func share(inFlight: Int = 4000, working: Int) -> FairShare {
        var share = FairShare(LaneSize(inFlight: inFlight, claim: 100, leastRoom: 100, claims: 3))
        share.offered(to: projects, working: Set(projects.prefix(working).map(\.id)))
        return share
    }

    @Test func theProjectThatHasHadTheLeastIsFirst() {
        var share = share(working: 3)
        #expect(share.turns.map(\.rawValue) == ["a", "b", "c"])
        share.beginClaim(of: projects[0].id, taking: 100)
        #expect(share.turns.map(\.rawValue) == ["b", "c", "a"])
        share.beginClaim(of: projects[1].id, taking: 100)
        #expect(share.turns.map(\.rawValue) == ["c", "b", "a"])
    }

    @Test func aQuarterOfTheLaneStaysFreeForOthers() {
        var share = share(working: 1)
        #expect(share.room(of: projects[0].id) == 3000)
        share.beginClaim(of: projects[0].id, taking: 3000)
        #expect(share.room(of: projects[0].id) == 0)
        #expect(share.room(of: projects[1].id) == 1000)
    }

    @Test func aProjectFarAheadWaitsForTheClaimOfAnother() {
        var share = share(working: 2)
        share.beginClaim(of: projects[0].id, taking: 100)
        share.beginClaim(of: projects[1].id, taking: 100)
        #expect(!share.isAhead(projects[0].id))
        share.endClaim(of: projects[0].id, taking: 100, bringing: 300)
        #expect(share.isAhead(projects[0].id))
        share.endClaim(of: projects[1].id, taking: 100, bringing: 100)
        #expect(!share.isAhead(projects[0].id))
    }

    @Test func roomThatAClaimDidNotNeedComesBack() {
        var share = share(working: 1)
        share.beginClaim(of: projects[0].id, taking: 100)
        share.endClaim(of: projects[0].id, taking: 100, bringing: 40)
        #expect(share.inFlight == 40 && share.running == 0)
        share.giveBack(40, of: projects[0].id)
        #expect(share.inFlight == 0)
    }
}
