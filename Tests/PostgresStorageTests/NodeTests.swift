import CoreMetrics
import Logging
import PostgresStorage
import PushModel
import Store
import StoreConformance
import Synchronization
import TestSupport
import Testing

@testable import Delivery

/// The gateways that share a database.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct NodeTests {
    private static let logger = Logger(label: "test")

    /// A store on a database, by a time that the test sets.
    private struct Node {
        let store: any AdministeredStore
        let nodes: PostgresNodes

        init(_ database: String, _ time: Shared<Timestamp>) throws {
            let store = try PostgresStore.open(
                url: database, role: .gateway, leaseTime: { time.withLock { $0 } }, logger: logger)
            self.store = store
            nodes = try PostgresStore.nodes(of: store, url: database, logger: logger)
        }
    }

    @Test func theFirstOfTheLivingOnesIsTold() async throws {
        let database = try await SampleDatabase.make()
        let time = Shared<Timestamp>(Timestamp(milliseconds: 1_000_000))
        let (a, b) = (try Node(database, time), try Node(database, time))
        let first = try await a.nodes.enter("a:1", version: "1.0", address: nil)
        let second = try await b.nodes.enter("b:1", version: "1.1", address: "http://b:8080")
        #expect(
            try await a.nodes.beat(first, address: "http://a:8080")
                == NodeStanding(count: 2, place: 0, isFirst: true))
        #expect(try await b.nodes.beat(second, address: nil) == NodeStanding(count: 2, place: 1, isFirst: false))
        var nodes = try await b.nodes.nodes()
        #expect(nodes.map(\.number) == [first, second])
        #expect(nodes.map(\.version) == ["1.0", "1.1"])
        #expect(nodes.map(\.address) == ["http://a:8080", "http://b:8080"])
        #expect(nodes.allSatisfy { $0.isLive })

        // One that is silent counts no more; when it comes back it is the first again.
        time.withLock { $0 = $0 + StoreNode.lifetime }
        #expect(try await b.nodes.beat(second, address: nil) == NodeStanding(count: 1, place: 0, isFirst: true))
        nodes = try await b.nodes.nodes()
        #expect(nodes.map(\.isLive) == [false, true])
        #expect(try await a.nodes.beat(first, address: nil) == NodeStanding(count: 2, place: 0, isFirst: true))

        let third = try await b.nodes.enter("c:1", version: "1.1", address: nil)
        #expect(try await b.nodes.beat(third, address: nil) == NodeStanding(count: 3, place: 2, isFirst: false))
        // One that is leaving makes room: it comes last.
        #expect(
            try await b.nodes.beat(second, address: nil, isLeaving: true)
                == NodeStanding(count: 3, place: 2, isFirst: false))
        #expect(try await b.nodes.beat(third, address: nil) == NodeStanding(count: 2, place: 1, isFirst: false))
        try await b.nodes.leave(third)

        // One that others have forgotten enters anew.
        try await b.nodes.leave(first)
        let error = await #expect(throws: StoreError.self) { try await a.nodes.beat(first, address: nil) }
        #expect(error?.isConflict == true)
        #expect(try await a.nodes.enter("a:1", version: "1.0", address: nil) > second)
        try a.store.close()
        try b.store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    /// What one node accepts the other knows after it looked: its load, and that there is work.
    @Test func whatOneNodeAcceptsTheOtherSees() async throws {
        let database = try await SampleDatabase.make()
        let time = Shared<Timestamp>(Timestamp(milliseconds: 1_000_000))
        let (a, b) = (try Node(database, time), try Node(database, time))
        let project = try #require(ProjectID(rawValue: "demo"))
        _ = try await b.nodes.catchUp()
        #expect(try await b.nodes.catchUp() == [])
        let app = try #require(AppID(rawValue: "com.example.app"))
        let token = try #require(DeviceToken(bytes: Array(repeating: 7, count: 32)))
        let request = RegistrationRequest(
            project: project, app: app, address: .apple(token, .production), appVersion: nil, owner: nil)
        let registration = try await a.store.register(request, at: Timestamp(milliseconds: 1)).registration
        _ = try await a.store.acceptOne(
            NewMessage(sampleFor: .registration(registration.key), in: project, at: 1000, number: 1))
        #expect(b.store.load.total.messages == 0)
        let change = try await b.nodes.catchUp()
        #expect(change.contains(.interactiveWork))
        #expect(b.store.load.total.messages == 1)
        #expect(try await b.nodes.catchUp() == [])
        try a.store.close()
        try b.store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    /// The ends of single messages that one node records the other reads, all that it asks for at once.
    @Test func endsOfOneNodeAreReadByTheOther() async throws {
        let database = try await SampleDatabase.make()
        let time = Shared<Timestamp>(Timestamp(milliseconds: 1_000_000))
        let (a, b) = (try Node(database, time), try Node(database, time))
        let project = try #require(ProjectID(rawValue: "demo"))
        let worker = try await a.store.enroll("a", for: .seconds(30))
        var claims: [ClaimedDelivery] = []
        for number in 1...3 {
            let token = try #require(DeviceToken(bytes: Array(repeating: UInt8(number), count: 32)))
            let request = RegistrationRequest(
                project: project, app: try #require(AppID(rawValue: "com.example.app")),
                address: .apple(token, .production), appVersion: nil, owner: nil)
            let registration = try await a.store.register(request, at: Timestamp(milliseconds: 1)).registration
            let message = NewMessage(
                sampleFor: .registration(registration.key), in: project, at: 1000, number: UInt64(number))
            guard case .accepted(_, let claim)? = try await a.store.accept([message], claimedBy: worker).first else {
                Issue.record("not accepted")
                return
            }
            claims += claim
        }
        let messages = claims.map(\.message)
        #expect(try await b.nodes.ends(of: messages) == [:])
        #expect(try await b.nodes.ends(of: []) == [:])
        _ = try await a.store.settle(
            [claims[0].ended(), claims[1].ended(.rejected, reason: "Unregistered")], by: worker)
        let unknown = MessageID(acceptedAt: Timestamp(milliseconds: 5), random: 99)
        #expect(
            try await b.nodes.ends(of: messages + [unknown]) == [
                messages[0]: RecordedEnd(outcome: .accepted, reason: nil),
                messages[1]: RecordedEnd(outcome: .rejected, reason: "Unregistered"),
            ])
        try a.store.close()
        try b.store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    /// A node that was told to stop counts no more, and the others look for what it gives back until it has left.
    @Test func whatALeavingNodeGivesBackIsLookedFor() async throws {
        let database = try await SampleDatabase.make()
        let time = Shared<Timestamp>(Timestamp(milliseconds: 1_000_000))
        let (a, b) = (try Node(database, time), try Node(database, time))
        let first = try await a.nodes.enter("a:1", version: "1.0", address: nil)
        let second = try await b.nodes.enter("b:1", version: "1.0", address: nil)
        _ = try await b.nodes.catchUp()
        func lives() async throws {
            time.withLock { $0 = $0 + .milliseconds(250) }
            _ = try await a.nodes.beat(first, address: nil)
        }
        try await lives()
        #expect(try await b.nodes.catchUp() == [])
        for word in 0..<3 {
            time.withLock { $0 = $0 + .milliseconds(250) }
            let own = try await a.nodes.beat(first, address: nil, isLeaving: true)
            #expect(own == NodeStanding(count: 2, place: 1, isFirst: false))
            // That there is one node less is new with its first word.
            #expect(
                try await b.nodes.catchUp()
                    == (word == 0 ? [.interactiveWork, .bulkWork, .nodes] : [.interactiveWork, .bulkWork]))
            #expect(try await b.nodes.catchUp() == [])
        }
        #expect(try await b.nodes.beat(second, address: nil) == NodeStanding(count: 1, place: 0, isFirst: true))
        #expect(try await b.nodes.catchUp() == [])
        try await a.nodes.leave(first)
        #expect(try await b.nodes.catchUp() == [.interactiveWork, .bulkWork, .nodes])
        _ = try await a.nodes.enter("a:2", version: "1.0", address: nil)
        #expect(try await b.nodes.catchUp() == [.interactiveWork, .bulkWork, .nodes])
        try a.store.close()
        try b.store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    @Test func aProviderTokenIsReplacedByWhoFoundIt() async throws {
        let database = try await SampleDatabase.make()
        let time = Shared<Timestamp>(Timestamp(milliseconds: 1_000_000))
        let (a, b) = (try Node(database, time), try Node(database, time))
        let key = ProviderKeyName(teamID: "TEAM123456", keyID: "ABC1234567")
        let other = ProviderKeyName(teamID: "TEAM123456", keyID: "XYZ1234567")
        func token(_ seconds: Int64, _ byte: UInt8) -> SealedProviderToken {
            SealedProviderToken(issuedAt: Timestamp(seconds: seconds), bytes: [byte, 0, 255])
        }
        #expect(try await a.nodes.providerToken(of: key) == nil)
        #expect(try await a.nodes.keep(token(900, 1), of: key, replacing: nil) == token(900, 1))
        // It found none either, but came later.
        #expect(try await b.nodes.keep(token(901, 2), of: key, replacing: nil) == token(900, 1))
        #expect(try await b.nodes.providerToken(of: key) == token(900, 1))
        #expect(try await b.nodes.keep(token(902, 3), of: key, replacing: token(900, 1)) == token(902, 3))
        #expect(try await a.nodes.keep(token(903, 4), of: key, replacing: token(900, 1)) == token(902, 3))
        #expect(try await a.nodes.keep(token(904, 5), of: other, replacing: token(900, 1)) == token(904, 5))
        // A day later those that no node replaced are gone.
        time.withLock { $0 = Timestamp(seconds: 904 + 86_401) }
        #expect(try await a.nodes.keep(token(87_000, 6), of: key, replacing: token(902, 3)) == token(87_000, 6))
        #expect(try await a.nodes.providerToken(of: other) == nil)
        #expect(try await b.nodes.providerToken(of: key) == token(87_000, 6))
        try a.store.close()
        try b.store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    /// What any node accepted counts against the limits of all, until it has ended, whichever node ends it.
    @Test func limitsOfWhatWaitsHoldForAllNodesTogether() async throws {
        let database = try await SampleDatabase.make()
        let time = Shared<Timestamp>(Timestamp(milliseconds: 1_000_000))
        let (a, b) = (try Node(database, time), try Node(database, time))
        let project = try #require(ProjectID(rawValue: "demo"))
        var limits = DeliveryLimits()
        limits.projectMessagesWaiting = 3
        let admission = Admission(in: b.store, limits: limits, metrics: NOOPMetricsHandler.instance)
        let worker = try await a.store.enroll("a", for: .seconds(30))
        func accept(_ number: UInt8, in node: Node) async throws -> [ClaimedDelivery] {
            let token = try #require(DeviceToken(bytes: Array(repeating: number, count: 32)))
            let request = RegistrationRequest(
                project: project, app: try #require(AppID(rawValue: "com.example.app")),
                address: .apple(token, .production), appVersion: nil, owner: nil)
            let registration = try await node.store.register(request, at: Timestamp(milliseconds: 1)).registration
            let message = NewMessage(
                sampleFor: .registration(registration.key), in: project, at: 1000, number: UInt64(number))
            guard case .accepted(_, let claims)? = try await node.store.accept([message], claimedBy: worker).first
            else { return [] }
            return claims
        }
        let claims = try await accept(1, in: a) + accept(2, in: a)
        #expect(claims.count == 2)
        _ = try await accept(3, in: b)
        _ = try await b.nodes.catchUp()
        #expect(admission.full(project, bytes: 10) == .projectMessages)
        // The node that accepted them ends; they wait all the same.
        _ = try await a.store.settle([claims[0].ended()], by: worker)
        try a.store.close()
        _ = try await b.nodes.catchUp()
        #expect(admission.full(project, bytes: 10) == nil)
        _ = try await accept(4, in: b)
        #expect(admission.full(project, bytes: 10) == .projectMessages)
        _ = try await b.store.settle([claims[1].ended()], by: worker)
        #expect(admission.full(project, bytes: 10) == nil)
        try b.store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    /// A node that listens hears of a commit of another one.
    @Test func nodesTellEachOther() async throws {
        let database = try await SampleDatabase.make()
        let time = Shared<Timestamp>(Timestamp(milliseconds: 1_000_000))
        let (a, b) = (try Node(database, time), try Node(database, time))
        let tasks = [Task { await a.nodes.tellOthers() }, Task { await b.nodes.tellOthers() }]
        let project = try #require(ProjectID(rawValue: "demo"))
        let app = try #require(AppID(rawValue: "com.example.app"))
        let heard = Task { await b.nodes.otherCommit(atMost: .longerThanAnyTest) }
        let number = Mutex(UInt8(0))
        // The first of them may be told before the other one listens.
        let telling = Task {
            while !Task.isCancelled {
                let byte = number.withLock { number in
                    number += 1
                    return number
                }
                let token = try #require(DeviceToken(bytes: Array(repeating: byte, count: 32)))
                _ = try await a.store.register(
                    RegistrationRequest(
                        project: project, app: app, address: .apple(token, .production), appVersion: nil, owner: nil),
                    at: Timestamp(milliseconds: Int64(byte)))
                _ = try await a.store.acceptOne(
                    NewMessage(
                        sampleFor: .topic(try #require(Topic(rawValue: "news"))), in: project, at: 1000,
                        number: UInt64(byte)))
                // Nothing tells when the other one listens.
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        await heard.value
        telling.cancel()
        _ = await telling.result
        for task in tasks {
            task.cancel()
            await task.value
        }
        try a.store.close()
        try b.store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }
}
