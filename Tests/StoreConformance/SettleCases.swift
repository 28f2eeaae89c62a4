import PushModel
import Store
import Testing

extension ConformanceCase {
    static let settling: [ConformanceCase] = [
        ConformanceCase("a page is settled in parts, and its message completes with the last") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(5, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            #expect(try await scene.settle(page.deliveries[0..<2].map { $0.ended() }).isEmpty)
            try await scene.check()
            #expect(try await scene.report(message).inFlight == 3)
            #expect(try await scene.settle(page.deliveries[2..<4].map { $0.ended(.expired, reason: "late") }).isEmpty)
            try await scene.check()
            #expect(try await scene.settle([page.deliveries[4].ended(at: 7000)]) == [message.id])
            let report = try await scene.report(message)
            #expect(report.state == .complete && report.completedAt == Timestamp(milliseconds: 7000))
            #expect(report.ended == [.accepted: 3, .expired: 2, .rejected: 0, .cancelled: 0])
        },
        ConformanceCase("a retry leaves its page and comes when it is due, with its history") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle([page.deliveries[0].retried(at: 5000), page.deliveries[1].ended()])
            try await scene.check()
            #expect(try await scene.report(message).inFlight == 1)
            #expect(try await scene.claimDue(.bulk, at: 4999).isEmpty)
            let again = try #require(try await scene.claimDue(.bulk, at: 5000).first)
            #expect(again.page == nil)
            #expect(again.history == AttemptHistory(attempts: 1, unknownAttempts: 1, lastCause: "connection_lost"))
            try await scene.settle([again.retried(at: 6000, cause: "TooManyRequests", isUnknown: false)])
            try await scene.check()
            let third = try #require(try await scene.claimDue(.bulk, at: 6000).first)
            #expect(third.history == AttemptHistory(attempts: 2, unknownAttempts: 1, lastCause: "TooManyRequests"))
            #expect(try await scene.settle([third.ended(at: 6500)]) == [message.id])
            let records = try await scene.store.deliveries(
                of: message.id, in: scene.project, outcome: nil, after: nil, limit: 10
            ).elements
            #expect(records[0].history.attempts == 3 && records[0].history.unknownAttempts == 1)
        },
        ConformanceCase("what is settled twice counts once") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(3, of: topic)
            let message = try await scene.broadcast(topic)
            let single = try await scene.send(to: try await scene.register(9))
            let page = try #require(try await scene.claimPage())
            let due = try await scene.claimDue(.interactive)
            for _ in 0..<2 {
                try await scene.settle([
                    page.deliveries[0].ended(), page.deliveries[0].ended(), page.deliveries[1].retried(at: 5000),
                    due[0].ended(), due[0].retried(at: 5000),
                ])
                try await scene.check()
            }
            // A retry that ended, an ended one that is to be retried, and an end of what waits elsewhere.
            try await scene.settle([
                page.deliveries[0].retried(at: 1), page.deliveries[1].ended(.rejected, reason: "BadTopic"),
                page.deliveries[1].retried(at: 1),
            ])
            try await scene.check()
            let report = try await scene.report(message)
            #expect(report.recipients == 3 && report.inFlight == 2 && report.ended[.accepted] == 1)
            let singleReport = try await scene.report(single)
            #expect(singleReport.state == .complete && singleReport.ended[.accepted] == 1)
        },
        ConformanceCase("what nobody claimed can't be settled") { scene in
            let made = try await scene.register(1)
            let message = try await scene.send(to: made)
            let stranger = try await scene.register(2)
            func forged(_ registration: Registration, _ page: Int64?, _ id: MessageID) -> Settlement {
                ClaimedDelivery(
                    message: id, project: made.project, acceptedAt: message.acceptedAt, expiresAt: message.expiresAt,
                    registration: registration,
                    page: page.map { FanOutPage.ID(rawValue: $0) }, history: AttemptHistory()
                ).ended()
            }
            let unknown = MessageID(rawValue: "0:1-nothing")!
            let completed = try await scene.settle([
                forged(made, nil, message.id), forged(stranger, nil, message.id), forged(made, 77, message.id),
                forged(made, nil, unknown),
            ])
            #expect(completed.isEmpty)
            #expect(try await scene.report(message).inFlight == 1)
        },
        ConformanceCase("a 410 ends the registration and its subscriptions unless it was refreshed later") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            _ = try await scene.store.change(
                audience[1].key, RegistrationChange(), at: Timestamp(milliseconds: 2500))
            _ = try await scene.store.change(
                audience[2].key, RegistrationChange(deviceToken: Scene.deviceToken(50)),
                at: Timestamp(milliseconds: 100))
            try await scene.settle(
                page.deliveries.map { $0.ended(.rejected, reason: "Unregistered", deadSince: 2400, at: 3000) })
            let now = try await [
                scene.store.registration(audience[0].id, in: scene.project),
                scene.store.registration(audience[1].id, in: scene.project),
                scene.store.registration(audience[2].id, in: scene.project),
            ]
            #expect(now[0]?.end == RegistrationEnd(time: Timestamp(milliseconds: 3000), cause: .unregistered))
            #expect(now[1]?.isActive == true, "refreshed after APNs saw it dead")
            #expect(now[2]?.isActive == true, "the answer was about an older device token")
            #expect(try await scene.broadcast(topic, at: 4000).recipient == .topic(topic, audience: 2))
        },
        ConformanceCase("rejections are summed by reason") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(3, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(
                zip(page.deliveries, ["BadDeviceToken", "BadTopic", "BadDeviceToken"]).map {
                    $0.ended(.rejected, reason: $1)
                })
            #expect(try await scene.report(message).rejectedByReason == ["BadDeviceToken": 2, "BadTopic": 1])
        },
    ]

    static let rescue: [ConformanceCase] = [
        ConformanceCase("after a crash everything that was claimed comes again, and nothing that was settled") {
            scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(10, of: topic)
            let message = try await scene.broadcast(topic)
            let single = try await scene.send(to: audience[0])
            let first = try #require(try await scene.claimPage(6))
            #expect(try await scene.claimDue(.interactive).count == 1)
            try await scene.settle([first.deliveries[0].ended(), first.deliveries[1].retried(at: 5000)])
            try scene.crash()
            try await scene.check()
            #expect(try await scene.store.rescue() == 5)
            try await scene.check()
            let again = try #require(try await scene.claimPage(6))
            #expect(again.message == message.id)
            #expect(again.deliveries.map(\.registration.key) == audience[2..<6].map(\.key))
            let rest = try #require(try await scene.claimPage(6))
            #expect(rest.deliveries.map(\.registration.key) == audience[6...].map(\.key))
            try await scene.settle((again.deliveries + rest.deliveries).map { $0.ended() })
            #expect(try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() }) == [single.id])
            let retried = try await scene.claimDue(.bulk, at: 5000)
            #expect(try await scene.settle(retried.map { $0.ended() }) == [message.id])
            #expect(try await scene.report(message).ended[.accepted] == 10)
        },
        ConformanceCase("who went away meanwhile leaves the count of a page that comes again") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(5, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle([page.deliveries[4].ended()])
            try scene.crash()
            _ = try await scene.store.rescue()
            _ = try await scene.store.unsubscribe([audience[0].key, audience[4].key], from: topic)
            try await scene.store.end(
                audience[1].key, RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            try await scene.check()
            #expect(try await scene.report(message).recipients == 5)
            let again = try #require(try await scene.claimPage())
            #expect(again.deliveries.map(\.registration.key) == audience[2...3].map(\.key))
            let report = try await scene.report(message)
            #expect(report.recipients == 3 && report.inFlight == 2 && report.ended[.accepted] == 1)
            #expect(try await scene.settle(again.deliveries.map { $0.ended() }) == [message.id])
        },
        ConformanceCase("a page that vanished completes its message") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            _ = try await scene.claimPage()
            try scene.crash()
            _ = try await scene.store.rescue()
            _ = try await scene.store.unsubscribe(audience.map(\.key), from: topic)
            #expect(try await scene.claimPage(at: 8000) == nil)
            let report = try await scene.report(message)
            #expect(report.state == .complete && report.completedAt == Timestamp(milliseconds: 8000))
            #expect(report.recipients == 0)
        },
        ConformanceCase("a page that comes again is cut when pages are smaller now") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(9, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage(9))
            try await scene.settle([page.deliveries[3].ended()])
            try scene.crash()
            _ = try await scene.store.rescue()
            _ = try await scene.store.unsubscribe([audience[8].key], from: topic)
            var keys: [RegistrationKey] = []
            while let part = try await scene.claimPage(3) {
                #expect(part.deliveries.count <= 3)
                keys += part.deliveries.map(\.registration.key)
                try await scene.check()
                try await scene.settle(part.deliveries.map { $0.ended() })
                try await scene.check()
            }
            #expect(keys == [0, 1, 2, 4, 5, 6, 7].map { audience[$0].key })
            #expect(try await scene.report(message).state == .complete)
        },
        ConformanceCase("a settlement of an earlier run changes nothing") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try scene.crash()
            _ = try await scene.store.rescue()
            try await scene.settle([page.deliveries[0].ended()])
            try await scene.check()
            let again = try #require(try await scene.claimPage())
            try await scene.settle([page.deliveries[0].ended()])
            #expect(try await scene.report(message).inFlight == 2)
            #expect(try await scene.settle(again.deliveries.map { $0.ended() }) == [message.id])
        },
    ]
}
