import PushModel
import Store
import Testing

private let command = CredentialUse(id: CredentialUse.commandID, name: "root")

extension Scene {
    fileprivate var ada: OperatorName { OperatorName(rawValue: "ada")! }

    fileprivate func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    fileprivate func digest(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }

    fileprivate func session(_ byte: UInt8, at milliseconds: Int64 = 10) -> OperatorSession {
        OperatorSession(
            digest: digest(byte), id: "s\(byte)", name: ada, createdAt: time(milliseconds),
            usedAt: time(milliseconds), provenAt: time(milliseconds), address: "192.0.2.1", browser: "Firefox")
    }

    fileprivate func grant(_ role: OperatorRole = .sender) async throws {
        _ = try await store.grant(role, in: project, to: ada, at: time(5), by: command)
    }

    fileprivate func actions() async throws -> [AuditAction] {
        try await store.auditEntries(AuditFilter(project: project), after: nil, limit: 100).elements.map(\.action)
    }

    fileprivate func draft(_ id: String, at milliseconds: Int64, fields: String = "{}") -> ComposerDraft {
        ComposerDraft(id: id, name: ada, project: project, fields: fields, changedAt: time(milliseconds))
    }
}

extension ConformanceCase {
    static let operators: [ConformanceCase] = [
        ConformanceCase("an operator has one role in a project, the one granted last, and each grant is audited") {
            scene in
            try await scene.grant(.viewer)
            try await scene.grant(.operator)
            try await scene.crash()
            let found = try #require(try await scene.store.console(operator: scene.ada))
            #expect(found.roles == [scene.project: .operator] && found.createdAt == scene.time(5))
            #expect(try await scene.store.operators(of: scene.project) == [found])
            #expect(try await scene.store.operators(of: ProjectID(rawValue: "unknown")).isEmpty)
            #expect(try await scene.store.operators(of: nil) == [found])
            #expect(try await scene.actions() == [.operatorGranted, .operatorGranted])
        },
        ConformanceCase("who has no role left can't sign in: sessions, links and secrets are gone") { scene in
            try await scene.grant()
            let (store, ada) = (scene.store, scene.ada)
            #expect(
                try await store.set(.password(hash: "h"), of: ada, keeping: nil, at: scene.time(6), by: command))
            #expect(
                try await store.insert(SignInLink(digest: scene.digest(1), name: ada, expiresAt: scene.time(99))))
            try await store.begin(scene.session(2))
            #expect(try await store.revoke(ada, in: scene.project, at: scene.time(20), by: command))
            #expect(try await !store.revoke(ada, in: scene.project, at: scene.time(21), by: command))
            let revoked = try #require(try await store.console(operator: ada))
            #expect(revoked.roles.isEmpty && revoked.revokedAt == scene.time(20) && revoked.passwordHash == nil)
            #expect(try await store.session(scene.digest(2)) == nil)
            #expect(try await store.redeem(link: scene.digest(1), at: scene.time(30)) == nil)
            #expect(
                try await !store.insert(SignInLink(digest: scene.digest(3), name: ada, expiresAt: scene.time(99))))
            #expect(try await store.operators(of: scene.project).isEmpty)
            #expect(try await scene.actions().first == .operatorRevoked)
            try await scene.grant()
            #expect(try await store.console(operator: ada)?.revokedAt == nil)
        },
        ConformanceCase("an invitation makes an operator with a link, and leaves those of other projects alone") {
            scene in
            let (store, ada) = (scene.store, scene.ada)
            let other = try #require(ProjectID(rawValue: "elsewhere"))
            let (now, end) = (scene.time(5), scene.time(99))
            let digests = (0...4).map { scene.digest($0) }
            let invite = { (role: OperatorRole, project: ProjectID, place: Int) in
                let link = SignInLink(digest: digests[place], name: ada, expiresAt: end)
                return try await store.invite(role, in: project, with: link, at: now, by: command)
            }
            #expect(try await invite(.sender, scene.project, 1) == .invited)
            #expect(try await invite(.viewer, scene.project, 2) == .changed)
            #expect(try await invite(.admin, other, 3) == .isElsewhere)
            #expect(try await store.console(operator: ada)?.roles == [scene.project: .viewer])
            for byte in [2, 3] as [UInt8] {
                #expect(try await store.redeem(link: scene.digest(byte), at: scene.time(6)) == nil)
            }
            #expect(try await store.redeem(link: scene.digest(1), at: scene.time(6)) == ada)
            #expect(try await scene.actions() == [.operatorGranted, .operatorLinked, .operatorGranted])
            // Nothing that an admin elsewhere may hold is left of who was revoked.
            #expect(try await store.revoke(ada, in: nil, at: scene.time(7), by: command))
            #expect(try await invite(.admin, other, 4) == .invited)
            #expect(try await store.console(operator: ada)?.roles == [other: .admin])
        },
        ConformanceCase("a link signs in once, and not after its end") { scene in
            try await scene.grant()
            let (store, ada) = (scene.store, scene.ada)
            for byte in [1, 2] as [UInt8] {
                #expect(
                    try await store.insert(
                        SignInLink(digest: scene.digest(byte), name: ada, expiresAt: scene.time(50))))
            }
            try await scene.crash()
            #expect(try await scene.store.redeem(link: scene.digest(1), at: scene.time(49)) == ada)
            #expect(try await scene.store.redeem(link: scene.digest(1), at: scene.time(49)) == nil)
            #expect(try await scene.store.redeem(link: scene.digest(2), at: scene.time(50)) == nil)
            #expect(try await scene.store.redeem(link: scene.digest(9), at: scene.time(1)) == nil)
        },
        ConformanceCase("a session is found by its digest until it ends, with when it was used and proven") { scene in
            try await scene.grant()
            try await scene.store.begin(scene.session(1))
            try await scene.store.begin(scene.session(2, at: 11))
            try await scene.store.noteUse(ofSession: scene.digest(1), at: scene.time(40), isProof: false)
            try await scene.store.noteUse(ofSession: scene.digest(1), at: scene.time(30), isProof: true)
            try await scene.crash()
            let store = scene.store
            let found = try #require(try await store.session(scene.digest(1)))
            var expected = scene.session(1)
            (expected.usedAt, expected.provenAt) = (scene.time(40), scene.time(30))
            #expect(found.session == expected && found.owner.roles == [scene.project: .sender])
            #expect(try await store.sessions(of: scene.ada).map(\.id) == ["s1", "s2"])
            #expect(try await store.endSession("s1", of: scene.ada))
            #expect(try await !store.endSession("s1", of: scene.ada))
            #expect(try await !store.endSession("s2", of: OperatorName(rawValue: "bob")!))
            #expect(try await store.session(scene.digest(1)) == nil)
            #expect(try await store.sessions(of: scene.ada).map(\.id) == ["s2"])
        },
        ConformanceCase("a new secret ends the other sessions; a code of a time step counts once") { scene in
            try await scene.grant()
            let (store, ada) = (scene.store, scene.ada)
            try await store.begin(scene.session(1))
            try await store.begin(scene.session(2))
            #expect(
                try await store.set(
                    .oneTimeKey([1, 2]), of: ada, keeping: scene.digest(2), at: scene.time(20), by: command))
            #expect(try await store.sessions(of: ada).map(\.id) == ["s2"])
            #expect(try await store.console(operator: ada)?.oneTimeKey == [1, 2])
            #expect(try await store.useOneTimeCode(ofStep: 7, by: ada))
            #expect(try await !store.useOneTimeCode(ofStep: 7, by: ada))
            #expect(try await !store.useOneTimeCode(ofStep: 6, by: ada))
            #expect(try await store.useOneTimeCode(ofStep: 8, by: ada))
            let unknown = OperatorName(rawValue: "unknown")!
            #expect(
                try await !store.set(.password(hash: nil), of: unknown, keeping: nil, at: scene.time(1), by: command))
        },
        ConformanceCase("drafts are an operator's own, and the oldest of too many are dropped") { scene in
            try await scene.grant()
            let store = scene.store
            try await store.keep(scene.draft("a", at: 1))
            try await store.keep(scene.draft("a", at: 2, fields: #"{"title":"x"}"#))
            #expect(
                try await store.drafts(of: scene.ada, in: scene.project)
                    == [scene.draft("a", at: 2, fields: #"{"title":"x"}"#)])
            let bob = OperatorName(rawValue: "bob")!
            _ = try await store.grant(.sender, in: scene.project, to: bob, at: scene.time(5), by: command)
            var stolen = scene.draft("a", at: 9, fields: "stolen")
            stolen.name = bob
            try await store.keep(stolen)
            try await store.dropDraft("a", of: bob)
            #expect(try await store.drafts(of: bob, in: scene.project).isEmpty)
            #expect(try await store.drafts(of: scene.ada, in: scene.project).map(\.changedAt) == [scene.time(2)])
            for number in 0..<ComposerDraft.limit {
                try await store.keep(scene.draft("n\(number)", at: Int64(10 + number)))
            }
            let ids = try await store.drafts(of: scene.ada, in: scene.project).map(\.id)
            #expect(ids.count == ComposerDraft.limit && !ids.contains("a"))
            try await store.dropDraft("n1", of: scene.ada)
            #expect(try await store.drafts(of: scene.ada, in: scene.project).count == ComposerDraft.limit - 1)
        },
        ConformanceCase("what is over is forgotten, and nothing else") { scene in
            try await scene.grant()
            let (store, ada) = (scene.store, scene.ada)
            #expect(
                try await store.insert(SignInLink(digest: scene.digest(1), name: ada, expiresAt: scene.time(50))))
            #expect(
                try await store.insert(SignInLink(digest: scene.digest(2), name: ada, expiresAt: scene.time(150))))
            try await store.begin(scene.session(3, at: 10))
            try await store.begin(scene.session(4, at: 90))
            let count = try await store.forgetSignIns(
                linksBefore: scene.time(100), sessionsBegunBefore: scene.time(50), usedBefore: scene.time(80),
                limit: 10)
            #expect(count == 1)
            #expect(try await store.sessions(of: ada).map(\.id) == ["s4"])
            #expect(try await store.redeem(link: scene.digest(2), at: scene.time(100)) == ada)
        },
    ]
}
