import PushModel
import Store
import TestSupport
import Testing

@testable import Delivery

/// Counts of many names in few series.
struct FrequentNamesTests {
    private static func name(_ text: String) -> FrequentNames.Name {
        FrequentNames.Name(project: Sample.projectID, text: text)
    }

    private static func sum(_ ends: [NamedEnds]) -> Int { ends.reduce(0) { $0 + $1.count } }

    @Test func theFirstFiftyHaveSeriesOfTheirOwnAndTheOthersOne() {
        var names = FrequentNames()
        for number in 0..<80 { names.add(EndCounts(2, 1, 0, 0), of: Self.name("topic-\(number)")) }
        let ends = names.ends(of: .topic)
        #expect(Set(ends.map(\.name)).count == 51)
        #expect(Self.sum(ends) == 240)
        let others = ends.filter { $0.name == NamedEnds.other && $0.project == NamedEnds.other }
        #expect(others.map(\.outcome) == [.accepted, .rejected])
        #expect(others.map(\.count) == [60, 30])
    }

    @Test func aNameThatBecomesFrequentGetsAPlaceAndTheOthersNeverFall() {
        var names = FrequentNames()
        for number in 0..<50 { names.add(EndCounts(10 + number, 0, 0, 0), of: Self.name("old-\(number)")) }
        var others = 0
        for _ in 0..<5 {
            names.add(EndCounts(3, 0, 0, 0), of: Self.name("new"))
            let ends = names.ends(of: .label)
            let now = Self.sum(ends.filter { $0.name == NamedEnds.other })
            #expect(now >= others)
            others = now
        }
        let ends = names.ends(of: .label)
        // Nine before it was above the least frequent one's ten stay with the others.
        #expect(ends.first { $0.name == "new" }?.count == 6)
        #expect(others == 9)
        #expect(!ends.contains { $0.name == "old-0" })
        #expect(Set(ends.map(\.name)).count == 51)
    }

    @Test func namesWithoutEndAreBounded() {
        var random = SeededRandom(seed: 7)
        var names = FrequentNames()
        var total = 0
        for _ in 0..<4000 {
            // A few that are frequent among many that come once.
            let number =
                Bool.random(using: &random)
                ? Int.random(in: 0..<10, using: &random) : Int.random(in: 10..<1_000_000, using: &random)
            names.add(EndCounts(1, 0, 0, 0), of: Self.name("n\(number)"))
            total += 1
        }
        let ends = names.ends(of: .topic)
        #expect(ends.count <= 51)
        #expect(Self.sum(ends) <= total)
        #expect((0..<10).allSatisfy { number in ends.contains { $0.name == "n\(number)" && $0.count > 150 } })
    }

    @Test func whatAMessageIsAboutIsKnownWhileThereIsRoom() throws {
        let subjects = MessageSubjects(limit: 2)
        let label = AnalyticsLabel(rawValue: "spring")!
        let ids = try (0..<3).map { try #require(MessageID(rawValue: "0:1-\($0)")) }
        for id in ids { subjects.note(try Self.message(id, to: .topic(Sample.topic)), label: nil) }
        #expect(subjects.subject(of: ids[0]) == nil)
        #expect(
            subjects.subject(of: ids[1])?.topic == Sample.topic && subjects.subject(of: ids[2])?.topic == Sample.topic)
        subjects.note(try Self.message(ids[2], to: .topic(Sample.topic)), label: label)
        #expect(subjects.subject(of: ids[1]) != nil)
        let plain = try #require(MessageID(rawValue: "0:2-0"))
        subjects.note(try Self.message(plain, to: .list(3)), label: nil)
        #expect(subjects.subject(of: plain) == nil && subjects.subject(of: ids[1]) != nil)
    }

    private static func message(_ id: MessageID, to recipient: Recipient<RegistrationID, Int>) throws -> Message {
        Message(
            id: id, project: Sample.projectID, recipient: recipient, audience: 3, body: .decoded(try Sample.content()),
            options: DeliveryOptions(), lane: .bulk, acceptedAt: Sample.start, expiresAt: Sample.start)
    }
}
