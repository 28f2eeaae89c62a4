import PushModel
import Store
import Testing

private let alice = CredentialUse(id: "k9", name: "Alice", role: .admin, address: "192.0.2.1")

extension Scene {
    fileprivate func entries(_ filter: AuditFilter = AuditFilter(), limit: Int = 100) async throws -> [AuditEntry] {
        try await store.auditEntries(filter, after: nil, limit: limit).elements
    }

    fileprivate func entry(_ time: Int64, _ action: AuditAction, _ subject: String) -> AuditEntry {
        AuditEntry(
            time: Timestamp(milliseconds: time), project: project, action: action, subject: subject, credential: alice)
    }

    fileprivate func apiKey(_ id: String, name: String? = nil, expiresAt: Int64? = nil) -> APIKeyRecord {
        APIKeyRecord(
            id: id, project: project, role: .sender, digest: Array(0..<32), createdAt: Timestamp(milliseconds: 1),
            revokedAt: nil, name: name, expiresAt: expiresAt.map { Timestamp(milliseconds: $0) })
    }
}

extension ConformanceCase {
    static let audit: [ConformanceCase] = [
        ConformanceCase("each change of a key is audited once, with who made it") { scene in
            try await scene.store.insert(scene.apiKey("k1", name: "news backend", expiresAt: 50), by: alice)
            for time in [7, 9] {
                #expect(try await scene.store.revoke("k1", at: Timestamp(milliseconds: Int64(time)), by: alice))
            }
            #expect(try await !scene.store.revoke("k2", at: Timestamp(milliseconds: 9), by: alice))
            try await scene.crash()
            var created = scene.entry(1, .keyCreated, "k1")
            created.details = [
                "role": "sender", "name": "news backend", "expireTime": Timestamp(milliseconds: 50).rfc3339,
            ]
            var revoked = scene.entry(7, .keyRevoked, "k1")
            revoked.details = ["name": "news backend"]
            #expect(try await scene.entries() == [revoked, created])
            let found = try #require(try await scene.store.apiKey("k1"))
            #expect(found.name == "news backend" && found.expiresAt == Timestamp(milliseconds: 50))
        },
        ConformanceCase("a key that could not be kept leaves no audit entry") { scene in
            try await scene.store.insert(scene.apiKey("k1"), by: alice)
            let (store, key) = (scene.store, scene.apiKey("k1"))
            try await expectStoreError(.failed) { try await store.insert(key, by: alice) }
            #expect(try await scene.entries().count == 1)
        },
        ConformanceCase("each change of a service account is audited once") { scene in
            let email = ServiceAccountEmail(name: "backend", project: scene.project)!
            let account = ServiceAccount(email: email, role: .admin, createdAt: Timestamp(milliseconds: 1))
            let keys = ["k1", "k2"].map {
                ServiceAccountKey(
                    id: $0, account: email, publicKey: [1], createdAt: Timestamp(milliseconds: 2))
            }
            let time = Timestamp(milliseconds: 3)
            let store = scene.store
            #expect(try await store.insert(account, with: keys[0], by: alice))
            #expect(try await !store.insert(account, with: keys[1], by: alice))
            #expect(try await store.insert(keys[1], by: alice))
            for _ in 0..<2 { #expect(try await store.revokeServiceAccountKey("k1", at: time, by: alice)) }
            for _ in 0..<2 { #expect(try await store.disable(email, at: time, by: alice)) }
            for _ in 0..<2 { #expect(try await store.enable(email, at: time, by: alice)) }
            #expect(try await store.delete(email, at: time, by: alice))
            #expect(try await !store.delete(email, at: time, by: alice))
            let entries = try await scene.entries(AuditFilter(subject: email.rawValue))
            #expect(
                entries.map(\.action) == [
                    .accountDeleted, .accountEnabled, .accountDisabled, .accountKeyRevoked, .accountKeyAdded,
                    .accountCreated,
                ])
            #expect(entries.allSatisfy { $0.credential == alice && $0.project == scene.project })
        },
        ConformanceCase("a message keeps who sent it, and the audit who paused, resumed and cancelled it") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            var new = try scene.newMessage(.topic(topic), at: 1000)
            new.facts.credential = alice
            let message = try await scene.send(new)
            for control in [MessageControl.pause, .pause, .resume, .cancel, .cancel, .resume] {
                _ = try await scene.store.control(
                    message.id, in: scene.project, control, at: Timestamp(milliseconds: 5), by: alice)
            }
            let entries = try await scene.entries(AuditFilter(project: scene.project))
            #expect(entries.map(\.action) == [.messageCancelled, .messageResumed, .messagePaused])
            #expect(entries.allSatisfy { $0.subject == message.id.rawValue && $0.credential == alice })
            let report = try await scene.store.report(message.id, in: scene.project)
            #expect(report?.message.facts.credential == alice)
        },
        ConformanceCase("the audit log is listed by project, action, thing and time, page by page") { scene in
            for number in 1...9 {
                let action: AuditAction = number % 3 == 0 ? .quarantineLifted : .userChanged
                try await scene.store.record(scene.entry(Int64(number), action, "s\(number % 2)"))
            }
            var other = scene.entry(10, .userChanged, "s1")
            other.project = ProjectID(rawValue: "other")!
            try await scene.store.record(other)
            #expect(try await scene.entries().map(\.time.milliseconds) == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
            let filter = AuditFilter(
                project: scene.project, action: .userChanged, subject: "s1", since: Timestamp(milliseconds: 2))
            #expect(try await scene.entries(filter).map(\.time.milliseconds) == [7, 5])
            var times: [Int64] = []
            var cursor: String?
            repeat {
                let page = try await scene.store.auditEntries(
                    AuditFilter(project: scene.project), after: cursor, limit: 2)
                #expect(page.elements.count <= 2)
                times += page.elements.map(\.time.milliseconds)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(times == [9, 8, 7, 6, 5, 4, 3, 2, 1])
            let store = scene.store
            try await expectStoreError(.badCursor) {
                _ = try await store.auditEntries(AuditFilter(), after: "x", limit: 2)
            }
            #expect(try await store.forgetAuditEntries(before: Timestamp(milliseconds: 5), limit: 3) == 3)
            #expect(try await store.forgetAuditEntries(before: Timestamp(milliseconds: 5), limit: 3) == 1)
            #expect(try await scene.entries().map(\.time.milliseconds) == [10, 9, 8, 7, 6, 5])
        },
        ConformanceCase("the last use of a key never goes back") { scene in
            try await scene.store.insert(scene.apiKey("k1"), by: alice)
            #expect(try await scene.store.apiKey("k1")?.lastUsedAt == nil)
            for time in [5, 9, 7] {
                try await scene.store.noteUse(of: [
                    "k1": Timestamp(milliseconds: Int64(time)), "gone": .init(seconds: 1),
                ])
            }
            #expect(try await scene.store.apiKeys(of: nil).map(\.lastUsedAt) == [Timestamp(milliseconds: 9)])
        },
    ]
}
