import PushModel
import Store
import Testing

extension ConformanceCase {
    static let messages: [ConformanceCase] = [
        ConformanceCase("a message is read as it was accepted") { scene in
            let made = try await scene.register(1)
            let message = try await scene.send(to: made)
            let found = try #require(try await scene.store.message(message.id, in: scene.project))
            #expect(found.id == message.id && found.recipient == message.recipient)
            #expect(found.content.source == message.content.source)
            #expect(found.acceptedAt == message.acceptedAt && found.expiresAt == message.expiresAt)
            #expect(found.lane == .interactive)
            #expect(try await scene.store.message(message.id, in: ProjectID(rawValue: "other")!) == nil)
        },
        ConformanceCase("the facts of a message stand in its report") { scene in
            let message = try await scene.send(to: try await scene.register(1))
            let facts = try await scene.report(message).message.facts
            #expect(
                facts
                    == MessageFacts(
                        label: AnalyticsLabel(rawValue: "spring"), isDisplayed: true, collapseKey: "news", priority: 10,
                        timeToLiveSeconds: 3600))
        },
        ConformanceCase("a topic without subscribers is complete at once") { scene in
            let message = try await scene.broadcast(Scene.topic("nobody"), at: 1000)
            let report = try await scene.report(message)
            #expect(message.recipient == .topic(Scene.topic("nobody"), audience: 0))
            #expect(report.state == .complete && report.completedAt == Timestamp(milliseconds: 1000))
            #expect(report.recipients == 0 && report.inFlight == 0 && report.latency == nil)
            #expect(scene.store.activeMessages == 0)
            #expect(try await scene.claimPage() == nil)
        },
        ConformanceCase("a single send counts one recipient in flight from the start") { scene in
            let report = try await scene.report(try await scene.send(to: try await scene.register(1)))
            #expect(report.state == .active && report.recipients == 1 && report.inFlight == 1)
        },
        ConformanceCase("active messages are counted until they are complete") { scene in
            _ = try await scene.send(to: try await scene.register(1))
            _ = try await scene.audience(1, of: Scene.topic("news"), from: 2)
            _ = try await scene.broadcast(Scene.topic("news"))
            #expect(scene.store.activeMessages == 2)
            try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() })
            #expect(scene.store.activeMessages == 1)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(page.deliveries.map { $0.ended() })
            #expect(scene.store.activeMessages == 0)
        },
        ConformanceCase("messages accepted at the same time each get their own answer") { scene in
            let made = try await scene.register(1)
            let ids = 40
            let messages = try (0..<200).map { number in
                try scene.newMessage(
                    .registration(made.key, made.id), at: 1000, number: UInt64(number % ids))
            }
            let answers = await withTaskGroup(of: Bool.self) { [store = scene.store] group in
                for message in messages {
                    group.addTask {
                        do throws(StoreError) {
                            return try await store.accept(message).id == message.id
                        } catch {
                            #expect(error.code == .failed)
                            return false
                        }
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == ids)
            #expect(scene.store.activeMessages == ids)
            #expect(try await scene.claimDue(.interactive).count == ids)
        },
    ]

    static let ledger: [ConformanceCase] = [
        ConformanceCase("reports come the newest first, page by page") { scene in
            let made = try await scene.register(1)
            var ids: [MessageID] = []
            for time in 0..<5 { ids.append(try await scene.send(to: made, at: 1000 + Int64(time)).id) }
            var listed: [MessageID] = []
            var cursor: String?
            repeat {
                let page = try await scene.store.reports(in: scene.project, after: cursor, limit: 2)
                listed += page.elements.map(\.message.id)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(listed == ids.reversed())
            let other = try await scene.store.reports(in: ProjectID(rawValue: "other")!, after: nil, limit: 2)
            #expect(other.elements.isEmpty && other.nextCursor == nil)
        },
        ConformanceCase("deliveries are listed ended first, then those that wait, and by outcome") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(6, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle([
                page.deliveries[0].retried(at: 9000),
                page.deliveries[1].ended(),
                page.deliveries[2].ended(.rejected, reason: "BadDeviceToken"),
                page.deliveries[3].ended(.expired, reason: "timed_out"),
                page.deliveries[4].retried(at: 9000),
            ])
            var listed: [DeliveryRecord] = []
            var cursor: String?
            repeat {
                let next = try await scene.store.deliveries(
                    of: message.id, in: scene.project, outcome: nil, after: cursor, limit: 2)
                listed += next.elements
                cursor = next.nextCursor
            } while cursor != nil
            #expect(listed.map(\.registration) == [1, 2, 3, 0, 4].map { audience[$0].id })
            #expect(listed.map(\.outcome) == [.accepted, .rejected, .expired, nil, nil])
            #expect(listed[1].reason == "BadDeviceToken" && listed[1].endedAt == Timestamp(milliseconds: 3000))
            #expect(listed[3].history == AttemptHistory(attempts: 1, unknownAttempts: 1, lastCause: "connection_lost"))
            #expect(listed[4].apnsID == APNSID(message: message.id, registration: audience[4].key))
            for (outcome, index) in [(LedgerOutcome.accepted, 1), (.rejected, 2), (.expired, 3)] {
                let only = try await scene.store.deliveries(
                    of: message.id, in: scene.project, outcome: outcome, after: nil, limit: 10)
                #expect(only.elements.map(\.registration) == [audience[index].id] && only.nextCursor == nil)
            }
        },
        ConformanceCase("a report has percentiles of accepted deliveries only") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(101, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(
                page.deliveries.enumerated().map { index, delivery in
                    index == 0
                        ? delivery.ended(.rejected, reason: "BadTopic", latency: 1_000_000)
                        : delivery.ended(latency: Int64(index))
                })
            let latency = try #require(try await scene.report(message).latency)
            #expect(latency.p50 == 50)
            #expect((90...94).contains(latency.p90) && (99...103).contains(latency.p99))
        },
        ConformanceCase("the export gives each row once, in the order of writing, within the times") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(30, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            // Over several hours.
            let hour: Int64 = 3_600_000
            let times = (0..<30).map { Int64($0) * hour / 4 + 5_000 }
            for (delivery, time) in zip(page.deliveries, times) {
                try await scene.settle([delivery.ended(at: time)])
            }
            let range = Timestamp(milliseconds: hour)..<Timestamp(milliseconds: 4 * hour + 5_000)
            let rows = try await scene.export(range, limit: 4)
            let expected = zip(audience, times).filter { range.contains(Timestamp(milliseconds: $0.1)) }.map(\.0.id)
            #expect(rows.map(\.delivery.registration) == expected)
            #expect(rows.allSatisfy { $0.topic == topic && $0.message == message.id && ($0.bulkID ?? 0) > 0 })
            #expect(Set(rows.map(\.bulkID)).count == 1)
        },
        ConformanceCase("exports back to back lose and repeat no row that was recorded late") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(6, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            func window(_ start: Int64, _ end: Int64) -> Range<Timestamp> {
                Timestamp(milliseconds: start)..<Timestamp(milliseconds: end)
            }
            try await scene.settle(page.deliveries[0..<2].map { $0.ended(at: 3000) })
            var rows = try await scene.export(window(0, 4000), limit: 1)
            // Ended before the first export ran, recorded after it.
            try await scene.settle(page.deliveries[2..<4].map { $0.ended(at: 3999) })
            rows += try await scene.export(window(4000, 5000), limit: 1)
            // The clock was set back.
            try await scene.settle(page.deliveries[4...].map { $0.ended(at: 100) })
            rows += try await scene.export(window(5000, 6000), limit: 1)
            #expect(rows.map(\.delivery.registration) == audience.map(\.id))
            #expect(rows[2].delivery.endedAt == Timestamp(milliseconds: 3999))
            #expect(try await scene.export(window(0, 6000), limit: 4).count == 6)
        },
        ConformanceCase("an export ends at the present, so that the next can begin there") { scene in
            let made = try await scene.register(1)
            _ = try await scene.send(to: made)
            let claimed = try await scene.claimDue(.interactive)
            let future = Timestamp(milliseconds: 0)..<Timestamp(milliseconds: 1 << 40)
            #expect(try await scene.export(future, at: 3000, limit: 9).isEmpty)
            try await scene.settle(claimed.map { $0.ended(at: 2999) })
            let next = Timestamp(milliseconds: 3000)..<Timestamp(milliseconds: 1 << 40)
            #expect(try await scene.export(next, at: 3000, limit: 9).isEmpty)
            #expect(try await scene.export(next, at: 3001, limit: 9).count == 1)
        },
        ConformanceCase("the export of a single send has no bulk id and stays in its project") { scene in
            let made = try await scene.register(1)
            _ = try await scene.send(to: made)
            try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() })
            let all = Timestamp(milliseconds: 0)..<Timestamp(milliseconds: 1 << 40)
            let rows = try await scene.export(all, limit: 10)
            #expect(rows.count == 1 && rows[0].bulkID == nil && rows[0].topic == nil)
            #expect(rows[0].facts.label?.rawValue == "spring")
            let other = try await scene.store.export(
                project: ProjectID(rawValue: "other")!, from: all.lowerBound, to: all.upperBound, at: all.upperBound,
                after: nil, limit: 9)
            #expect(other.elements.isEmpty)
        },
        ConformanceCase("a cursor that is not of this list is refused") { scene in
            let store = scene.store
            let project = scene.project
            let made = try await scene.register(1)
            for _ in 0..<3 { _ = try await scene.send(to: made) }
            let message = try #require(scene.sent.first)
            let foreign = try #require(try await store.reports(in: project, after: nil, limit: 1).nextCursor)
            for cursor in ["", "x", "!!!!", foreign + "=", foreign + "A", "bTAx"] {
                try await expectStoreError(.badCursor) {
                    _ = try await store.reports(in: project, after: cursor, limit: 1)
                }
            }
            try await expectStoreError(.badCursor) {
                _ = try await store.deliveries(of: message, in: project, outcome: nil, after: foreign, limit: 1)
            }
            try await expectStoreError(.badCursor) {
                _ = try await store.export(
                    project: project, from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: 1),
                    at: Timestamp(milliseconds: 1), after: foreign, limit: 1)
            }
        },
    ]
}

extension Scene {
    /// All rows of an export that runs at `now`, or at its end, read in pages of `limit`.
    func export(_ times: Range<Timestamp>, at now: Int64? = nil, limit: Int) async throws -> [ExportRow] {
        let now = now.map { Timestamp(milliseconds: $0) } ?? times.upperBound
        var rows: [ExportRow] = []
        var cursor: String?
        repeat {
            let page = try await store.export(
                project: project, from: times.lowerBound, to: times.upperBound, at: now, after: cursor,
                limit: limit)
            #expect(page.elements.count <= limit)
            rows += page.elements
            cursor = page.nextCursor
        } while cursor != nil
        return rows
    }
}
