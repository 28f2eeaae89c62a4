import GRDB
import PushModel
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// What an erasure does to what refers to a person: links, groups, audits, installations, addresses.
@Suite(.timeLimit(.minutes(5)))
struct UserErasureTraceTests {
    private typealias Base = UserErasureTests

    private let directory: TestDirectory
    private let store: SQLiteStore
    private let alice = UserID(rawValue: "alice-7f3e9d")!
    /// Of a device whose token can be looked for.
    private static let address = "alices-device-token-of-32-bytes!"

    init() throws {
        directory = try TestDirectory()
        store = try Base.open(directory)
    }

    private func request(_ user: UserID? = nil) -> RegistrationRequest {
        RegistrationRequest(
            project: Base.project, app: AppID(rawValue: "com.example.app")!,
            address: .apple(DeviceToken(bytes: Array(Self.address.utf8))!, .production), appVersion: nil,
            owner: user.map { RegistrationOwner.user($0) },
            credential: ProvenCredential(CredentialUse(id: "app", role: .client, address: "192.0.2.77")))
    }

    private func install(_ id: String) async throws -> RegistrationID {
        try await store.install(
            NewInstallation(
                project: Base.project, id: RegistrationID(rawValue: id), app: "1:1:ios:a", sdkVersion: nil,
                refreshDigest: Array(repeating: 9, count: 32),
                token: InstallationToken(
                    digest: Array(id.utf8.prefix(1)) + Array(repeating: 1, count: 31), expiresAt: Base.time(99_000))),
            at: Base.time(0))
    }

    private func register(
        _ request: RegistrationRequest, of installation: RegistrationID, at time: Int64
    ) async throws -> Registration {
        let result = try await store.register(request, for: installation, at: Base.time(time))
        guard case .registered(let registration) = result else { throw StoreError(.failed, "\(result)") }
        return registration
    }

    @Test func linksOfAStepThatWasCommittedCountWhateverBecomesOfTheNext() async throws {
        let registration = try await Base.register(1, alice.rawValue, in: store)
        let links = (0...UserErasure.step).map { number in
            NewLink(
                project: Base.project, prefix: "go.example.com", suffixes: ["link\(number)"], kind: .tracked,
                parameters: "link=https%3A%2F%2Fa.example", createdAt: Base.time(1000))
        }
        _ = try await Base.send(.registration(registration.key), "text", in: store, at: 1000, links: links)
        try await store.write { db in
            try db.post(
                """
                CREATE TRIGGER last_fails BEFORE UPDATE ON link WHEN OLD.id = (SELECT max(id) FROM link)
                BEGIN SELECT RAISE(ABORT, 'the last one fails'); END
                """)
        }
        let versions = store.linkVersions
        await #expect(throws: StoreError.self) { try await Base.erase(alice, in: store) }
        let first = try #require(try await store.link(LinkKey(prefix: "go.example.com", suffix: "link0")))
        #expect(first.state == .deleted)
        #expect(store.linkVersions.changed > versions.changed)
    }

    @Test func shortLinksOfErasedMessagesLeadNowhereAndKeepTheirSuffixes() async throws {
        let registration = try await Base.register(1, alice.rawValue, in: store)
        let other = try await Base.register(2, "bob", in: store)
        func link(_ suffix: String, _ target: String) -> NewLink {
            NewLink(
                project: Base.project, prefix: "go.example.com", suffixes: [suffix], kind: .tracked,
                parameters: "link=https%3A%2F%2Fa.example%2F\(target)", createdAt: Base.time(1000))
        }
        let message = try await Base.send(
            .registration(registration.key), "text", in: store, at: 1000, links: [link("aaaa", "reset-s3cret")])
        _ = try await Base.send(.registration(other.key), "text", in: store, at: 1000, links: [link("bbbb", "kept")])
        let key = LinkKey(prefix: "go.example.com", suffix: "aaaa")
        let made = try #require(try await store.link(key))
        try await store.add([
            LinkClick(
                id: .random(), project: Base.project, app: AppKey(.apple, AppID(rawValue: "com.example.app")!),
                url: "https://go.example.com/aaaa?x=clicked-s3cret", link: made.id, invitation: nil,
                time: Base.time(1500), expiresAt: Base.time(99_000), traits: DeviceTraits())
        ])
        let versions = store.linkVersions
        #expect(try Base.count("reset-s3cret", in: directory) > 0)
        #expect(try Base.count("clicked-s3cret", in: directory) > 0)

        let erased = try await Base.erase(alice, in: store)
        #expect(erased.links == 1 && erased.messages == 1)
        #expect(try Base.count("reset-s3cret", in: directory) == 0)
        #expect(try Base.count("clicked-s3cret", in: directory) == 0)
        let left = try #require(try await store.link(key))
        #expect(left.state == .deleted && left.parameters.isEmpty)
        #expect(store.linkVersions.changed > versions.changed, "what is remembered of it does not count any more")
        #expect(try await store.importLinks([link("aaaa", "other")]) == [.taken])
        #expect(try await store.exportLinks(of: Base.project, after: LinkID(rawValue: 0), limit: 9).count == 1)
        #expect(try await store.links(of: message, in: Base.project).map(\.link.key) == [key])
    }

