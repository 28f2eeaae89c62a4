import PushModel
import Store
import Testing

@testable import herald

/// Which version of the stored projects a gateway has in force.
@Suite(.timeLimit(.minutes(1)))
struct StoredProjectsStateTests {
    private static func version(_ number: Int64, keyCheck: [UInt8] = [1]) -> ProjectVersion {
        ProjectVersion(
            number: number, storedAt: Timestamp(milliseconds: number), credential: .command, note: "", program: "1.0",
            keyCheck: keyCheck)
    }

    @Test func aVersionIsNewUntilItIsTakenOrRefused() {
        let state = StoredProjectsState()
        #expect(state.isNew(Self.version(1)))
        state.take(Self.version(1))
        #expect(!state.isNew(Self.version(1)))
        // Sealed anew, or of a database that was restored.
        #expect(state.isNew(Self.version(1, keyCheck: [2])))
        state.refuse(Self.version(2), "unknown key")
        #expect(!state.isNew(Self.version(2)))
        #expect(state.standing == ProjectStanding(version: 1, problem: "version 2: unknown key"))
        #expect(state.refusedVersion == 2)
        state.tryAgain()
        #expect(state.isNew(Self.version(2)))
    }

    /// When the newest is the one in force again, there is nothing that could not be taken.
    @Test func aProblemEndsWithTheVersionThatHadIt() {
        let state = StoredProjectsState()
        state.take(Self.version(1))
        state.refuse(Self.version(2), "unknown key")
        state.confirm(Self.version(2))
        #expect(state.refusedVersion == 2)
        state.confirm(Self.version(1, keyCheck: [2]))
        #expect(state.refusedVersion == 2)
        state.confirm(Self.version(1))
        #expect(state.refusedVersion == nil && state.standing == ProjectStanding(version: 1))
    }
}
