import Foundation
import GRDB
import Logging
import PushModel
import Store
import StoreConformance
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// After an erasure no file of the store holds the person.
@Suite(.timeLimit(.minutes(5)))
struct UserErasureTests {
    static let project = ProjectID(rawValue: "demo")!
    private static let secrets = [
        "alice-7f3e9d", "s3cret-payload", "list-s3cret", "s3cret-key", "alice-collapse", "s3cret-label",
    ]

    static func open(_ directory: TestDirectory) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
    }

    static func time(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    static func register(
        _ number: Int, _ user: String?, in store: SQLiteStore
    ) async throws -> Registration {
        let owner = user.map { RegistrationOwner.user(UserID(rawValue: $0)!) }
        return try await store.register(
            RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production), appVersion: nil, owner: owner),
            at: time(0)
        ).registration
    }

    static func send(
        _ recipient: Recipient<RegistrationKey, [RegistrationKey]>, _ text: String, in store: SQLiteStore,
        at now: Int64,
        key: String? = nil, label: String? = nil, links: [NewLink] = [], platforms: [Platform: PlatformFacts] = [:],
        isEnded: Bool = true
    ) async throws -> MessageID {
        var message = NewMessage(
            id: MessageID(acceptedAt: time(now), random: .random(in: 0 ... .max)), project: project,
            recipient: recipient, content: PlainContent("{\"data\":{\"a\":\"\(text)\"}}"), lane: .interactive,
            facts: MessageFacts(
                label: label.flatMap(AnalyticsLabel.init), isDisplayed: true, collapseKey: "\(text)-collapse",
                priority: 10, timeToLiveSeconds: 3600),
            acceptedAt: time(now), expiresAt: time(now) + .seconds(3600),
            idempotency: key.map { IdempotencyKey(key: $0, digest: Array(repeating: 1, count: 32)) })
        message.links = links
        message.platforms = platforms
        let worker = try await store.enroll("worker", for: .seconds(1 << 40))
        guard case .accepted(_, let claims)? = try await store.accept([message], claimedBy: worker).first else {
            throw StoreError(.failed, "not accepted")
        }
        guard isEnded else { return message.id }
        _ = try await store.settle(
            claims.map { claim in
                Settlement(
                    delivery: claim,
                    result: .ended(
                        LedgerEntry(
                            outcome: .accepted, reason: nil, verdict: nil, history: AttemptHistory(attempts: 1),
                            time: time(now + 1), latencyMilliseconds: 1,
                            pushID: PushID(message: claim.message, registration: claim.registration.key))))
            }, by: worker)
        return message.id
    }

    static func erase(_ user: UserID, in store: SQLiteStore) async throws -> ErasedUser {
        try await store.erase(user, in: project, standIn: UserID(rawValue: "d1ge57")!, at: time(9000))
    }

    /// How often a text is in the files of the store.
    static func count(_ text: String, in directory: TestDirectory) throws -> Int {
        var count = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
            let data = try Data(contentsOf: URL(filePath: directory.file(name)))
            var rest = data[...]
            while let found = rest.range(of: Data(text.utf8)) {
                count += 1
                rest = rest[found.upperBound...]
            }
        }
        return count
    }

    /// Ended deliveries by label.
    private static func sums(in store: SQLiteStore) async throws -> [String: Int] {
        try await store.write { db in
            let rows = try db.rows("SELECT label, sum(count) FROM delivery_day GROUP BY label")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        }
    }

    /// Time and priority stay, as in the message.
    @Test func noFileHoldsAPersonsCollapseKeysOfPlatforms() async throws {
        let directory = try TestDirectory()
        let store = try Self.open(directory)
        let user = try #require(UserID(rawValue: "alice-7f3e9d"))
        let registration = try await Self.register(1, user.rawValue, in: store)
        let facts = PlatformFacts(
            collapseKey: "s3cret-topic", priority: 5, timeToLiveSeconds: 60, expiresAt: Self.time(62_000))
        _ = try await Self.send(
            .user(user, [registration.key]), "alice", in: store, at: 2000, platforms: [.apple: facts, .web: facts])
        #expect(try Self.count("s3cret-topic", in: directory) > 0)
        let erased = try await Self.erase(user, in: store)
        #expect(erased.messages == 1 && erased.obstacle == nil)
        #expect(try Self.count("s3cret-topic", in: directory) == 0)
        #expect(
            try await store.lastColumn(of: "SELECT priority FROM message_platform WHERE collapse_key IS NULL") == [
                "5", "5",
            ])
    }

    /// Its row has moved, and what it shares with others is not the person's.
    @Test func noFileHoldsAPersonWhosePayloadsWereRemovedBefore() async throws {
        let directory = try TestDirectory()
        let store = try Self.open(directory)
        let user = try #require(UserID(rawValue: "alice-7f3e9d"))
        let registration = try await Self.register(1, user.rawValue, in: store)
        let other = try await Self.register(2, "bob", in: store)
        let kept = try await Self.send(.registration(other.key), "kept", in: store, at: 2000, label: "kept-label")
        // So many others between them that the search takes several steps.
        #expect(
            try await store.lastColumn(
                of: "UPDATE sqlite_sequence SET seq = 45000 WHERE name = 'message' RETURNING seq") == ["45000"])
        let message = try await Self.send(
            .registration(registration.key), "alice", in: store, at: 2000, label: "s3cret-label")
        let receipt = Receipt(message: message, kind: .received, time: Self.time(4000))
        #expect(
            try await store.keep([receipt], of: registration.key, in: Self.project, at: Self.time(4000)) == [true])
        let rules = RetentionRules(standard: RetentionPolicy(payloadDays: 1))
        while try await !store.remove(.payloads, by: rules, at: Self.time(3 * 86_400_000)).isDone {}
        #expect(try await store.lastColumn(of: "SELECT count(*) FROM ended_single") == ["2"])
        let erased = try await Self.erase(user, in: store)
        #expect(erased.messages == 1 && erased.receipts == 1 && erased.obstacle == nil)
        for secret in Self.secrets { #expect(try Self.count(secret, in: directory) == 0, "\(secret)") }
        #expect(try await store.report(message, in: Self.project)?.message.facts.label == nil)
        #expect(try await store.report(kept, in: Self.project)?.message.facts.label?.rawValue == "kept-label")
        #expect(try await Self.sums(in: store) == ["": 1, "kept-label": 1])
        #expect(try await store.check() == [])
        try store.close()
    }

    @Test func noFileHoldsAPersonWhoWasErased() async throws {
        let directory = try TestDirectory()
        let store = try Self.open(directory)
        let user = try #require(UserID(rawValue: "alice-7f3e9d"))
        let first = try await Self.register(1, user.rawValue, in: store)
        let second = try await Self.register(2, user.rawValue, in: store)
        let other = try await Self.register(3, "bob", in: store)
        // Neighbours, so that pages split and move.
        for number in 0..<300 {
            _ = try await Self.send(
                .registration(other.key), "kept-\(number)-\(String(repeating: "x", count: number * 7))", in: store,
                at: 1000 + Int64(number))
        }
        var ended: [MessageID] = []
        for number in 0..<40 {
            let text = "s3cret-payload \(String(repeating: "y", count: number * 150)) s3cret-payload"
            ended.append(
                try await Self.send(
                    .registration(first.key), text, in: store, at: 2000, key: "s3cret-key \(number)",
                    label: number % 2 == 0 ? "s3cret-label" : nil))
            ended.append(
                try await Self.send(
                    .user(user, [first.key, second.key]), "alice-7f3e9d alice", in: store, at: 2000,
                    label: number % 3 == 0 ? "s3cret-label" : "shared-label"))
            _ = try await Self.send(.registration(other.key), "kept", in: store, at: 2000, label: "shared-label")
        }
        let alone = try await Self.send(.list([first.key, second.key]), "list-s3cret", in: store, at: 3000)
        let shared = try await Self.send(.list([first.key, other.key]), "kept-shared", in: store, at: 3000)
        let open = try await Self.send(
            .registration(second.key), "s3cret-payload", in: store, at: 3000, label: "s3cret-label", isEnded: false)
        for message in [ended[0], shared] {
            _ = try await store.keep(
                [Receipt(message: message, kind: .received, time: Self.time(4000))], of: first.key, in: Self.project,
                at: Self.time(4000))
        }
        _ = try await store.keep(
            [Receipt(message: shared, kind: .received, time: Self.time(4000))], of: other.key, in: Self.project,
            at: Self.time(4000))
        // The device goes to somebody else: the audit names both.
        let third = try await Self.register(4, user.rawValue, in: store)
        _ = try await Self.register(4, "carol", in: store)
        let before = try #require(try await store.report(ended[0], in: Self.project))
        let sums = try await Self.sums(in: store)
        #expect(sums["shared-label"] == 40 + 26 * 2)
        #expect(try Self.count(user.rawValue, in: directory) > 50)

        let erased = try await Self.erase(user, in: store)
        #expect(erased.registrations == 3 && erased.messages == 82 && erased.receipts == 2)
        #expect(erased.obstacle == nil)
        #expect(erased.auditEntries > 0)
        for secret in Self.secrets { #expect(try Self.count(secret, in: directory) == 0, "\(secret)") }
        #expect(try Self.count("kept-shared", in: directory) > 0 && Self.count("carol", in: directory) > 0)
        for registration in [first, second, third] {
            let now = try await store.registration(registration.id, in: Self.project)
            #expect(now?.isActive == false && now?.user == nil)
        }
        for message in [ended[0], ended[1], alone] {
            #expect(try await store.message(message, in: Self.project)?.body.isRemoved == true)
        }
        let after = try #require(try await store.report(ended[0], in: Self.project))
        #expect(after.message.facts.label == nil)
        let left = try await Self.sums(in: store)
        #expect(left["s3cret-label"] == nil && left["shared-label"] == 40)
        #expect(left.values.reduce(0, +) == sums.values.reduce(0, +), "they count without a label")
        #expect(after.ended == before.ended && after.receipts.isEmpty)
        #expect(try await store.report(shared, in: Self.project)?.receipts == [.received: 1])
        #expect(try await store.message(open, in: Self.project)?.body.isRemoved == true)
        let rows = try await store.export(
            project: Self.project, from: nil, to: Self.time(10_000), at: Self.time(10_000), after: nil, limit: 1000)
        #expect(rows.elements.contains { $0.message == ended[0] })
        #expect(try await store.lastColumn(of: "PRAGMA auto_vacuum") == ["2"])
        #expect(try await store.check() == [])
        // Again finds nothing, and writes nothing anew.
        let version = try await store.lastColumn(of: "PRAGMA schema_version")
        #expect(try await Self.erase(user, in: store) == ErasedUser())
        #expect(try await store.lastColumn(of: "PRAGMA schema_version") == version)
        try store.close()
        for secret in Self.secrets { #expect(try Self.count(secret, in: directory) == 0, "\(secret) after the end") }
    }
}
