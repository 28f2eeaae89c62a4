import PushModel
import Store
import Testing

extension ConformanceCase {
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
            #expect(listed.map(\.registration) == [1, 2, 3, 0, 4, 5].map { audience[$0].id })
            #expect(listed.map(\.outcome) == [.accepted, .rejected, .expired, nil, nil, nil])
            #expect(listed[1].reason == "BadDeviceToken" && listed[1].endedAt == Timestamp(milliseconds: 3000))
            #expect(listed[3].history == AttemptHistory(attempts: 1, unknownAttempts: 1, lastCause: "connection_lost"))
            #expect(listed[4].pushID == PushID(message: message.id, registration: audience[4].key))
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
        ConformanceCase("the deliveries of a message come in the order of recording, each once, page by page") {
            scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(12, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            // Steps of several sizes, each in another order than that of the keys.
            let steps = [[5, 1], [9, 0, 11, 3], [2], [10, 7, 4, 8, 6]]
            for step in steps {
                try await scene.settle(step.map { page.deliveries[$0].ended(at: 3000 + Int64($0)) })
            }
            let expected = steps.flatMap { $0.sorted() }.map { audience[$0].id }
            for limit in [1, 2, 5, 12, 100] {
                let listed = try await scene.deliveries(of: message, limit: limit)
                #expect(listed.map(\.registration) == expected, "pages of \(limit)")
            }
            let listed = try await scene.deliveries(of: message, limit: 100)
            #expect(listed.map(\.endedAt?.milliseconds) == steps.flatMap { $0.sorted() }.map { 3000 + Int64($0) })
            #expect(
                listed.map(\.pushID)
                    == steps.flatMap { $0.sorted() }.map { PushID(message: message.id, registration: audience[$0].key) }
            )
        },
        ConformanceCase("open deliveries are listed after those that ended, wherever they are") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(9, of: topic)
            let message = try await scene.broadcast(topic)
            let first = try #require(try await scene.claimPage(5))
            let second = try #require(try await scene.claimPage(5))
            try await scene.settle([first.deliveries[1].retried(at: 9000), first.deliveries[3].ended()])
            try await scene.settle([second.deliveries[0].ended(), second.deliveries[3].retried(at: 9000)])
            let expected = [3, 5, 1, 8, 0, 2, 4, 6, 7]
            for limit in [1, 2, 3, 20] {
                let listed = try await scene.deliveries(of: message, limit: limit)
                #expect(listed.map(\.registration) == expected.map { audience[$0].id }, "pages of \(limit)")
                #expect(listed.map { $0.outcome == nil } == expected.map { $0 != 3 && $0 != 5 })
                #expect(
                    listed.map(\.pushID) == expected.map { PushID(message: message.id, registration: audience[$0].key) }
                )
            }
            #expect(try await scene.deliveries(of: message, outcome: .accepted, limit: 1).count == 2)
        },
        ConformanceCase("what ends while deliveries are listed comes later in the list") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(6, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle([page.deliveries[3].ended(), page.deliveries[4].ended()])
            let first = try await scene.store.deliveries(
                of: message.id, in: scene.project, outcome: nil, after: nil, limit: 1)
            try await scene.settle([0, 1, 2, 5].map { page.deliveries[$0].ended() })
            var listed = first.elements
            var cursor = first.nextCursor
            while let place = cursor {
                let next = try await scene.store.deliveries(
                    of: message.id, in: scene.project, outcome: nil, after: place, limit: 2)
                listed += next.elements
                cursor = next.nextCursor
            }
            #expect(listed.map(\.registration) == [3, 4, 0, 1, 2, 5].map { audience[$0].id })
        },
        ConformanceCase("each outcome is listed for itself, with reasons and attempts as they were settled") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(20, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            func ended(_ index: Int) -> Settlement {
                switch index % 5 {
                case 0: page.deliveries[index].ended(.rejected, reason: "BadDeviceToken", latency: 7)
                case 1: page.deliveries[index].ended(.rejected, reason: "Grüße, \(index)", latency: -3)
                case 2: page.deliveries[index].ended(.expired, reason: "timed_out", latency: 1 << 40)
                case 3: page.deliveries[index].ended(.cancelled, at: 0, latency: 0)
                default: page.deliveries[index].ended(at: 2000 + Int64(index), latency: Int64(index))
                }
            }
            try await scene.settle((0..<8).reversed().map(ended))
            try await scene.settle((8..<20).map(ended))
            for (outcome, kinds) in [
                (LedgerOutcome.accepted, [4]), (.rejected, [0, 1]), (.expired, [2]), (.cancelled, [3]),
            ] {
                let listed = try await scene.deliveries(of: message, outcome: outcome, limit: 3)
                let expected = (0..<20).filter { kinds.contains($0 % 5) }
                #expect(listed.map(\.registration) == expected.map { audience[$0].id }, "\(outcome)")
                #expect(listed.allSatisfy { $0.outcome == outcome })
                for (record, index) in zip(listed, expected) {
                    guard case .ended(let entry) = ended(index).result else { continue }
                    #expect(record.reason == entry.reason && record.endedAt == entry.time)
                    #expect(record.latencyMilliseconds == entry.latencyMilliseconds)
                    #expect(record.history.attempts == 1 && record.history.unknownAttempts == 0)
                }
            }
            #expect(try await scene.report(message).rejectedByReason.values.reduce(0, +) == 8)
        },
        ConformanceCase("the deliveries to a device come the newest first, over all messages of its project") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(5, of: topic)
            var messages: [MessageID] = []
            for round in 0..<3 {
                let time = 1000 + Int64(round) * 1000
                messages.append(try await scene.broadcast(topic, at: time).id)
                let page = try #require(try await scene.claimPage(at: time))
                try await scene.settle(
                    page.deliveries.enumerated().map { index, delivery in
                        index == 2 && round == 1
                            ? delivery.ended(.rejected, reason: "BadTopic", at: time + 9) : delivery.ended(at: time + 9)
                    })
            }
            let single = try await scene.send(to: audience[2], at: 9000)
            try await scene.settle(try await scene.claimDue(.interactive, at: 9000).map { $0.ended(at: 9001) })
            var rows: [ExportRow] = []
            var cursor: String?
            repeat {
                let page = try await scene.store.deliveries(
                    to: audience[2].id, in: scene.project, after: cursor, limit: 1)
                #expect(page.elements.count <= 1)
                rows += page.elements
                cursor = page.nextCursor
            } while cursor != nil
            #expect(rows.map(\.message) == [single.id] + messages.reversed())
            #expect(rows.map(\.delivery.outcome) == [.accepted, .accepted, .rejected, .accepted])
            #expect(rows.allSatisfy { $0.delivery.registration == audience[2].id })
            #expect(rows[0].topic == nil && rows[1].topic == topic && rows[2].delivery.reason == "BadTopic")
            let stranger = try await scene.register(90)
            for (id, project) in [(stranger.id, scene.project), (audience[2].id, ProjectID(rawValue: "other")!)] {
                let none = try await scene.store.deliveries(to: id, in: project, after: nil, limit: 9)
                #expect(none.elements.isEmpty && none.nextCursor == nil)
            }
        },
        ConformanceCase("an export can be cut at any row, also within what was recorded at once") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(9, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(page.deliveries[0..<7].map { $0.ended(at: 3000) })
            try await scene.settle(page.deliveries[7...].map { $0.ended(at: 4000) })
            let all = Timestamp(milliseconds: 0)..<Timestamp(milliseconds: 5000)
            for limit in 1...10 {
                let rows = try await scene.export(all, limit: limit)
                #expect(rows.map(\.delivery.registration) == audience.map(\.id), "pages of \(limit)")
                #expect(Set(rows.map(\.cursor)).count == 9)
            }
            // Each row's own cursor goes on after it.
            let rows = try await scene.export(all, limit: 100)
            for (index, row) in rows.enumerated() {
                let rest = try await scene.store.export(
                    project: scene.project, from: all.lowerBound, to: all.upperBound, at: all.upperBound,
                    after: row.cursor, limit: 100)
                #expect(rest.elements.map(\.delivery.registration) == audience[(index + 1)...].map(\.id))
            }
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
                _ = try await store.deliveries(to: made.id, in: project, after: foreign, limit: 1)
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
    /// All deliveries of a message, read in pages of `limit`.
    func deliveries(
        of message: Message, outcome: LedgerOutcome? = nil, limit: Int
    ) async throws -> [DeliveryRecord] {
        var records: [DeliveryRecord] = []
        var cursor: String?
        repeat {
            let page = try await store.deliveries(
                of: message.id, in: project, outcome: outcome, after: cursor, limit: limit)
            #expect(page.elements.count <= limit)
            records += page.elements
            cursor = page.nextCursor
        } while cursor != nil
        return records
    }

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
