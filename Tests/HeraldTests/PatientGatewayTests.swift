import Testing

@testable import herald

/// How a gateway waits for a disk at its start.
@Suite(.timeLimit(.minutes(5)))
struct PatientGatewayTests {
    private static func full(_ number: Int) -> Failure {
        var failure = Failure(.inputOutput, "full \(number)")
        failure.mayPass = true
        return failure
    }

    @Test func eachFailureOfTheDiskIsWaitedFor() async throws {
        var attempts = 0
        var waits: [String] = []
        let opened = try await PatientGateway.opened { () throws(Failure) -> Int in
            attempts += 1
            if attempts <= 3 { throw Self.full(attempts) }
            return attempts
        } waiting: { failure in
            waits.append(failure.message)
            return true
        }
        #expect(opened == 4)
        #expect(waits == ["full 1", "full 2", "full 3"])
    }

    @Test func aPermanentFailureEndsTheWait() async throws {
        var attempts = 0
        await #expect(throws: Failure(.configuration, "wrong")) {
            _ = try await PatientGateway.opened { () throws(Failure) -> Int in
                attempts += 1
                throw attempts == 1 ? Self.full(1) : Failure(.configuration, "wrong")
            } waiting: { _ in
                true
            }
        }
        #expect(attempts == 2)
    }

    @Test func aStoppedGatewayOpensNothingMore() async throws {
        var attempts = 0
        let opened = try await PatientGateway.opened { () throws(Failure) -> Int in
            attempts += 1
            throw Self.full(attempts)
        } waiting: { _ in
            false
        }
        #expect(opened == nil)
        #expect(attempts == 1)
    }
}
