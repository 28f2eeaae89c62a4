import PushModel
import Store
import TestSupport
import Testing

private let alice = UserID(rawValue: "alice")!
private let bob = UserID(rawValue: "bob")!

extension ConformanceCase {
    static let owners: [ConformanceCase] = [
        ConformanceCase("a user is kept by a refresh that says none, and found by the user") { scene in
            let made = try await scene.register(1, of: .user(alice), at: 1)
            #expect(made.user == alice)
            let again = try await scene.store.register(scene.request(1), at: Timestamp(milliseconds: 2))
            #expect(again.registration.key == made.key && again.registration.user == alice && !again.isNew)
            let second = try await scene.register(2, of: .user(alice), at: 3)
            _ = try await scene.register(3, of: .user(bob), at: 3)
            _ = try await scene.register(4, at: 3)
            let found = try await scene.store.registrations(of: alice, in: scene.project, limit: 9)
            #expect(found.map(\.key) == [made.key, second.key])
            #expect(try await scene.store.registrations(of: alice, in: scene.project, limit: 1).count == 1)
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.registrations(of: alice, in: other, limit: 9) == [])
            try await scene.store.end(
                made.key, RegistrationEnd(time: Timestamp(milliseconds: 4), cause: .deleted))
            #expect(try await scene.store.registrations(of: alice, in: scene.project, limit: 9) == [second])
        },
        ConformanceCase("a user that is first said stays with the registration, and is told by the audit") { scene in
            let made = try await scene.register(1)
            let same = try await scene.register(1, of: .user(alice), at: 5)
            #expect(same.key == made.key && same.user == alice)
            let entries = try await scene.store.audit(of: made.id, in: scene.project, limit: 9)
            #expect(entries.map(\.cause) == [.userAssigned])
            #expect(entries.first?.user == alice && entries.first?.former == nil)
            // The same once more is no change.
            _ = try await scene.register(1, of: .user(alice), at: 6)
            #expect(try await scene.store.audit(of: made.id, in: scene.project, limit: 9).count == 1)
        },
        ConformanceCase("another user of a device gets a registration without topics and queue of the one before") {
            scene in
            for (number, owner) in [RegistrationOwner.user(bob), .noUser].enumerated() {
                let topic = Scene.topic("news")
                let old = try await scene.register(number, of: .user(alice), at: 1)
                _ = try await scene.store.subscribe([old.key], to: topic, at: Timestamp(milliseconds: 1))
                _ = try await scene.send(to: old)
                let time = Timestamp(milliseconds: 7)
                let next = try await scene.store.register(scene.request(number, owner: owner), at: time)
                #expect(next.isNew && next.registration.key > old.key && next.registration.user == owner.user)
                #expect(next.registration.id != old.id && next.registration.token != old.token)
                #expect(next.registration.deviceToken == old.deviceToken)
                let ended = try await scene.store.registration(old.id, in: scene.project)
                #expect(ended?.end == RegistrationEnd(time: time, cause: .replaced))
                #expect(try await scene.store.subscriptions(of: next.registration.key, after: nil, limit: 9) == [])
                // What was queued is claimed for the registration that ended: it is not sent.
                let due = try await scene.claimDue(.interactive)
                #expect(due.map(\.registration.key) == [old.key] && due.first?.registration.isActive == false)
                try await scene.settle(due.map { $0.ended(.rejected, reason: "Unregistered") })
                for id in [old.id, next.registration.id] {
                    let entries = try await scene.store.audit(of: id, in: scene.project, limit: 9)
                    #expect(
                        entries.first
                            == RegistrationAudit(
                                time: time, cause: .userChanged, app: scene.app, registration: next.registration.id,
                                former: old.id, user: owner.user, formerUser: alice))
                    #expect(entries.dropFirst().map(\.cause) == (id == old.id ? [.userAssigned] : []))
                }
            }
        },
        ConformanceCase("a change to another user answers with the registration that took the place") { scene in
            let old = try await scene.register(1, of: .user(alice), at: 1)
            let next = try #require(
                try await scene.store.change(
                    old.key, RegistrationChange(appVersion: "9", owner: .user(bob)), at: Timestamp(milliseconds: 5)))
            #expect(next.key != old.key && next.user == bob && next.appVersion == "9" && next.isActive)
            #expect(next.environment == old.environment)
            #expect(
                try await scene.store.change(old.key, RegistrationChange(), at: Timestamp(milliseconds: 6)) == nil)
        },
        ConformanceCase("what is known of the device's token stays when its user changes") { scene in
            let old = try await scene.register(1, of: .user(alice), at: 1)
            _ = try await scene.send(to: old)
            try await scene.settle(
                try await scene.claimDue(.interactive).map {
                    $0.ended(verdict: .proven(in: .apns(.production)), at: 3000)
                })
            let next = try await scene.register(1, of: .user(bob), at: 4000)
            #expect(next.key != old.key && next.provenAt == Timestamp(milliseconds: 3000))
        },
        ConformanceCase("a device token that moves is told by the audit of both") { scene in
            let old = try await scene.register(1, of: .user(alice), at: 1)
            let new = try await scene.register(2, of: .user(bob), at: 1)
            _ = try await scene.store.change(
                new.key, RegistrationChange(address: .deviceToken(old.deviceToken)), at: Timestamp(milliseconds: 7))
            for id in [old.id, new.id] {
                let entries = try await scene.store.audit(of: id, in: scene.project, limit: 9)
                #expect(entries.map(\.cause) == [.deviceTokenMoved, .userAssigned])
                #expect(entries.first?.registration == new.id && entries.first?.former == old.id)
                #expect(entries.first?.user == bob && entries.first?.formerUser == alice)
            }
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.audit(of: new.id, in: other, limit: 9) == [])
        },
        ConformanceCase("many users taking turns on a device at once leave one registration and a whole chain") {
            scene in
            let users = (0..<8).map { UserID(rawValue: "user \($0)")! }
            let store = scene.store
            let request = scene.request(1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for user in users {
                    group.addTask {
                        var request = request
                        request.owner = .user(user)
                        _ = try await store.register(request, at: Timestamp(milliseconds: 5))
                    }
                }
                try await group.waitForAll()
            }
            var active: [Registration] = []
            for user in users {
                active += try await scene.store.registrations(of: user, in: scene.project, limit: 9)
            }
            let last = try #require(active.first)
            #expect(active.count == 1)
            var id = last.id
            var steps = 0
            while let entry = try await scene.store.audit(of: id, in: scene.project, limit: 9)
                .first(where: { $0.registration == id }), let former = entry.former
            {
                id = former
                steps += 1
            }
            #expect(steps == users.count - 1)
        },
    ]

    static let lifeCycle: [ConformanceCase] = [
        ConformanceCase("registrations are listed in pages by state") { scene in
            var made: [Registration] = []
            for number in 0..<7 { made.append(try await scene.register(number, at: Int64(10 * number))) }
            try await scene.store.end(
                made[2].key, RegistrationEnd(time: Timestamp(milliseconds: 99), cause: .deleted))
            let active = [0, 1, 3, 4, 5, 6].map { made[$0].key }
            #expect(try await scene.list(.active, 3) == active)
            #expect(try await scene.list(.active, 6) == active)
            #expect(
                try await scene.list(.stale(before: Timestamp(milliseconds: 40)), 1) == [0, 1, 3].map { made[$0].key })
            #expect(try await scene.list(.quarantined, 3) == [])
            #expect(try await scene.list(.user(alice), 3) == [])
            let store = scene.store
            let project = scene.project
            try await expectStoreError(.badCursor) {
                _ = try await store.registrations(in: project, .active, after: "x", limit: 3)
            }
        },
        ConformanceCase("registrations of several apps are listed in the order of their keys") { scene in
            var keys: [RegistrationKey] = []
            for number in 0..<9 {
                var request = scene.request(number)
                request.app = AppID(rawValue: "com.example.app\(number % 3)")!
                keys.append(
                    try await scene.store.register(request, at: Timestamp(milliseconds: 1)).registration.key)
            }
            #expect(try await scene.list(.active, 2) == keys)
        },
        ConformanceCase("many are found by name in order, in their own project only") { scene in
            let first = try await scene.register(1)
            let second = try await scene.register(2)
            // Right but for its end.
            let stranger = RegistrationReference.token(
                RegistrationToken(rawValue: String(first.token.rawValue.dropLast()))!)
            let names: [RegistrationReference] = [.token(second.token), .id(first.id), stranger, .token(first.token)]
            #expect(
                try await scene.store.registrations(named: names, in: scene.project) == [second, first, nil, first])
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.registrations(named: names, in: other) == [nil, nil, nil, nil])
        },
        ConformanceCase("what ended long ago is purged in steps, what waits and what is active is not") { scene in
            var made: [Registration] = []
            for number in 0..<6 { made.append(try await scene.register(number)) }
            for (number, registration) in made.enumerated().dropLast() {
                try await scene.store.end(
                    registration.key, RegistrationEnd(time: Timestamp(milliseconds: Int64(number)), cause: .deleted))
            }
            let limit = Timestamp(milliseconds: 4)
            #expect(try await scene.store.purge(endedBefore: limit, limit: 3) == 3)
            #expect(try await scene.store.purge(endedBefore: limit, limit: 3) == 1)
            #expect(try await scene.store.purge(endedBefore: limit, limit: 3) == 0)
            for registration in made.prefix(4) {
                #expect(try await scene.store.registration(registration.id, in: scene.project) == nil)
            }
            #expect(try await scene.store.registration(made[4].id, in: scene.project)?.isActive == false)
            #expect(try await scene.store.registration(made[5].id, in: scene.project)?.isActive == true)
            let next = try await scene.register(9)
            #expect(next.key > made[5].key, "keys are not used again")
        },
        ConformanceCase("a registration that a delivery waits for is not purged") { scene in
            let made = try await scene.register(1)
            _ = try await scene.send(to: made)
            try await scene.store.end(
                made.key, RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            #expect(try await scene.store.purge(endedBefore: Timestamp(milliseconds: 9), limit: 9) == 0)
            #expect(try await scene.claimDue(.interactive).map(\.registration.key) == [made.key])
        },
        ConformanceCase("the audit outlives the registrations") { scene in
            let old = try await scene.register(1, of: .user(alice), at: 1)
            let new = try await scene.register(1, of: .user(bob), at: 2)
            #expect(try await scene.store.purge(endedBefore: Timestamp(milliseconds: 9), limit: 9) == 1)
            #expect(
                try await scene.store.audit(of: old.id, in: scene.project, limit: 9).map(\.registration)
                    == [new.id, old.id])
            // A year later it goes.
            let later = Timestamp(milliseconds: 366 * 86_400_000)
            _ = try await scene.store.purge(endedBefore: later, limit: 9)
            #expect(try await scene.store.audit(of: old.id, in: scene.project, limit: 9) == [])
        },
    ]
}

extension Scene {
    func register(_ number: Int, of owner: RegistrationOwner, at time: Int64) async throws -> Registration {
        try await store.register(request(number, owner: owner), at: Timestamp(milliseconds: time)).registration
    }

    /// All pages of a list.
    func list(_ filter: RegistrationFilter, _ limit: Int) async throws -> [RegistrationKey] {
        var keys: [RegistrationKey] = []
        var cursor: String?
        repeat {
            let page = try await store.registrations(in: project, filter, after: cursor, limit: limit)
            #expect(page.elements.count <= limit)
            keys += page.elements.map(\.key)
            cursor = page.nextCursor
        } while cursor != nil
        return keys
    }
}
