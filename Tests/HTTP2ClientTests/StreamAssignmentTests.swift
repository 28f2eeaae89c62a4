import Testing

@testable import HTTP2Client

struct StreamAssignmentTests {
    private final class FakeSource: StreamSource {
        var freeStreams: Int
        var freeNormalStreams: Int
        var openStreams: Int
        var isProven = true
        var isDraining = false

        init(free: Int, open: Int = 0) {
            freeStreams = free
            freeNormalStreams = free
            openStreams = open
        }
    }

    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func urgent(_ action: StreamAssignment<FakeSource>.Action?) -> FakeSource? {
        if case .openUrgent(let source)? = action { source } else { nil }
    }

    private func normal(_ action: StreamAssignment<FakeSource>.Action?) -> FakeSource? {
        if case .openNormal(let source)? = action { source } else { nil }
    }

    @Test func requestsGoWhereMostStreamsAreFreeUrgentOnesFirst() {
        let sources = [FakeSource(free: 3), FakeSource(free: 7), FakeSource(free: 0)]
        let assignment = StreamAssignment<FakeSource>()
        #expect(urgent(assignment.next(among: sources, hasUrgent: true, hasNormal: true)) === sources[1])
        #expect(normal(assignment.next(among: sources, hasUrgent: false, hasNormal: true)) === sources[1])
        #expect(assignment.next(among: sources, hasUrgent: false, hasNormal: false) == nil)
        #expect(assignment.next(among: [sources[2]], hasUrgent: true, hasNormal: true) == nil)
    }

    @Test func urgentRequestsWithoutAStreamDoNotHoldUpTheOthers() {
        let source = FakeSource(free: 0)
        source.freeNormalStreams = 2
        let assignment = StreamAssignment<FakeSource>()
        #expect(normal(assignment.next(among: [source], hasUrgent: true, hasNormal: true)) === source)
    }

    @Test func ofThreeWorkingConnectionsTheIdlestIsReservedForUrgentRequests() {
        let sources = [FakeSource(free: 9, open: 5), FakeSource(free: 2, open: 1), FakeSource(free: 4, open: 3)]
        var assignment = StreamAssignment<FakeSource>()
        assignment.reserve(among: sources, hasUrgent: true, at: Self.start)
        #expect(assignment.reserved === sources[1])
        #expect(urgent(assignment.next(among: sources, hasUrgent: true, hasNormal: true)) === sources[1])
        #expect(assignment.freeNormalStreams(of: sources[1]) == 0)
        #expect(normal(assignment.next(among: sources, hasUrgent: false, hasNormal: true)) === sources[0])
        sources[1].freeStreams = 0
        #expect(urgent(assignment.next(among: sources, hasUrgent: true, hasNormal: true)) === sources[0])
    }

    @Test func twoConnectionsAreSharedByAll() {
        let sources = [FakeSource(free: 9), FakeSource(free: 2), FakeSource(free: 4)]
        sources[2].isProven = false
        var assignment = StreamAssignment<FakeSource>()
        assignment.reserve(among: sources, hasUrgent: true, at: Self.start)
        #expect(assignment.reserved == nil)
    }

    @Test func theReservationEndsTenSecondsAfterTheLastUrgentRequest() {
        let sources = (0..<3).map { _ in FakeSource(free: 1) }
        var assignment = StreamAssignment<FakeSource>()
        assignment.reserve(among: sources, hasUrgent: true, at: Self.start)
        assignment.reserve(among: sources, hasUrgent: false, at: Self.start.adding(.milliseconds(9_999)))
        #expect(assignment.reserved != nil)
        #expect(assignment.allowsExtra(beyond: 3, at: Self.start.adding(.seconds(299))))
        #expect(!assignment.allowsExtra(beyond: 2, at: Self.start.adding(.seconds(299))))
        assignment.reserve(among: sources, hasUrgent: false, at: Self.start.adding(.seconds(10)))
        #expect(assignment.reserved == nil)
        #expect(!assignment.allowsExtra(beyond: 3, at: Self.start.adding(.seconds(300))))
    }

    @Test func aReservedConnectionThatDrainsOrIsGoneIsReplaced() {
        let sources = (0..<4).map { FakeSource(free: 1, open: $0) }
        var assignment = StreamAssignment<FakeSource>()
        assignment.reserve(among: sources, hasUrgent: true, at: Self.start)
        sources[0].isDraining = true
        assignment.reserve(among: sources, hasUrgent: true, at: Self.start)
        #expect(assignment.reserved === sources[1])
        assignment.remove(sources[1])
        #expect(assignment.reserved == nil)
    }
}

struct ConnectionStandingTests {
    @Test func theFirstProofIsNews() {
        var standing = ConnectionStanding.unproven
        #expect(standing.isFailureDue && !standing.isProven)
        let proofs = [standing.prove(), standing.prove()]
        #expect(proofs == [true, false] && standing == .proven && !standing.isFailureDue)
    }

    @Test func aSlowFirstAnswerIsCountedOnceAndStillProves() {
        var standing = ConnectionStanding.unproven
        let counted = [standing.giveUp(), standing.giveUp()]
        #expect(counted == [true, false] && !standing.isFailureDue)
        let isNews = standing.prove()
        #expect(isNews && standing == .proven)
    }

    @Test func aRetiredConnectionIsNeitherAFailedDialNorAnEarlyEnd() {
        var unproven = ConnectionStanding.unproven
        unproven.retire()
        #expect(!unproven.isFailureDue)
        let (isNews, isCounted) = (unproven.prove(), unproven.leave())
        #expect(isNews && !isCounted)
        var proven = ConnectionStanding.proven
        proven.retire()
        let isProvenCounted = proven.leave()
        #expect(!isProvenCounted)
    }

    @Test func anEarlyEndIsCountedOnceAndLastingToo() {
        var standing = ConnectionStanding.proven
        let left = [standing.leave(), standing.leave()]
        let lasted = [standing.last(), standing.last()]
        #expect(left == [true, false] && lasted == [true, false])
        #expect(standing == .lasted && standing.isProven)
    }
}
