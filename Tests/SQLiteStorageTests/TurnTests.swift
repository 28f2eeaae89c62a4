import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// No process keeps the others from the store: imports beside a gateway, counts of audiences.
@Suite(.timeLimit(.minutes(5)))
struct TurnTests {
    private let directory: TestDirectory
    private let project = ProjectID(rawValue: "demo")!

    init() throws {
        directory = try TestDirectory()
    }

    private func open(_ role: StoreRole = .gateway) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.file("data"), role: role, logger: Logger(label: "test"))
    }

    @Test func anImportRestsBesideAGatewayAsLongAsOneTakesToAskAgain() {
        let beside = ImportPace(isBesideGateway: true)
        #expect(beside.rest >= .milliseconds(100) && beside.chunkTime <= beside.rest)
        let alone = ImportPace(isBesideGateway: false)
        #expect(alone.rest == .zero && alone.chunkTime > beside.chunkTime)
    }

    @Test func aChunkGrowsAndShrinksWithTheTimeItTakes() {
        for pace in [ImportPace(isBesideGateway: true), ImportPace(isBesideGateway: false)] {
            let goal = pace.chunkTime
            #expect(pace.size(after: 500, took: goal / 10, limit: 4096) == 1000)
            #expect(pace.size(after: 500, took: goal, limit: 4096) == 500)
            #expect(pace.size(after: 500, took: goal * 10, limit: 4096) == 250)
            #expect(pace.size(after: 60, took: goal * 10, limit: 4096) == 50)
            #expect(pace.size(after: 4000, took: .zero, limit: 4096) == 4096)
        }
    }

    @Test func aCommandKnowsWhetherAGatewayRuns() throws {
        let gateway = try open()
        let command = try open(.command)
        #expect(command.isBesideGateway && !gateway.isBesideGateway)
        try gateway.close()
        #expect(!command.isBesideGateway)
        let next = try open()
        #expect(command.isBesideGateway)
        try next.close()
    }

    @Test(arguments: [1, 2, 7, 20, 21, 1000])
    func anAudienceIsTheSameInStepsOfAnySize(step: Int) async throws {
        let store = try open()
        let (news, sport) = (Topic(rawValue: "news")!, Topic(rawValue: "sport")!)
        var rows = (0..<120).map { number in
            ImportedRegistration(
                app: AppID(rawValue: "com.example.app")!,
                address: .apple(DeviceToken(bytes: [1, UInt8(number)])!, .production))
        }
        for index in rows.indices {
            if index % 3 == 0 { rows[index].topics.append(ImportedTopic(news)) }
            if index % 2 == 0 { rows[index].topics.append(ImportedTopic(sport)) }
        }
        let time = Timestamp(milliseconds: 1)
        _ = try await store.importRegistrations(
            rows, into: project, source: "f", position: ImportPosition(fingerprint: 1, line: 1, offset: 1),
            at: time, by: .gateway)
        let keys = try await store.registrations(in: project, .active, after: nil, limit: 200).elements.map(\.key)
        for key in [keys[0], keys[5], keys[119]] {
            try await store.end(key, RegistrationEnd(time: time, cause: .deleted))
        }
        let condition = Condition.Expression.all(.subscribed(news), .not(.subscribed(sport)))
        let neither = Condition.Expression.not(.subscribed(sport))
        let expected: [(Recipient<RegistrationKey, [RegistrationKey]>, Int)] = [
            (.topic(news), 39), (.topic(sport), 59), (.topic(Topic(rawValue: "none")!), 0),
            (.condition(Condition(text: "", expression: condition)), 20),
            (.condition(Condition(text: "", expression: neither)), 58), (.list(keys), 117),
            (.list(Array(keys.prefix(10))), 8),
        ]
        for (recipient, count) in expected {
            #expect(try await store.audience(of: recipient, in: project, step: step) == count, "\(recipient)")
        }
    }
}
