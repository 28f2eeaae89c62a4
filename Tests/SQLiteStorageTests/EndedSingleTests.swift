import Foundation
import Logging
import PushModel
import Store
import StoreConformance
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// A message to one registration whose payload was removed is a short row elsewhere, and all that was kept of it answers.
@Suite(.timeLimit(.minutes(5)))
struct EndedSingleTests {
    private static let day: Int64 = 86_400_000
    private static let rules = RetentionRules(standard: RetentionPolicy(ledgerDays: 10, payloadDays: 5))
    private static let credential = CredentialUse(id: "key-1", name: "shop", role: .sender, address: "192.0.2.7")

    private let directory: TestDirectory
    private let store: SQLiteStore
    private let project = ProjectID(rawValue: "demo")!

    init() throws {
        directory = try TestDirectory()
        store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
    }

    private func register(_ count: Int) async throws -> [Registration] {
        var registrations: [Registration] = []
        for number in 0..<count {
            let request = RegistrationRequest(
                project: project, app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number / 256), UInt8(number % 256)])!, .production),
                appVersion: nil)
            registrations.append(try await store.register(request, at: Timestamp(milliseconds: 0)).registration)
        }
        return registrations
    }

    private func message(_ number: Int, to key: RegistrationKey, label: String? = nil) -> NewMessage {
        let accepted = Timestamp(milliseconds: 1_790_000_000_000 + Int64(number) * 20)
        return NewMessage(
            id: MessageID(acceptedAt: accepted, random: .random(in: 0 ... .max)), project: project,
            recipient: .registration(key),
            content: PlainContent("{\"data\":{\"a\":\"\(String(repeating: "x", count: 80))\"}}"), lane: .interactive,
            facts: MessageFacts(
                label: label.flatMap(AnalyticsLabel.init), isDisplayed: true, collapseKey: label, priority: 10,
                timeToLiveSeconds: 2_419_200, credential: Self.credential),
            acceptedAt: accepted, expiresAt: accepted + (label == nil ? .seconds(2_419_200) : .seconds(60)))
    }

    private func deliver(_ messages: [NewMessage], by worker: WorkerID) async throws {
        let claims = try await store.accept(messages, claimedBy: worker).flatMap { result -> [ClaimedDelivery] in
            guard case .accepted(_, let claims) = result else { throw StoreError(.failed, "not accepted") }
            return claims
        }
        _ = try await store.settle(
            claims.map { claim in
                Settlement(
                    delivery: claim,
                    result: .ended(
                        LedgerEntry(
                            outcome: .accepted, reason: nil, verdict: nil, history: AttemptHistory(attempts: 1),
                            time: claim.acceptedAt + .milliseconds(40), latencyMilliseconds: 40,
                            pushID: PushID(message: claim.message, registration: claim.registration.key))))
            }, by: worker)
    }

    private func remove(_ part: RetentionPart, daysAfter days: Int64) async throws {
        let now = Timestamp(milliseconds: 1_790_000_000_000 + days * Self.day)
        while try await !store.remove(part, by: Self.rules, at: now).isDone {}
    }

    private func number(_ sql: String) async throws -> Int {
        try #require(Int(try await store.lastColumn(of: sql)[0]))
    }

    @Test func allThatWasKeptOfItAnswers() async throws {
        let registrations = try await register(3)
        let worker = try await store.enroll("first", for: .seconds(1 << 40))
        let messages = (0..<60).map { number in
            message(number, to: registrations[number % 3].key, label: number == 7 ? "sale" : nil)
        }
        try await deliver(messages, by: worker)
        let (id, key) = (messages[7].id, registrations[1].key)
        let receipt = Receipt(message: id, kind: .received, time: messages[7].acceptedAt + .seconds(1))
        #expect(try await store.keep([receipt], of: key, in: project, at: receipt.time) == [true])
        let before = try await answers(id, registrations[1])
        try await remove(.payloads, daysAfter: 6)
        #expect(try await number("SELECT count(*) FROM ended_single") == 60)
        #expect(try await number("SELECT count(*) FROM message") == 0)
        #expect(try await number("SELECT count(*) FROM single_kind") == 1)
        let after = try await answers(id, registrations[1])
        #expect(after.all == before.all && before.all.count == 60 + 1 + 20 + 61)
        #expect(after.report?.message.facts == messages[7].facts)
        #expect(after.report?.message.expiresAt == messages[7].expiresAt)
        #expect(try await store.message(id, in: project)?.body.isRemoved == true)
        #expect(try await store.control(id, in: project, .cancel, at: receipt.time, by: .gateway) == .complete)
        let opened = Receipt(message: id, kind: .opened, time: receipt.time)
        #expect(try await store.keep([opened], of: key, in: project, at: receipt.time) == [true])
        #expect(try await store.check() == [])
        try await remove(.messages, daysAfter: 11)
        try await remove(.formerRegistrations, daysAfter: 11)
        for table in ["ended_single", "single_kind", "ledger_block", "receipt", "receipt_tally"] {
            #expect(try await number("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
        #expect(try await store.check() == [])
        try store.close()
    }

    /// What the store says of a message and of a device, a line each.
    private func answers(_ id: MessageID, _ registration: Registration) async throws -> (
        all: [String], report: DeliveryReport?
    ) {
        let report = try await store.report(id, in: project)
        let newest = try await store.reports(in: project, after: nil, limit: 100).elements
        let deliveries = try await store.deliveries(of: id, in: project, outcome: nil, after: nil, limit: 10).elements
        let toDevice = try await store.deliveries(to: registration.id, in: project, after: nil, limit: 100).elements
        let exported = try await store.export(
            project: project, from: nil, to: Timestamp(milliseconds: 1 << 50), at: Timestamp(milliseconds: 1 << 50),
            after: nil, limit: 1000
        ).elements
        let all =
            newest.map(Self.line) + deliveries.map(Self.line)
            + (toDevice + exported).map { row in
                let receipt = row.receipt.map { "\($0.kind) \($0.time)" } ?? ""
                return "\(row.message) \(row.facts) \(row.cursor) \(Self.line(row.delivery)) \(receipt)"
            }
        return (all, report)
    }

    private static func line(_ report: DeliveryReport) -> String {
        let ended = LedgerOutcome.allCases.map { report.ended[$0] ?? -1 }
        let receipts = ReceiptKind.allCases.map { report.receipts[$0] ?? 0 }
        let message = report.message
        return """
            \(message.id) \(message.recipient) \(message.audience) \(message.acceptedAt) \(message.expiresAt) \
            \(message.facts) \(message.options) \(report.state) \(String(describing: report.completedAt)) \
            \(report.recipients) \(ended) \(report.inFlight) \(String(describing: report.latency)) \(receipts)
            """
    }

    private static func line(_ delivery: DeliveryRecord) -> String {
        let receipts = ReceiptKind.allCases.map { String(describing: delivery.receipts[$0]) }
        return """
            \(delivery.registration) \(delivery.app) \(String(describing: delivery.outcome)) \
            \(delivery.history) \(String(describing: delivery.endedAt)) \(String(describing: delivery.pushID)) \
            \(receipts)
            """
    }

    @Test func newestMessagesOfBothTablesAreInOneOrder() async throws {
        let key = try await register(1)[0].key
        let worker = try await store.enroll("first", for: .seconds(1 << 40))
        let old = (0..<20).map { message($0, to: key) }
        try await deliver(old, by: worker)
        try await remove(.payloads, daysAfter: 6)
        let new = (20..<30).map { message($0, to: key) }
        try await deliver(new, by: worker)
        let first = try await store.reports(in: project, after: nil, limit: 15)
        let rest = try await store.reports(in: project, after: first.nextCursor, limit: 100)
        let listed = (first.elements + rest.elements).map(\.message.id)
        #expect(listed == (old + new).map(\.id).reversed())
        let complete = try await store.reports(in: project, state: .complete, after: nil, limit: 100)
        #expect(complete.elements.map(\.message.id) == listed)
        try store.close()
    }

    /// What a message to one registration leaves is its row, three index entries and its part of a ledger block.
    @Test func itTakesAtMost150Bytes() async throws {
        let count = 20_000
        let registrations = try await register(500)
        let worker = try await store.enroll("first", for: .seconds(1 << 40))
        let empty = try await number("PRAGMA page_count")
        for first in stride(from: 0, to: count, by: 1000) {
            try await deliver(
                (first..<first + 1000).map { message($0, to: registrations.randomElement()!.key) }, by: worker)
        }
        try await remove(.payloads, daysAfter: 6)
        try await remove(.freePages, daysAfter: 6)
        let bytes = try await number("PRAGMA page_count") - empty
        let each = Double(bytes * 4096) / Double(count)
        #expect(each <= 150, "\(each) bytes")
        try store.close()
    }

    @Test func idsArePackedInTheirOrderAndComeBack() {
        var generator = SystemRandomNumberGenerator()
        let made = (0..<100).map { number in
            MessageID(
                acceptedAt: Timestamp(milliseconds: 1_790_000_000_000 + Int64(number)), random: generator.next())
        }
        for id in made { #expect(id.packed.count == 15 && MessageID(packed: id.packed) == id) }
        #expect(zip(made, made.dropFirst()).allSatisfy { $0.packed.lexicographicallyPrecedes($1.packed) })
        let others = [
            "0:0-0000000000000000", "0:01-0000000000000001", "0:1-000000000000000A", "0:1-00", "1", "a",
            "1000000000000000001", "0:99999999999999999-ffffffffffffffff", "0:100000000000000000-ffffffffffffffff",
            "0:1x-0000000000000001", "0:1-000000000000000g", "0:9007199254740992-0000000000000000",
        ]
        for text in others {
            let id = MessageID(rawValue: text)!
            #expect(MessageID(packed: id.packed) == id, "\(text)")
        }
        #expect(Set(others.map { MessageID(rawValue: $0)!.packed }).count == others.count)
        #expect(MessageID(packed: []) == nil && MessageID(packed: [6, 1]) == nil && MessageID(packed: [255]) == nil)
    }
}
