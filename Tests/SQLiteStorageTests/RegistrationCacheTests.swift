import Logging
import PushModel
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What is remembered of registrations is what the database has.
@Suite(.timeLimit(.minutes(5)))
struct RegistrationCacheTests {
    private let project = ProjectID(rawValue: "demo")!
    private let cache = RegistrationCache(number: 5)

    private func registration(_ key: Int64) -> Registration {
        let id = RegistrationID(rawValue: "cdefghijklmnopqrstuvwx")!
        return Registration(
            key: RegistrationKey(rawValue: key), id: id, token: RegistrationToken(rawValue: "\(id):APA91bkey\(key)")!,
            project: project, app: AppID(rawValue: "com.example.app")!,
            address: .apple(DeviceToken(bytes: [1, UInt8(truncatingIfNeeded: key)])!, .production), appVersion: nil,
            createdAt: Timestamp(seconds: 1), refreshedAt: Timestamp(seconds: 1), end: nil)
    }

    private func name(_ registration: Registration) -> RegistrationReference { .token(registration.token) }

    @Test func whatWasReadBeforeAChangeStaysOut() {
        let one = registration(1)
        cache.insert(one, as: name(one), number: 5)
        #expect(cache.find(name(one), in: project) == one)
        cache.forget(.these([1]), number: 6)
        #expect(cache.find(name(one), in: project) == nil)
        // A look-up that began before the commit.
        cache.insert(one, as: name(one), number: 5)
        #expect(cache.find(name(one), in: project) == nil)
        cache.insert(one, as: name(one), number: 6)
        #expect(cache.find(name(one), in: project) == one)
    }

    @Test func aChangeByAnotherProcessForgetsWhatMayBeOld() {
        let (one, two) = (registration(1), registration(2))
        cache.insert(one, as: name(one), number: 5)
        cache.insert(two, as: name(two), number: 7)
        #expect(cache.find(name(one), in: project) == nil)
        #expect(cache.find(name(two), in: project) == two)
        #expect(cache.number == 7)
        cache.forget(.any, number: 9)
        #expect(cache.find(name(two), in: project) == nil)
    }

    @Test func whatHasEndedIsLookedUp() {
        var one = registration(1)
        one.end = RegistrationEnd(time: Timestamp(seconds: 2), cause: .deleted)
        cache.insert(one, as: name(one), number: 5)
        #expect(cache.find(name(one), in: project) == nil)
    }

    @Test func itDoesNotGrowWithoutEnd() {
        for key in 1...Int64(RegistrationCache.limit + 1) {
            let next = registration(key)
            cache.insert(next, as: name(next), number: 5)
        }
        let (first, last) = (registration(1), registration(Int64(RegistrationCache.limit + 1)))
        #expect(cache.find(name(first), in: project) == nil)
        #expect(cache.find(name(last), in: project) == last)
    }

    @Test func anotherProcessEndsARegistration() async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        let command = try SQLiteStore(directory: directory.path, role: .command, logger: Logger(label: "test"))
        let request = RegistrationRequest(
            project: project, app: AppID(rawValue: "com.example.app")!,
            address: .apple(DeviceToken(bytes: [1, 2])!, .production), appVersion: nil)
        let made = try await store.register(request, at: Timestamp(seconds: 1)).registration
        #expect(try await store.addressee(.id(made.id), in: project) == made)
        try await command.end(made.key, RegistrationEnd(time: Timestamp(seconds: 2), cause: .deleted))
        // Any commit of its own tells the store.
        _ = try await store.subscribe([], to: Topic(rawValue: "news")!, at: Timestamp(seconds: 2))
        #expect(try await store.addressee(.id(made.id), in: project)?.isActive == false)
        try command.close()
        try store.close()
    }
}
