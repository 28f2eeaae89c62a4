import PushModel
import Store
import Testing

extension Scene {
    fileprivate func email(_ name: String, _ project: ProjectID? = nil) -> ServiceAccountEmail {
        ServiceAccountEmail(name: name, project: project ?? self.project)!
    }

    fileprivate func account(
        _ name: String, role: Role = .admin, _ project: ProjectID? = nil
    ) -> ServiceAccount {
        ServiceAccount(email: email(name, project), role: role, createdAt: Timestamp(milliseconds: 1))
    }

    fileprivate func key(_ id: String, of name: String, _ project: ProjectID? = nil) -> ServiceAccountKey {
        ServiceAccountKey(
            id: id, account: email(name, project), publicKey: Array(id.utf8), createdAt: Timestamp(milliseconds: 2))
    }

    /// Keeps an account with a key.
    fileprivate func make(_ name: String, _ id: String, _ project: ProjectID? = nil) async throws {
        #expect(try await store.insert(account(name, project), with: key(id, of: name, project), by: .gateway))
    }

    fileprivate func token(_ number: UInt8, for key: String, until time: Int64) -> AccessTokenRecord {
        AccessTokenRecord(
            digest: Array(repeating: number, count: 32), keyID: key, expiresAt: Timestamp(milliseconds: time))
    }
}

