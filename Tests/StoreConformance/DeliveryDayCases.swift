import PushModel
import Store
import Testing

extension ConformanceCase {
    private static let day: Int64 = 86_400_000

    static let deliveryDays: [ConformanceCase] = [
        ConformanceCase("deliveries are summed by day of accept, app and label") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(6, of: topic)
            var foreign = scene.request(50)
            foreign.app = AppID(rawValue: "com.example.other")!
            let other = try await scene.store.register(foreign, at: Timestamp(milliseconds: 0)).registration
            _ = try await scene.store.subscribe([other.key], to: topic, at: Timestamp(milliseconds: 0))
            _ = try await scene.broadcast(topic, at: day - 1)
            let page = try #require(try await scene.claimPage())
            let byApp = page.deliveries.filter { $0.registration.app == scene.app }
            let ofOther = page.deliveries.filter { $0.registration.app != scene.app }
            // Ends on another day than it was accepted on.
            try await scene.settle([
                byApp[0].ended(at: 3 * day), byApp[1].ended(.rejected, reason: "BadDeviceToken"),
                byApp[2].ended(.expired, reason: "timed_out"), byApp[3].retried(at: 9000), ofOther[0].ended(),
            ])
            let days = try await scene.deliveryDays(of: scene.app)
            let label = AnalyticsLabel(rawValue: "spring")
            #expect(
                days == [
                    DeliveryDay(
                        day: 0, label: label, ended: [.accepted: 1, .rejected: 1, .expired: 1, .cancelled: 0],
                        inFlight: 3, displayed: 6)
                ])
            #expect(
                try await scene.deliveryDays(of: foreign.app) == [
                    DeliveryDay(
                        day: 0, label: label, ended: [.accepted: 1, .rejected: 0, .expired: 0, .cancelled: 0],
                        displayed: 1)
                ])
            #expect(try await scene.deliveryDays(of: AppID(rawValue: "com.example.none")!).isEmpty)
            #expect(audience.count == 6)
        },
        ConformanceCase("days come the newest first, page by page, also those without an end") { scene in
            let made = try await scene.register(1)
            for (number, label) in [(0, "b"), (0, "a"), (0, nil), (2, "a"), (5, nil), (5, nil)] as [(Int64, String?)] {
                var new = try scene.newMessage(.registration(made.key), at: number * day + 5)
                new.facts.label = label.flatMap(AnalyticsLabel.init(rawValue:))
                new.facts.isDisplayed = label == nil
                _ = try await scene.send(new)
            }
            let claimed = try await scene.claimDue(.interactive, at: 6 * day)
            // The day 2 and the label b of day 0 stay open.
            let labels = try await scene.labels(of: claimed)
            try await scene.settle(
                zip(claimed, labels).filter { claim, label in
                    claim.acceptedAt.milliseconds / day != 2 && label != "b"
                }.map { claim, _ in claim.ended(at: 6 * day) })
            let expected: [[String]] = [
                ["5", "", "2", "0", "2"], ["2", "a", "0", "1", "0"], ["0", "b", "0", "1", "0"],
                ["0", "a", "1", "0", "0"], ["0", "", "1", "0", "1"],
            ]
            for size in [1, 2, 3, 100] {
                let days = try await scene.deliveryDays(of: scene.app, pageSize: size)
                let found = days.map { day in
                    [
                        "\(day.day)", day.label?.rawValue ?? "", "\(day.ended[.accepted] ?? 0)", "\(day.inFlight)",
                        "\(day.displayed)",
                    ]
                }
                #expect(found == expected, "\(size)")
            }
            try await expectStoreError(.badCursor) { [store = scene.store, project = scene.project, app = scene.app] in
                _ = try await store.deliveryDays(of: app, on: nil, in: project, after: "bTE", limit: 5)
            }
        },
        ConformanceCase("receipts are summed by day of accept, app and label, at most as many as were accepted") {
            scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            var foreign = scene.request(50)
            foreign.app = AppID(rawValue: "com.example.other")!
            let other = try await scene.store.register(foreign, at: Timestamp(milliseconds: 0)).registration
            _ = try await scene.store.subscribe([other.key], to: topic, at: Timestamp(milliseconds: 0))
            let message = try await scene.broadcast(topic, at: day - 1)
            let page = try #require(try await scene.claimPage())
            func report(_ registration: Registration, _ kind: ReceiptKind) async throws {
                for _ in 0..<2 {
                    let kept = try await scene.store.keep(
                        [Receipt(message: message.id, kind: kind, time: Timestamp(milliseconds: 3 * day))],
                        of: registration.key, in: scene.project, at: Timestamp(milliseconds: 3 * day))
                    #expect(kept == [true])
                }
            }
            // Faster than the end of the delivery.
            try await report(audience[0], .received)
            try await report(audience[1], .opened)
            try await report(other, .received)
            let early = try await scene.deliveryDays(of: scene.app)
            #expect(early.map(\.received) == [0] && early.map(\.delivered) == [0] && early.map(\.inFlight) == [3])
            let own = page.deliveries.filter { $0.registration.app == scene.app }
            let rest = page.deliveries.filter { $0.registration.app != scene.app }
            try await scene.settle([
                own[0].ended(), own[1].ended(.expired, reason: "timed_out"),
                own[2].ended(.expired, reason: "timed_out"), rest[0].ended(),
            ])
            try await report(audience[1], .received)
            let days = try await scene.deliveryDays(of: scene.app)
            #expect(days.map(\.day) == [0] && days.map(\.received) == [2] && days.map(\.delivered) == [1])
            #expect(days.map(\.label) == [AnalyticsLabel(rawValue: "spring")] && days.map(\.recipients) == [3])
            #expect(try await scene.deliveryDays(of: foreign.app).map(\.delivered) == [1])
        },
        ConformanceCase("cancelled deliveries are summed, wherever they were") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(9, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage(3))
            try await scene.settle([page.deliveries[0].ended(), page.deliveries[1].retried(at: 9000)])
            _ = try await scene.store.control(
                message.id, in: scene.project, .cancel, at: Timestamp(milliseconds: 4000), by: .gateway)
            while try await scene.store.bookCancelled(limit: 2, at: Timestamp(milliseconds: 4000)) > 0 {}
            try await scene.settle([page.deliveries[2].retried(at: 9000)])
            let days = try await scene.deliveryDays(of: scene.app)
            #expect(days.map(\.ended) == [[.accepted: 1, .rejected: 0, .expired: 0, .cancelled: 8]])
            #expect(days.map(\.inFlight) == [0] && audience.count == 9)
        },
    ]
}

extension Scene {
    /// All days of an app.
    fileprivate func deliveryDays(
        of app: AppID, on platform: Platform? = nil, pageSize: Int = 10
    ) async throws -> [DeliveryDay] {
        var days: [DeliveryDay] = []
        var cursor: String?
        repeat {
            let page = try await store.deliveryDays(
                of: app, on: platform, in: project, after: cursor, limit: pageSize)
            #expect(page.elements.count <= pageSize)
            days += page.elements
            cursor = page.nextCursor
        } while cursor != nil
        return days
    }

    fileprivate func labels(of deliveries: [ClaimedDelivery]) async throws -> [String?] {
        var labels: [String?] = []
        for delivery in deliveries {
            labels.append(try await store.report(delivery.message, in: project)?.message.facts.label?.rawValue)
        }
        return labels
    }
}
