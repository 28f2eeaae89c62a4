import HTTPTypes
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import Console

/// Review and Send: what is counted when, what is typed, what is sent once.
struct ComposerTests {
    private static let send = "/console/p/demo/compose/send"

    /// Registers devices and lets them follow a topic.
    private static func fill(_ topic: String, _ numbers: ClosedRange<Int>, _ scene: ConsoleScene) async throws {
        var keys: [RegistrationKey] = []
        for number in numbers { keys.append(try await scene.register(String(number, radix: 16)).key) }
        _ = try await scene.store.subscribe(
            keys, to: #require(Topic(rawValue: topic)), at: scene.clock.now)
    }

    /// The signed figures that a page of Review carries.
    private static func reviewed(_ page: Answer) throws -> String {
        String(try #require(page.text.firstMatch(of: /name="reviewed" value="([^"]+)"/)).output.1)
    }

    private static func messages(_ scene: ConsoleScene) async throws -> [DeliveryReport] {
        try await scene.store.reports(in: scene.demo, after: nil, limit: 10).elements
    }

    @Test func aMassSendAsksForTheReviewedNumberAndForAProof() async throws {
        let scene = try await ConsoleScene()
        let mass = ComposerCheck.massLimit + 1
        try await Self.fill("all", 1...mass, scene)
        var browser = try await scene.signIn("sender")
        _ = try await browser.get("/console/p/demo/compose")
        var form = ["act": "send", "kind": "topic", "target": "all", "title": "Hello", "draft": "draft-000002"]
        let review = try await browser.post("/console/p/demo/compose", form)
        #expect(review.status == 200 && review.text.contains("type the number <strong>1001</strong>"))
        let reviewed = try Self.reviewed(review)
        for count in ["", "1000", "yes"] {
            let answer = try await browser.post(
                Self.send, ["draft": "draft-000002", "reviewed": reviewed, "count": count])
            #expect(answer.status == 400 && answer.text.contains("1001"))
        }
        // What is not signed, or of other words, has no review.
        let forged = reviewed.replacing("1001.", with: "1002.")
        for text in ["", forged] {
            let answer = try await browser.post(
                Self.send, ["draft": "draft-000002", "reviewed": text, "count": "1002"])
            #expect(answer.status == 400 && answer.text.contains("Look at it once more"))
        }
        form["title"] = "Other words"
        _ = try await browser.post("/console/p/demo/compose", form)
        let changed = try await browser.post(
            Self.send, ["draft": "draft-000002", "reviewed": reviewed, "count": "1001"])
        #expect(changed.status == 400 && changed.text.contains("Look at it once more"))
        form["title"] = "Hello"
        _ = try await browser.post("/console/p/demo/compose", form)
        scene.clock.advance(by: SessionKeeper.proofLimit)
        let unproven = try await browser.post(
            Self.send, ["draft": "draft-000002", "reviewed": reviewed, "count": "1,001"])
        #expect(unproven.location?.hasPrefix("/console/prove") == true)
        #expect(try await Self.messages(scene).isEmpty)

        // A topic that changes all the time is sent to with the number that was reviewed, until it has grown by a tenth.
        var proven = try await scene.signIn("sender")
        let again = try Self.reviewed(try await proven.get("/console/p/demo/compose/review?draft=draft-000002"))
        try await Self.fill("all", (mass + 1)...(mass + 101), scene)
        let grown = try await proven.post(Self.send, ["draft": "draft-000002", "reviewed": again, "count": "1001"])
        #expect(grown.status == 400 && grown.text.contains("grew") && grown.text.contains("<strong>1102</strong>"))
        let last = try Self.reviewed(grown)
        try await Self.fill("all", (mass + 102)...(mass + 103), scene)
        let sent = try await proven.post(Self.send, ["draft": "draft-000002", "reviewed": last, "count": "1,102"])
        #expect(sent.location?.hasPrefix("/console/p/demo/messages/") == true)
        #expect(try await proven.post(Self.send, ["draft": "draft-000002", "reviewed": last]).status == 410)
    }

    @Test func theAudienceIsCountedAtReviewAlone() async throws {
        let scene = try await ConsoleScene()
        try await Self.fill("all", 1...3, scene)
        var browser = try await scene.signIn("sender")
        _ = try await browser.get("/console/p/demo/compose")
        // Kept counts say three at most; who looks at each finds none.
        let form = [
            "act": "review", "kind": "condition", "target": "'all' in topics && !('all' in topics)", "title": "Hello",
            "draft": "draft-000003",
        ]
        let check = try await browser.post("/console/p/demo/compose/check", form)
        #expect(check.text.contains("Reaches at most 3 devices."), "\(check.text)")
        _ = try await browser.post("/console/p/demo/compose", form)
        let review = try await browser.get("/console/p/demo/compose/review?draft=draft-000003")
        #expect(review.text.contains("Reaches 0 devices.") && review.text.contains(#"<p class="figure">0</p>"#))
    }

    @Test func aSessionCountsOneAudienceAtATimeAndACountIsUsedAgain() {
        let (counts, now) = (AudienceCounts(), ConsoleScene.startTime)
        #expect(counts.begin([1]) && !counts.begin([1]) && counts.begin([2]))
        counts.end([1])
        #expect(counts.begin([1]))
        let reviewed = ReviewedAudience(count: 90, bound: 100, time: now)
        counts.keep(reviewed, of: "all")
        #expect(counts.found("all", bound: 105, at: now + .seconds(59)) == reviewed)
        #expect(counts.found("all", bound: 111, at: now) == nil && counts.found("none", bound: 100, at: now) == nil)
        #expect(counts.found("all", bound: 100, at: now + AudienceCounts.lifetime) == nil)
    }

    @Test func aSecondClickSendsNothingAndAnEditAfterSendingIsAnotherMessage() async throws {
        let scene = try await ConsoleScene()
        try await Self.fill("news", 1...1, scene)
        var browser = try await scene.signIn("sender")
        _ = try await browser.get("/console/p/demo/compose")
        var form = [
            "act": "send", "kind": "topic", "target": "news", "title": "Hello", "expiry": "3600", "pace": "within:10",
            "draft": "draft-000004",
        ]
        let first = try await browser.post("/console/p/demo/compose", form)
        #expect(first.location?.hasPrefix("/console/p/demo/messages/") == true, "\(first.text)")
        scene.clock.advance(by: .seconds(2))
        // The times that the message has differ by now; the words do not.
        #expect(try await browser.post("/console/p/demo/compose", form).location == "/console/p/demo/messages")
        #expect(try await Self.messages(scene).count == 1)
        form["title"] = "Hello again"
        let edited = try await browser.post("/console/p/demo/compose", form)
        #expect(edited.location?.hasPrefix("/console/p/demo/messages/") == true, "\(edited.text)")
        #expect(try await Self.messages(scene).count == 2)
    }

    @Test func aMessageThatIsTooLargeIsRefusedAndItsDraftStays() async throws {
        let scene = try await ConsoleScene()
        var browser = try await scene.signIn("sender")
        _ = try await browser.get("/console/p/demo/compose")
        var form = ["act": "save", "kind": "topic", "target": "news", "title": "Hello", "draft": "draft-000005"]
        _ = try await browser.post("/console/p/demo/compose", form)
        form["body"] = String(repeating: "é", count: 33 << 10)
        let refused = try await browser.post("/console/p/demo/compose", form)
        #expect(refused.status == 400 && refused.text.contains("more than 64 KiB"))
        let check = try await browser.post("/console/p/demo/compose/check", form)
        #expect(check.status == 413 && check.text.contains("more than 64 KiB"))
        let drafts = try await scene.store.drafts(of: #require(OperatorName(rawValue: "sender")), in: scene.demo)
        #expect(drafts.map { ComposerForm(draft: $0.fields)["title"] } == ["Hello"])
    }
}