extension ConformanceCase {
    static let serviceAccounts: [ConformanceCase] = [
        ConformanceCase("a service account's key is found with its account, also after a restart") { scene in
            let account = scene.account("backend", role: .sender)
            let key = scene.key("k1", of: "backend")
            #expect(try await scene.store.insert(account, with: key, by: .gateway))
            let identity = ServiceAccountIdentity(account: account, key: key)
            #expect(try await scene.store.serviceAccountKey("k1") == identity && identity.isUsable)
            #expect(try await scene.store.serviceAccountKey("k2") == nil)
            try await scene.crash()
            #expect(try await scene.store.serviceAccountKey("k1") == identity)
        },
        ConformanceCase("the name of a service account is taken once, with nothing of the second kept") { scene in
            try await scene.make("backend", "k1")
            let again = try await scene.store.insert(
                scene.account("backend"), with: scene.key("k2", of: "backend"), by: .gateway)
            #expect(!again)
            #expect(try await scene.store.serviceAccountKey("k2") == nil)
            // The same name in another project is another account.
            try await scene.make("backend", "k3", ProjectID(rawValue: "other"))
        },
        ConformanceCase("ids of service account keys are unique") { scene in
            try await scene.make("backend", "k1")
            let (store, scene) = (scene.store, scene)
            try await expectStoreError(.failed) {
                _ = try await store.insert(scene.account("second"), with: scene.key("k1", of: "second"), by: .gateway)
            }
            try await expectStoreError(.failed) {
                _ = try await store.insert(scene.key("k1", of: "backend"), by: .gateway)
            }
            #expect(try await store.serviceAccountKeys(of: nil).map(\.account.email) == [scene.email("backend")])
        },
        ConformanceCase("a service account has several keys, each revoked by itself") { scene in
            try await scene.make("backend", "k1")
            #expect(try await scene.store.insert(scene.key("k2", of: "backend"), by: .gateway))
            #expect(try await scene.store.insert(scene.key("k3", of: "unknown"), by: .gateway) == false)
            #expect(try await scene.store.revokeServiceAccountKey("k1", at: Timestamp(milliseconds: 7), by: .gateway))
            #expect(try await scene.store.revokeServiceAccountKey("k1", at: Timestamp(milliseconds: 9), by: .gateway))
            #expect(
                try await scene.store.revokeServiceAccountKey("k9", at: Timestamp(milliseconds: 9), by: .gateway)
                    == false)
            let revoked = try #require(try await scene.store.serviceAccountKey("k1"))
            #expect(revoked.key.revokedAt == Timestamp(milliseconds: 7) && !revoked.isUsable)
            #expect(try await scene.store.serviceAccountKey("k2")?.isUsable == true)
        },
        ConformanceCase("keys of service accounts are listed by account, the oldest first") { scene in
            let other = try #require(ProjectID(rawValue: "other"))
            try await scene.make("b", "k1")
            try await scene.make("a", "k2")
            try await scene.make("c", "k3", other)
            #expect(try await scene.store.insert(scene.key("k4", of: "b"), by: .gateway))
            #expect(try await scene.store.serviceAccountKeys(of: scene.project).map(\.key.id) == ["k1", "k4", "k2"])
            #expect(try await scene.store.serviceAccountKeys(of: nil).map(\.key.id) == ["k1", "k4", "k2", "k3"])
        },
        ConformanceCase("a disabled service account keeps its first time, and can be enabled") { scene in
            try await scene.make("backend", "k1")
            let email = scene.email("backend")
            #expect(try await scene.store.disable(email, at: Timestamp(milliseconds: 7), by: .gateway))
            #expect(try await scene.store.disable(email, at: Timestamp(milliseconds: 9), by: .gateway))
            #expect(
                try await scene.store.disable(scene.email("unknown"), at: Timestamp(milliseconds: 9), by: .gateway)
                    == false)
            let disabled = try #require(try await scene.store.serviceAccountKey("k1"))
            #expect(disabled.account.disabledAt == Timestamp(milliseconds: 7) && !disabled.isUsable)
            #expect(try await scene.store.enable(email, at: Timestamp(milliseconds: 10), by: .gateway))
            #expect(try await scene.store.serviceAccountKey("k1")?.isUsable == true)
        },
        ConformanceCase("an access token is found with what became of its key") { scene in
            try await scene.make("backend", "k1")
            let token = scene.token(1, for: "k1", until: 50)
            #expect(try await scene.store.insert(token))
            #expect(try await scene.store.insert(scene.token(2, for: "k9", until: 50)) == false)
            let found = try #require(try await scene.store.accessToken(token.digest))
            #expect(found.token == token && found.identity.isUsable)
            #expect(found.identity == (try await scene.store.serviceAccountKey("k1")))
            #expect(try await scene.store.accessToken(Array(repeating: 2, count: 32)) == nil)
            _ = try await scene.store.revokeServiceAccountKey("k1", at: Timestamp(milliseconds: 7), by: .gateway)
            #expect(try await scene.store.accessToken(token.digest)?.identity.isUsable == false)
        },
        ConformanceCase("a deleted service account leaves nothing, and its name is free") { scene in
            try await scene.make("backend", "k1")
            try await scene.make("second", "k2")
            for (number, key) in ["k1", "k2"].enumerated() {
                #expect(try await scene.store.insert(scene.token(UInt8(number), for: key, until: 50)))
            }
            #expect(try await scene.store.delete(scene.email("backend"), at: Timestamp(milliseconds: 10), by: .gateway))
            #expect(
                try await scene.store.delete(scene.email("backend"), at: Timestamp(milliseconds: 10), by: .gateway)
                    == false)
            #expect(try await scene.store.serviceAccountKey("k1") == nil)
            #expect(try await scene.store.accessToken(Array(repeating: 0, count: 32)) == nil)
            #expect(try await scene.store.accessToken(Array(repeating: 1, count: 32)) != nil)
            try await scene.make("backend", "k1")
        },
        ConformanceCase("access tokens that are over are forgotten, the oldest first") { scene in
            try await scene.make("backend", "k1")
            for number in 1...4 as ClosedRange<UInt8> {
                #expect(try await scene.store.insert(scene.token(number, for: "k1", until: Int64(number) * 10)))
            }
            let time = Timestamp(milliseconds: 40)
            #expect(try await scene.store.forgetAccessTokens(expiredBefore: time, limit: 2) == 2)
            #expect(try await scene.store.accessToken(Array(repeating: 2, count: 32)) == nil)
            #expect(try await scene.store.accessToken(Array(repeating: 3, count: 32)) != nil)
            #expect(try await scene.store.forgetAccessTokens(expiredBefore: time, limit: 9) == 1)
            #expect(try await scene.store.accessToken(Array(repeating: 4, count: 32)) != nil)
        },
    ]
}
