import PushModel
import Store
import StoreConformance
import Testing

/// The fake store accepts messages, gives out deliveries and ends them as every store does.
@Suite(.timeLimit(.minutes(1)))
struct FakeStoreTests {
    @Test(arguments: AcceptCase.all)
    func theFakeStoreConforms(to claim: AcceptCase) async throws {
        let store = FakeStore()
        let registration = Sample.registration(1)
        await store.add(registration)
        try await claim.run(
            on: AcceptSubject(
                store: store, project: Sample.projectID, registration: (registration.key, registration.id)))
        #expect(await store.violations == [])
    }

    @Test(arguments: LeaseCase.all)
    func theFakeStoreConforms(to claim: LeaseCase) async throws {
        let store = FakeStore()
        let leaseTime = LeaseTime()
        store.countLeases { leaseTime.now }
        await store.add(Sample.registration(1))
        try await claim.run(
            on: LeaseSubject(store: store, leaseTime: leaseTime, registration: Sample.registration(1)))
        #expect(await store.violations == [])
    }
}
