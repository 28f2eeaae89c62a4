import GRDB
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// Look-ups share snapshots, and see what was committed before they were asked for.
@Suite(.timeLimit(.minutes(5)))
struct LookupTests {
    private static let project = ProjectID(rawValue: "demo")!

    private func withStore(_ body: (SQLiteStore) async throws -> Void) async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(
            directory: directory.file("data"), role: .gateway,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        try await body(store)
        try store.close()
    }

    private func register(_ number: Int, in store: SQLiteStore) async throws -> Registration {
        let request = RegistrationRequest(
            project: Self.project, app: AppID(rawValue: "com.example.app")!,
            address: .apple(DeviceToken(bytes: [UInt8(number >> 8), UInt8(number & 0xff)])!, .production),
            appVersion: nil)
        return try await store.register(request, at: Timestamp(seconds: 1)).registration
    }

    @Test func whatWasAnsweredBeforeIsSeen() async throws {
        try await withStore { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let made = try await register(number, in: store)
                        #expect(try await store.registration(token: made.token, in: Self.project)?.key == made.key)
                        #expect(try await store.registration(made.id, in: Self.project)?.key == made.key)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func aLookUpThatFailsLeavesTheOthersAlone() async throws {
        try await withStore { store in
            let made = try await register(1, in: store)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask { () async throws -> Void in
                        guard number % 3 == 0 else {
                            #expect(try await store.registration(made.id, in: Self.project)?.key == made.key)
                            return
                        }
                        await #expect(throws: StoreError.self) {
                            try await store.lookUp { db in _ = try db.rows("SELECT * FROM nowhere") }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func aLookUpCanNotWrite() async throws {
        try await withStore { store in
            await #expect(throws: StoreError.self) {
                try await store.lookUp { db in try db.change("DELETE FROM registration") }
            }
            _ = try await register(1, in: store)
        }
    }

    @Test func aClosedStoreRefusesAll() async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(
            directory: directory.file("data"), role: .gateway,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        try store.close()
        for _ in 0..<3 {
            await #expect(throws: StoreError.self) {
                try await store.registration(RegistrationID(rawValue: "cabcdefghijklmnopqrstu")!, in: Self.project)
            }
        }
    }

    @Test func manyNamesComeBackInTheirOrder() async throws {
        try await withStore { store in
            var made: [Registration] = []
            for number in 0..<40 { made.append(try await register(number, in: store)) }
            try await store.end(made[3].key, RegistrationEnd(time: Timestamp(seconds: 2), cause: .deleted))
            // More than one snapshot's worth, by both names, with strangers and repeats among them.
            var references: [RegistrationReference] = []
            var expected: [RegistrationKey?] = []
            for number in 0..<1300 {
                let registration = made[number % made.count]
                switch number % 3 {
                case 0: references.append(.id(registration.id))
                case 1: references.append(.token(registration.token))
                default: references.append(.token(RegistrationToken(rawValue: "abcdefgh:unknown\(number)")!))
                }
                expected.append(number % 3 == 2 ? nil : registration.key)
            }
            let found = try await store.registrations(named: references, in: Self.project)
            #expect(found.map { $0?.key } == expected)
            #expect(found.compactMap { $0 }.first { $0.key == made[3].key }?.isActive == false)
            let foreign = try await store.registrations(named: references, in: ProjectID(rawValue: "other")!)
            #expect(foreign.allSatisfy { $0 == nil })
            #expect(try await store.registrations(named: [], in: Self.project).isEmpty)
        }
    }
}
