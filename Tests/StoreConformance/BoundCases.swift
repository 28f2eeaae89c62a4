import PushModel
import Store
import TestSupport
import Testing

private let alice = UserID(rawValue: "alice")!
private let bob = UserID(rawValue: "bob")!
private let victim = RegistrationID(rawValue: "cInstallationOne000000")!
private let attacker = RegistrationID(rawValue: "dInstallationTwo000000")!
private let news = Scene.topic("news")

private func key(_ id: String) -> CredentialUse { CredentialUse(id: id, role: .client, address: "192.0.2.1") }

/// Registrations that belong to an installation: who names their device token gets nothing of them.
extension ConformanceCase {
    static let bound: [ConformanceCase] = [
        ConformanceCase("a registration is bound from its installation's first request on, also its next user's") {
            scene in
            let classic = try await scene.register(2)
            #expect(!classic.isBound)
            let made = try await scene.boundToVictim(.user(alice))
            #expect(made.isBound)
            let next = try #require(
                try await scene.store.change(
                    made.key, RegistrationChange(owner: .user(bob)), at: Timestamp(milliseconds: 7)))
            #expect(next.key != made.key && next.isBound)
            #expect(try await scene.store.registration(token: next.token, in: scene.project)?.isBound == true)
            // It stays so when the installation is forgotten.
            #expect(
                try await scene.store.forgetInstallations(unusedSince: Timestamp(milliseconds: 99), limit: 9) == 1)
            #expect(try await scene.store.registration(next.key)?.isBound == true)
            let other = try await scene.register(1, of: attacker, at: 200)
            #expect(other.key != next.key && other.user == nil)
            #expect(try await scene.store.registration(next.key)?.end?.cause == .superseded)
        },
        ConformanceCase("a new installation that names a held device token gets a fresh registration, and no more") {
            scene in
            let held = try await scene.boundToVictim(.user(alice))
            var request = scene.request(1)
            request.credential = ProvenCredential(key("x"), proofs: ["installation:y"])
            let fresh = try await scene.register(request, of: attacker, at: 50)
            #expect(fresh.key != held.key && fresh.id == attacker && fresh.token != held.token)
            #expect(fresh.user == nil && !fresh.isProven)
            #expect(try await scene.store.subscriptions(of: fresh.key, after: nil, limit: 9) == [])
            let ended = try #require(try await scene.store.registration(held.key))
            #expect(ended.end == RegistrationEnd(time: Timestamp(milliseconds: 50), cause: .superseded))
            #expect(ended.user == alice)
            // It is sent nothing meanwhile.
            #expect(try await scene.store.subscriptions(of: held.key, after: nil, limit: 9) == [])
            #expect(try await scene.store.topic(news, in: scene.project)?.subscribers == 0)
            #expect(try await scene.store.registrations(of: alice, in: scene.project, limit: 9) == [])
            let entry = try await scene.store.audit(of: held.id, in: scene.project, limit: 9).first
            #expect(
                entry
                    == RegistrationAudit(
                        time: Timestamp(milliseconds: 50), cause: .deviceTokenMoved, app: scene.app,
                        registration: attacker, former: held.id, user: nil, formerUser: alice,
                        credential: "apiKey:x installation:y"))
            let logged = try await scene.store.auditEntries(AuditFilter(), after: nil, limit: 1).elements.first
            #expect(logged?.action == .deviceTokenChanged && logged?.subject == attacker.rawValue)
            #expect(logged?.details["formerUser"] == "alice" && logged?.details["proof"] == "installation:y")
            #expect(logged?.credential == key("x"))
        },
        ConformanceCase("a superseded registration is taken back by its installation, with user and topics") { scene in
            let held = try await scene.boundToVictim(.user(alice))
            for round in 1...2 as ClosedRange<Int64> {
                let fresh = try await scene.register(1, of: attacker, at: round * 100)
                #expect(fresh.user == nil)
                let back = try await scene.register(1, of: victim, at: round * 100 + 50)
                #expect(back.key == held.key && back.id == victim && back.isActive && back.user == alice)
                #expect(back.token != held.token, "the old one was called unregistered")
                #expect(
                    try await scene.store.subscriptions(of: back.key, after: nil, limit: 9)
                        == [Subscription(topic: news, createdAt: Timestamp(milliseconds: 6))])
                #expect(try await scene.store.topic(news, in: scene.project)?.subscribers == 1)
                #expect(try await scene.store.registration(fresh.key)?.end?.cause == .superseded)
                #expect(try await scene.store.subscriptions(of: fresh.key, after: nil, limit: 9) == [])
            }
            // A broadcast finds it again.
            _ = try await scene.broadcast(news)
            #expect(try await scene.claimPage()?.deliveries.map(\.registration.key) == [held.key])
        },
        ConformanceCase("a topic that a superseded registration may take back is not purged as empty") { scene in
            let held = try await scene.boundToVictim(.user(alice))
            _ = try await scene.register(1, of: attacker, at: 100)
            for time in [200, 300] as [Int64] {
                let purged = try await scene.store.purgeTopics(
                    emptySince: Timestamp(milliseconds: time), at: Timestamp(milliseconds: time), limit: 10)
                #expect(purged == 0)
            }
            let back = try await scene.register(1, of: victim, at: 400)
            #expect(back.key == held.key)
            #expect(
                try await scene.store.subscriptions(of: back.key, after: nil, limit: 9)
                    == [Subscription(topic: news, createdAt: Timestamp(milliseconds: 6))])
        },
        ConformanceCase("what was superseded more than thirty days ago, or had another user, is not taken back") {
            scene in
            for (number, taker) in [RegistrationOwner.user(alice), .user(bob)].enumerated() {
                let id = number == 0 ? victim : attacker
                _ = try await scene.install(id, token: UInt8(number + 1))
                let held = try await scene.register(scene.request(number, owner: .user(alice)), of: id, at: 5)
                _ = try await scene.store.subscribe([held.key], to: news, at: Timestamp(milliseconds: 6))
                let mover = try await scene.register(number + 10)
                _ = try await scene.store.change(
                    mover.key, RegistrationChange(address: .deviceToken(held.deviceToken)),
                    at: Timestamp(milliseconds: 7))
                #expect(try await scene.store.registration(held.key)?.end?.cause == .superseded)
                let time = number == 0 ? 8 + RegistrationEnd.supersededLifetime.components.seconds * 1000 : 8
                let next = try await scene.register(scene.request(number, owner: taker), of: id, at: time)
                #expect(next.user == taker.user)
                #expect(try await scene.store.subscriptions(of: next.key, after: nil, limit: 9) == [])
            }
        },
        ConformanceCase("an installation that takes over a device token supersedes, and what it had before goes on") {
            scene in
            let held = try await scene.boundToVictim(.user(alice))
            _ = try await scene.install(attacker, token: 2)
            let own = try await scene.register(2, of: attacker, at: 10)
            let moved = try await scene.register(1, of: attacker, at: 11)
            #expect(moved.key == own.key && moved.user == nil)
            #expect(try await scene.store.registration(held.key)?.end?.cause == .superseded)
            let rotated = try await scene.register(3, of: victim, at: 12)
            #expect(rotated.key == held.key && rotated.deviceToken == Scene.deviceToken(3) && rotated.user == alice)
            let causes = try await scene.store.audit(of: victim, in: scene.project, limit: 9).map(\.cause)
            #expect(causes == [.deviceTokenChanged, .deviceTokenMoved, .userAssigned])
        },
        ConformanceCase("without an installation a bound registration is refreshed only for who may") { scene in
            let held = try await scene.boundToVictim(.user(alice))
            let refreshed = try await scene.store.register(scene.request(1), at: Timestamp(milliseconds: 9))
            #expect(refreshed.registration.key == held.key && !refreshed.isNew)
            var request = scene.request(1)
            request.refreshesBound = false
            let fresh = try await scene.store.register(request, at: Timestamp(milliseconds: 10))
            #expect(fresh.isNew && fresh.registration.user == nil && fresh.registration.token != held.token)
            #expect(!fresh.registration.isBound)
            #expect(try await scene.store.registration(held.key)?.end?.cause == .superseded)
            let again = try await scene.store.register(request, at: Timestamp(milliseconds: 11))
            #expect(again.registration.key == fresh.registration.key)
        },
        ConformanceCase("each change of a device token and of a user is in the audit, with its credential") { scene in
            let made = try await scene.register(1)
            let changes = [
                RegistrationChange(address: .deviceToken(Scene.deviceToken(2)), credential: ProvenCredential(key("a"))),
                RegistrationChange(address: .deviceToken(Scene.deviceToken(2)), credential: ProvenCredential(key("b"))),
                RegistrationChange(owner: .user(alice), credential: ProvenCredential(key("c"))),
            ]
            for (number, change) in changes.enumerated() {
                let time = Timestamp(milliseconds: Int64(number + 5))
                #expect(try await scene.store.change(made.key, change, at: time)?.key == made.key)
            }
            let entries = try await scene.store.audit(of: made.id, in: scene.project, limit: 9)
            #expect(entries.map(\.cause) == [.userAssigned, .deviceTokenChanged])
            #expect(entries.map(\.credential) == ["apiKey:c", "apiKey:a"])
            let next = try await scene.store.change(
                made.key, RegistrationChange(owner: .user(bob), credential: ProvenCredential(key("d"))),
                at: Timestamp(milliseconds: 9))
            let last = try await scene.store.audit(of: try #require(next).id, in: scene.project, limit: 9).first
            #expect(last?.cause == .userChanged && last?.credential == "apiKey:d")
            // The audit log has them too.
            let log = try await scene.store.auditEntries(AuditFilter(project: scene.project), after: nil, limit: 9)
            #expect(log.elements.map(\.action) == [.userChanged, .userChanged, .deviceTokenChanged])
            #expect(log.elements.map(\.credential) == ["d", "c", "a"].map(key))
            #expect(log.elements.map(\.subject) == [next?.id, made.id, made.id].map { $0?.rawValue })
            let details = [
                "cause": "USER_CHANGED", "app": scene.app.rawValue, "platform": "apple", "user": "bob",
                "formerUser": "alice",
                "formerRegistration": made.id.rawValue,
            ]
            #expect(log.elements.first?.details == details)
            let moves = AuditFilter(project: scene.project, action: .deviceTokenChanged)
            #expect(
                try await scene.store.auditEntries(moves, after: nil, limit: 9).elements
                    == Array(log.elements.suffix(1)))
        },
        ConformanceCase("what was imported is adopted by an installation that has a registration already") { scene in
            for (number, owner) in [RegistrationOwner.noUser, .user(alice), .user(bob)].enumerated() {
                let id = number == 0 ? victim : RegistrationID(rawValue: "dInstallation00000000\(number)")!
                let former = try await scene.store.register(
                    scene.request(10 + number, owner: .user(alice)), at: Timestamp(milliseconds: 5)
                ).registration
                _ = try await scene.store.subscribe([former.key], to: news, at: Timestamp(milliseconds: 6))
                _ = try await scene.install(id, token: UInt8(20 + number))
                let own = try await scene.register(scene.request(30 + number, owner: owner), of: id, at: 7)
                // The device token rotates to that of the imported one: by POST, or by PATCH.
                let time = Timestamp(milliseconds: 8)
                if number == 1 {
                    let change = RegistrationChange(address: .deviceToken(former.deviceToken))
                    #expect(try await scene.store.change(own.key, change, at: time)?.key == own.key)
                } else {
                    #expect(try await scene.register(10 + number, of: id, at: 8).key == own.key)
                }
                let subscription = try await scene.store.subscription(of: own.key, to: news)
                #expect((subscription != nil) == (owner != .user(bob)), "not those of another user")
                #expect(try await scene.store.registration(own.key)?.user == owner.user)
                #expect(try await scene.store.registration(former.key)?.end?.cause == .replaced)
            }
        },
        ConformanceCase("a registration that is made with a user says in the audit whose it is") { scene in
            var request = scene.request(1, owner: .user(alice))
            request.credential = ProvenCredential(key("a"), proofs: ["customToken:backend@demo"])
            let bare = try await scene.store.register(request, at: Timestamp(milliseconds: 5)).registration
            request = scene.request(2, owner: .user(bob))
            request.credential = ProvenCredential(
                key("b"), proofs: ["installation:\(victim)", "customToken:backend@demo"])
            let bound = try await scene.register(request, of: victim, at: 6)
            _ = try await scene.install(attacker, token: 8)
            _ = try await scene.register(3, of: attacker, at: 7)
            let log = try await scene.store.auditEntries(AuditFilter(project: scene.project), after: nil, limit: 9)
            #expect(log.elements.map(\.action) == [.userChanged, .userChanged])
            #expect(log.elements.map(\.subject) == [bound.id.rawValue, bare.id.rawValue])
            #expect(log.elements.map { $0.details["user"] } == ["bob", "alice"])
            #expect(log.elements.map(\.credential) == ["b", "a"].map(key))
            #expect(log.elements.last?.details["proof"] == "customToken:backend@demo")
            #expect(log.elements.last?.details["cause"] == "USER_ASSIGNED")
        },
        ConformanceCase("what was imported is adopted once, and what is purged leaves no topics") { scene in
            let former = try await scene.imported(user: alice)
            let made = try await scene.register(1, of: victim, at: 50)
            #expect(made.user == nil)
            #expect(try await scene.store.subscription(of: made.key, to: news) != nil)
            #expect(try await scene.store.registration(former.key)?.end?.cause == .replaced)
            _ = try await scene.install(attacker, token: 2)
            let second = try await scene.register(1, of: attacker, at: 60)
            #expect(try await scene.store.subscription(of: second.key, to: news) == nil)
            // The one that ended and the one that was superseded.
            #expect(try await scene.store.purge(endedBefore: Timestamp(milliseconds: 99), limit: 9) == 2)
            #expect(try await scene.store.registration(made.key) == nil)
        },
    ]
}

extension Scene {
    /// Installs the victim and the attacker, and registers the victim with a topic on device 1.
    fileprivate func boundToVictim(_ owner: RegistrationOwner) async throws -> Registration {
        _ = try await install(victim, token: 1)
        let made = try await register(request(1, owner: owner), of: victim, at: 5)
        _ = try await store.subscribe([made.key], to: news, at: Timestamp(milliseconds: 6))
        return made
    }

    /// Registers an installation, which is made first if it is not there.
    fileprivate func register(_ number: Int, of id: RegistrationID, at time: Int64) async throws -> Registration {
        try await register(request(number), of: id, at: time)
    }

    fileprivate func register(
        _ request: RegistrationRequest, of id: RegistrationID, at time: Int64
    ) async throws -> Registration {
        if try await store.installation(id, in: project) == nil { _ = try await install(id, token: 7) }
        let result = try await store.register(request, for: id, at: Timestamp(milliseconds: time))
        guard case .registered(let registration) = result else {
            throw StoreError(.failed, "The installation was not registered.")
        }
        return registration
    }
}