    @Test func groupsThatWereLeftByAnErasedPersonGoWithTheirNames() async throws {
        let before = try await Base.register(1, alice.rawValue, in: store)
        let registration = try await Base.register(2, alice.rawValue, in: store)
        let other = try await Base.register(3, "bob", in: store)
        func group(_ name: String, _ members: [Registration]) async throws {
            _ = try await store.createGroup(
                DeviceGroupName(rawValue: name)!, of: members.map(\.key), in: Base.project, at: Base.time(1))
        }
        try await group("group-ended-alice", [before])
        try await group("group-alone-alice", [before, registration])
        try await group("group-shared", [registration, other])
        try await group("group-bob", [other])
        try await store.end(before.key, RegistrationEnd(time: Base.time(10), cause: .deleted))
        try await store.end(other.key, RegistrationEnd(time: Base.time(10), cause: .deleted))
        _ = try await Base.register(4, "bob", in: store)

        #expect(try await Base.erase(alice, in: store).deviceGroups == 3)
        for name in ["group-ended-alice", "group-alone-alice", "group-shared"] {
            #expect(try Base.count(name, in: directory) == 0, "\(name)")
        }
        #expect(try await store.notificationKey(of: DeviceGroupName(rawValue: "group-bob")!, in: Base.project) != nil)
    }

    @Test func aGroupWithAnotherMemberStays() async throws {
        let registration = try await Base.register(1, alice.rawValue, in: store)
        let other = try await Base.register(2, "bob", in: store)
        let name = DeviceGroupName(rawValue: "family")!
        _ = try await store.createGroup(
            name, of: [registration.key, other.key], in: Base.project, at: Base.time(1))
        #expect(try await Base.erase(alice, in: store).deviceGroups == 0)
        let key = try #require(try await store.notificationKey(of: name, in: Base.project))
        #expect(try await store.members(of: key, in: Base.project)?.map(\.key) == [other.key])
    }

    @Test func auditsSayWhoDidWhatWithoutTheName() async throws {
        let installation = try await install("cInstallationOne000000")
        let made = try await register(request(alice), of: installation, at: 5)
        let next = try await register(request(UserID(rawValue: "bob")!), of: installation, at: 6)
        let filter = AuditFilter(project: Base.project)
        let before = try await store.auditEntries(filter, after: nil, limit: 99).elements
        #expect(before.count == 2 && before.allSatisfy { $0.credential.address == "192.0.2.77" })

        let erased = try await Base.erase(alice, in: store)
        #expect(erased.auditEntries == 4)
        let after = try await store.auditEntries(filter, after: nil, limit: 99).elements
        #expect(after.map(\.time) == before.map(\.time) && after.map(\.subject) == before.map(\.subject))
        #expect(after.map { $0.details["user"] } == ["bob", "d1ge57"])
        #expect(after.map { $0.details["formerUser"] } == ["d1ge57", nil])
        #expect(after.allSatisfy { $0.credential.id == "app" && $0.credential.address == nil })
        let audit = try await store.audit(of: next.id, in: Base.project, limit: 9)
        #expect(audit.map(\.formerUser?.rawValue) == ["d1ge57"] && audit.map(\.former) == [made.id])
        for text in [alice.rawValue, "192.0.2.77"] { #expect(try Base.count(text, in: directory) == 0, "\(text)") }
    }

    @Test func theInstallationOfAnErasedPersonBeginsAnewAndOpenMessagesEndWithTheRegistration() async throws {
        let installation = try await install("cInstallationOne000000")
        let made = try await register(request(alice), of: installation, at: 5)
        let topic = try #require(Topic(rawValue: "news"))
        _ = try await store.subscribe([made.key], to: topic, at: Base.time(6))
        let open = try await Base.send(
            .registration(made.key), "s3cret", in: store, at: 7, isEnded: false)
        #expect(try Base.count(Self.address, in: directory) > 0)

        _ = try await Base.erase(alice, in: store)
        #expect(try Base.count(Self.address, in: directory) == 0)
        for owner in [nil, alice] {
            let again = try await register(request(owner), of: installation, at: 10_000)
            #expect(again.key != made.key && again.id != made.id)
            #expect(try await store.subscriptions(of: again.key, after: nil, limit: 9).isEmpty)
        }
        #expect(try await store.registration(made.key)?.isActive == false)
        let message = try #require(try await store.message(open, in: Base.project))
        #expect(message.body.isRemoved && message.body.bytes == Array("{ }".utf8))
        #expect(try await store.check() == [])
    }

    @Test func theTopicsOfASupersededRegistrationGo() async throws {
        let installation = try await install("cInstallationOne000000")
        let held = try await register(request(alice), of: installation, at: 5)
        let topic = try #require(Topic(rawValue: "news"))
        _ = try await store.subscribe([held.key], to: topic, at: Base.time(6))
        _ = try await register(request(), of: try await install("dInstallationTwo000000"), at: 7)
        #expect(try await store.registration(held.key)?.end?.cause == .superseded)

        #expect(try await Base.erase(alice, in: store).registrations == 1)
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM superseded_subscription") == ["0"])
        let back = try await register(request(), of: installation, at: 10_000)
        #expect(back.key != held.key && back.user == nil)
        #expect(try await store.subscriptions(of: back.key, after: nil, limit: 9).isEmpty)
    }

    @Test func anEndedRegistrationKeepsNoAddressOnAnyChannel() async throws {
        let key = Array(repeating: UInt8(0x41), count: 65)
        let web = try #require(
            WebSubscription(
                endpoint: "https://push.example.com/alices-endpoint", key: key,
                secret: Array("alices-secret-16".utf8), applicationKey: nil))
        let android = try #require(AndroidToken(rawValue: "alices-android-token"))
        var made: [Registration] = []
        for address in [Address.web(web), .android(android)] {
            var browser = request(alice)
            browser.address = address
            made.append(try await store.register(browser, at: Base.time(1)).registration)
        }
        _ = try await Base.erase(alice, in: store)
        for text in ["alices-endpoint", "alices-secret-16", "alices-android-token"] {
            #expect(try Base.count(text, in: directory) == 0, "\(text)")
        }
        for registration in made {
            let left = try #require(try await store.registration(registration.key))
            #expect(!left.isActive && left.channel == registration.channel)
        }
    }
}
