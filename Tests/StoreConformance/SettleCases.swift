import PushModel
import Store
import TestSupport
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
            #expect(records[1].history.attempts == 3 && records[1].history.unknownAttempts == 1)
        },
        ConformanceCase("what is due of certain messages is claimed, and nothing else") { scene in
            let older = try await scene.send(to: try await scene.register(1))
            let message = try await scene.send(to: try await scene.register(2))
            let route = try #require(
                try await scene.store.dueRoutes(.interactive, at: Timestamp(milliseconds: 2000)).routes.first)
            func claim(_ lane: Lane, at time: Int64) async throws -> [MessageID] {
                try await scene.store.claimDue(
                    lane, route, of: [message.id], by: scene.worker, at: Timestamp(milliseconds: time)
                ).map(\.message)
            }
            #expect(try await claim(.bulk, at: 2000) == [])
            #expect(try await claim(.interactive, at: 0) == [])
            #expect(try await claim(.interactive, at: 2000) == [message.id])
            #expect(try await claim(.interactive, at: 2000) == [])
            try await scene.check()
            #expect(try await scene.claimDue(.interactive).map(\.message) == [older.id])
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
        ConformanceCase("what no worker claimed can't be settled") { scene in
            let made = try await scene.register(1)
            let message = try await scene.send(to: made)
            let stranger = try await scene.register(2)
            func forged(_ registration: Registration, _ page: Int64?, _ id: MessageID) -> Settlement {
                ClaimedDelivery(
                    message: id, project: made.project, acceptedAt: message.acceptedAt, expiresAt: message.expiresAt,
                    registration: DeliveryRegistration(registration),
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
        ConformanceCase("the messages of settlements that are refused are told") { scene in
            let messages = try await [scene.send(to: scene.register(1)), scene.send(to: scene.register(2))]
            let due = try await scene.claimDue(.interactive)
            let first = due.filter { $0.message == messages[0].id }.map { $0.ended() }
            let result = try await scene.store.settle(first, by: scene.worker)
            #expect(result == SettleResult(complete: [messages[0].id]))
            let again = try await scene.store.settle(due.map { $0.ended() }, by: scene.worker)
            #expect(again == SettleResult(complete: [messages[1].id], refused: [messages[0].id]))
        },
        ConformanceCase("a 410 ends the registration and its subscriptions unless it was refreshed later") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            _ = try await scene.store.change(
                audience[1].key, RegistrationChange(), at: Timestamp(milliseconds: 2500))
            _ = try await scene.store.change(
                audience[2].key, RegistrationChange(address: .deviceToken(Scene.deviceToken(50))),
                at: Timestamp(milliseconds: 100))
            try await scene.settle(
                page.deliveries.map {
                    $0.ended(
                        .rejected, reason: "Unregistered", verdict: .dead(since: Timestamp(milliseconds: 2400)),
                        at: 3000)
                })
            let now = try await [
                scene.store.registration(audience[0].id, in: scene.project),
                scene.store.registration(audience[1].id, in: scene.project),
                scene.store.registration(audience[2].id, in: scene.project),
            ]
            #expect(now[0]?.end == RegistrationEnd(time: Timestamp(milliseconds: 3000), cause: .unregistered))
            #expect(now[1]?.isActive == true, "refreshed after APNs saw it dead")
            #expect(now[2]?.isActive == true, "the answer was about an older device token")
            #expect(try await scene.broadcast(topic, at: 4000).audience == 2)
        },
        ConformanceCase("a delivery whose device token changed meanwhile does not end with the old one") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(4, of: topic)
            let message = try await scene.broadcast(topic)
            let single = try await scene.send(to: audience[3])
            let page = try #require(try await scene.claimPage())
            let due = try #require(try await scene.claimDue(.interactive).first)
            for number in [1, 3] {
                _ = try await scene.store.change(
                    audience[number].key, RegistrationChange(address: .deviceToken(Scene.deviceToken(50 + number))),
                    at: Timestamp(milliseconds: 2500))
            }
            try await scene.store.end(
                audience[2].key, RegistrationEnd(time: Timestamp(milliseconds: 2500), cause: .deleted))
            let verdict = DeviceTokenVerdict.dead(since: Timestamp(milliseconds: 2600))
            let refused = (page.deliveries[0..<3] + [due]).map {
                $0.ended(.rejected, reason: "Unregistered", verdict: verdict, refusesDeviceToken: true)
            }
            // Another delivery to the same registration was accepted, or refused for its own sake.
            let result = try await scene.store.settle(
                refused + [page.deliveries[3].ended(.rejected, reason: "PayloadTooLarge")], by: scene.worker)
            #expect(result == SettleResult(readdressed: [1, 3]))
            try await scene.check()
            let again = try await scene.claimDue(.bulk, at: 3000) + scene.claimDue(.interactive, at: 3000)
            #expect(again.map(\.registration.deviceToken) == [51, 53].map(Scene.deviceToken))
            #expect(again.allSatisfy { $0.history.attempts == 1 && $0.history.lastCause == "Unregistered" })
            #expect(try await scene.settle(again.map { $0.ended() }).count == 2)
            #expect(try await scene.report(message).ended[.accepted] == 1)
            #expect(try await scene.report(single).ended[.accepted] == 1)
        },
        ConformanceCase("what waits for longer than any back-off is made due") { scene in
            let messages = try await [scene.send(to: scene.register(1)), scene.send(to: scene.register(2))]
            let topic = Scene.topic("news")
            _ = try await scene.audience(1, of: topic, from: 3)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            let due = try await scene.claimDue(.interactive)
            try await scene.settle([
                due[0].retried(at: 5000), due[1].retried(at: 90_000), page.deliveries[0].retried(at: 90_001),
            ])
            func bring(_ count: Int) async throws -> Int {
                try await scene.store.bringForward(
                    waitingBeyond: Timestamp(milliseconds: 60_000), to: Timestamp(milliseconds: 4000), count: count)
            }
            #expect(try await bring(1) == 1)
            #expect(try await bring(5) == 1)
            #expect(try await bring(5) == 0)
            #expect(try await scene.claimDue(.interactive, at: 4000).map(\.message) == [messages[1].id])
            #expect(try await scene.claimDue(.bulk, at: 4000).count == 1)
            #expect(try await scene.claimDue(.interactive, at: 5000).map(\.message) == [messages[0].id])
        },
        ConformanceCase("the first accepted push proves its device token, once, and claims say so") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            #expect(page.deliveries.allSatisfy { !$0.registration.isProven })
            // The third has another device token by now: the answer was about the old one.
            _ = try await scene.store.change(
                audience[2].key, RegistrationChange(address: .deviceToken(Scene.deviceToken(50))),
                at: Timestamp(milliseconds: 2500))
            try await scene.settle([
                page.deliveries[0].ended(verdict: .proven(in: .apns(.production)), at: 3000),
                page.deliveries[1].ended(.rejected, reason: "BadDeviceToken", at: 3000),
                page.deliveries[2].ended(verdict: .proven(in: .apns(.production)), at: 3000),
            ])
            _ = try await scene.broadcast(topic, at: 4000)
            let next = try #require(try await scene.claimPage(at: 4500))
            #expect(next.deliveries.map(\.registration.isProven) == [true, false, false])
            // Of two pushes that were under way as suspects the first one counts.
            try await scene.settle(next.deliveries.map { $0.ended(verdict: .proven(in: .apns(.production)), at: 5000) })
            let single = try await scene.send(to: audience[0], at: 6000)
            let due = try await scene.claimDue(.interactive, at: 6000)
            #expect(due.map(\.message) == [single.id])
            #expect(due.first?.registration.provenAt == Timestamp(milliseconds: 3000))
            let last = try await scene.store.registration(audience[2].id, in: scene.project)
            #expect(last?.provenAt == Timestamp(milliseconds: 5000))
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

    static let quarantine: [ConformanceCase] = [
        ConformanceCase("fan-outs pass a quarantined registration by, until it is refreshed") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(
                page.deliveries.map {
                    $0.ended(.rejected, reason: "BadDeviceToken", verdict: .refused("BadDeviceToken"), at: 3000)
                })
            let quarantined = try await scene.store.registration(audience[0].id, in: scene.project)
            #expect(
                quarantined?.quarantine == Quarantine(time: Timestamp(milliseconds: 3000), reason: "BadDeviceToken"))
            #expect(quarantined?.isActive == true)
            let again = try await scene.store.register(scene.request(0), at: Timestamp(milliseconds: 4000))
            #expect(again.registration.key == audience[0].key && again.registration.quarantine == nil)
            let touched = try await scene.store.change(
                audience[1].key, RegistrationChange(), at: Timestamp(milliseconds: 4000))
            #expect(touched?.quarantine == nil)

            let message = try await scene.broadcast(topic, at: 5000)
            let next = try #require(try await scene.claimPage(at: 5500))
            #expect(next.deliveries.map(\.registration.key) == audience[0...1].map(\.key))
            #expect(try await scene.settle(next.deliveries.map { $0.ended(at: 6000) }) == [message.id])
            // What is sent to it alone still goes, and lifts it when APNs accepts.
            _ = try await scene.send(to: audience[2], at: 7000)
            let due = try await scene.claimDue(.interactive, at: 7000)
            #expect(due.count == 1 && due[0].registration.isQuarantined)
            try await scene.settle(due.map { $0.ended(verdict: .proven(in: .apns(.production)), at: 8000) })
            let free = try await scene.store.registration(audience[2].id, in: scene.project)
            #expect(free?.quarantine == nil && free?.isProven == true)
        },
        ConformanceCase("a verdict counts for the registration as it was sent to") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(4, of: topic)
            _ = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            let time = Timestamp(milliseconds: 2500)
            _ = try await scene.store.change(audience[0].key, RegistrationChange(), at: time)
            _ = try await scene.store.change(
                audience[1].key, RegistrationChange(address: .deviceToken(Scene.deviceToken(50))),
                at: Timestamp(milliseconds: 0))
            _ = try await scene.store.change(
                audience[2].key, RegistrationChange(address: .environment(.sandbox)), at: Timestamp(milliseconds: 0))
            try await scene.store.end(audience[3].key, RegistrationEnd(time: time, cause: .deleted))
            try await scene.settle(
                page.deliveries.map {
                    $0.ended(.rejected, reason: "BadDeviceToken", verdict: .refused("BadDeviceToken"))
                })
            for registration in audience {
                let now = try await scene.store.registration(registration.id, in: scene.project)
                #expect(now?.quarantine == nil)
            }
        },
        ConformanceCase("a proven registration that is doubted is a suspect again and not quarantined") { scene in
            let made = try await scene.register(1)
            _ = try await scene.send(to: made)
            try await scene.settle(
                try await scene.claimDue(.interactive).map { $0.ended(verdict: .proven(in: .apns(.production))) })
            // Two pushes under way at once are one occasion.
            for _ in 0..<3 { _ = try await scene.send(to: made) }
            let underWay = try await scene.claimDue(.interactive)
            #expect(underWay.count == 3 && underWay.allSatisfy(\.registration.isProven))
            func doubt(_ delivery: ClaimedDelivery) async throws {
                try await scene.settle([delivery.ended(.rejected, reason: "BadDeviceToken", verdict: .doubtful)])
            }
            for delivery in underWay[0..<2] { try await doubt(delivery) }
            let doubted = try await scene.store.registration(made.id, in: scene.project)
            #expect(doubted?.isProven == false && doubted?.quarantine == nil)
            // A doubt that is older than the next proof is void.
            _ = try await scene.send(to: made)
            try await scene.settle(
                try await scene.claimDue(.interactive).map {
                    $0.ended(verdict: .proven(in: .apns(.production)), at: 9000)
                })
            try await doubt(underWay[2])
            let proven = try await scene.store.registration(made.id, in: scene.project)
            #expect(proven?.provenAt == Timestamp(milliseconds: 9000))
        },
        ConformanceCase("a probe waits with its time, and what it proves corrects the environment") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(1, of: topic)
            _ = try await scene.broadcast(topic)
            _ = try await scene.send(to: audience[0])
            let page = try #require(try await scene.claimPage())
            let single = try await scene.claimDue(.interactive)
            let history = AttemptHistory(
                attempts: 1, lastCause: "BadDeviceToken", probingSince: Timestamp(milliseconds: 3000),
                refusedBy: .production)
            try await scene.settle(
                (page.deliveries + single).map {
                    Settlement(delivery: $0, result: .retry(history, notBefore: Timestamp(milliseconds: 3000)))
                })
            for lane in [Lane.interactive, .bulk] {
                let due = try await scene.claimDue(lane, at: 3000)
                #expect(due.map(\.history) == [history])
                try await scene.settle(due.map { $0.ended(verdict: .proven(in: .apns(.sandbox)), at: 4000) })
            }
            let corrected = try await scene.store.registration(audience[0].id, in: scene.project)
            #expect(corrected?.environment == .sandbox && corrected?.provenAt == Timestamp(milliseconds: 4000))
            // The app said no environment: what was assumed does not undo what was found out.
            var request = scene.request(0)
            request.isEnvironmentStated = false
            let again = try await scene.store.register(request, at: Timestamp(milliseconds: 5000)).registration
            #expect(again.environment == .sandbox && again.isProven)
            request.isEnvironmentStated = true
            let stated = try await scene.store.register(request, at: Timestamp(milliseconds: 6000)).registration
            #expect(stated.environment == .production && !stated.isProven)
        },
        ConformanceCase("quarantines of an app are lifted from a time on, and of no other app") { scene in
            var other = scene.request(9)
            other.app = AppID(rawValue: "com.example.other")!
            var made = [try await scene.store.register(other, at: Timestamp(milliseconds: 0)).registration]
            for number in 0..<3 { made.append(try await scene.register(number)) }
            for (index, registration) in made.enumerated() {
                _ = try await scene.send(to: registration)
                try await scene.settle(
                    try await scene.claimDue(.interactive).map {
                        $0.ended(
                            .rejected, reason: "BadDeviceToken", verdict: .refused("BadDeviceToken"),
                            at: 3000 + Int64(index))
                    })
            }
            let store = scene.store
            let (app, project) = (AppKey(.apple, scene.app), scene.project)
            func lift(_ time: Int64) async throws -> Int {
                try await store.liftQuarantine(of: app, in: project, since: Timestamp(milliseconds: time))
            }
            #expect(try await lift(3004) == 0)
            #expect(try await lift(3002) == 2)
            var isQuarantined: [Bool] = []
            for registration in made {
                isQuarantined.append(
                    try await store.registration(registration.id, in: project)?.quarantine != nil)
            }
            #expect(isQuarantined == [true, true, false, false])
            #expect(try await lift(0) == 1)
        },
        ConformanceCase("what is in quarantine for long is pruned, and nothing else") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            for (index, registration) in audience.prefix(2).enumerated() {
                _ = try await scene.send(to: registration)
                try await scene.settle(
                    try await scene.claimDue(.interactive).map {
                        $0.ended(
                            .rejected, reason: "BadDeviceToken", verdict: .refused("BadDeviceToken"),
                            at: 3000 + Int64(index))
                    })
            }
            let (store, project) = (scene.store, scene.project)
            func prune(_ time: Int64, isDryRun: Bool = false) async throws -> Int {
                try await store.prune(
                    quarantinedBefore: Timestamp(milliseconds: time), in: project, isDryRun: isDryRun,
                    at: Timestamp(milliseconds: 9000))
            }
            #expect(try await prune(3000) == 0)
            #expect(try await prune(3002, isDryRun: true) == 2)
            #expect(try await store.registration(audience[0].id, in: project)?.isActive == true)
            #expect(try await prune(3001) == 1)
            let pruned = try await store.registration(audience[0].id, in: project)
            #expect(pruned?.end == RegistrationEnd(time: Timestamp(milliseconds: 9000), cause: .deleted))
            #expect(try await store.subscription(of: audience[0].key, to: topic) == nil)
            #expect(try await store.registration(audience[1].id, in: project)?.isActive == true)
            #expect(try await prune(9000) == 1)
            #expect(try await prune(9000) == 0)
            #expect(try await store.registration(audience[2].id, in: project)?.isActive == true)
        },
    ]

    static let rescue: [ConformanceCase] = [
        ConformanceCase("what was interrupted is due at once, and counted apart from answers that did not come") {
            scene in
            _ = try await scene.send(to: try await scene.register(1))
            let due = try #require(try await scene.claimDue(.interactive).first)
            try await scene.settle([due.retried(at: 9000)])
            _ = try #require(try await scene.claimDue(.interactive, at: 9000).first)
            try await scene.crash()
            // The clock was set back meanwhile.
            let time = scene.timeOfRescue(5000)
            #expect(try await scene.store.takeOver(at: time) == 1)
            let again = try #require(
                try await scene.claimDue(.interactive, at: min(time.milliseconds, 9000)).first)
            #expect(
                again.history
                    == AttemptHistory(attempts: 2, unknownAttempts: 2, interruptions: 1, lastCause: "interrupted"))
            try await scene.settle([again.ended()])
        },
        ConformanceCase("after a crash everything that was claimed comes again, and nothing that was settled") {
            scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(10, of: topic)
            let message = try await scene.broadcast(topic)
            let single = try await scene.send(to: audience[0])
            let first = try #require(try await scene.claimPage(6))
            #expect(try await scene.claimDue(.interactive).count == 1)
            try await scene.settle([first.deliveries[0].ended(), first.deliveries[1].retried(at: 5000)])
            try await scene.crash()
            try await scene.check()
            #expect(try await scene.rescue() == 5)
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
        ConformanceCase("a page that was given back comes again, as it was claimed, in parts if need be") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(7, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle([page.deliveries[4].ended()])
            try await scene.crash()
            #expect(try await scene.rescue() == 6)
            // Gone, ended, quarantined and come meanwhile: the recipients stay those of the claim.
            _ = try await scene.store.unsubscribe([audience[0].key, audience[4].key], from: topic)
            try await scene.store.end(
                audience[1].key, RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            _ = try await scene.send(to: audience[2])
            try await scene.settle(
                try await scene.claimDue(.interactive).map {
                    $0.ended(.rejected, reason: "BadDeviceToken", verdict: .refused("BadDeviceToken"))
                })
            let late = try await scene.register(90)
            _ = try await scene.store.subscribe([late.key], to: topic, at: Timestamp(milliseconds: 1500))
            try await scene.check()
            #expect(try await scene.report(message).recipients == 7)
            let parts = [
                try #require(try await scene.claimPage(4)), try #require(try await scene.claimPage(4)),
            ]
            #expect(parts.map(\.deliveries.count) == [4, 2])
            #expect(parts[0].id == page.id && parts[1].id != page.id)
            try await scene.check()
            let again = parts.flatMap(\.deliveries)
            #expect(again.map(\.registration.key) == [0, 1, 2, 3, 5, 6].map { audience[$0].key })
            #expect(again.map(\.registration.isActive) == [true, false, true, true, true, true])
            #expect(again[2].registration.isQuarantined)
            #expect(again.allSatisfy { $0.history == AttemptHistory(interruptions: 1) })
            #expect(try await scene.claimPage() == nil)
            #expect(try await scene.settle(again.map { $0.ended() }) == [message.id])
            #expect(try await scene.report(message).recipients == 7)
        },
        ConformanceCase("each loss of a page is one more interruption, with its cause") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            let single = try await scene.send(to: try await scene.register(9))
            for losses in 0..<3 {
                let page = try #require(try await scene.claimPage())
                #expect(
                    page.deliveries.map(\.history) == Array(repeating: AttemptHistory(interruptions: losses), count: 2))
                let due = try await scene.claimDue(.interactive)
                #expect(due.map(\.history) == [AttemptHistory(interruptions: losses)])
                try await scene.crash()
                #expect(try await scene.rescue() == 3)
                #expect(try await scene.rescue() == 0)
            }
            let page = try #require(try await scene.claimPage())
            #expect(try await scene.settle(page.deliveries.map { $0.ended() }) == [message.id])
            #expect(
                try await scene.settle(try await scene.claimDue(.interactive).map { $0.ended() }) == [single.id])
        },
        ConformanceCase("a settlement of an earlier run changes nothing") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.crash()
            #expect(try await scene.rescue() == 2)
            try await scene.settle([page.deliveries[0].ended()])
            try await scene.check()
            let again = try #require(try await scene.claimPage())
            #expect(try await scene.report(message).inFlight == 2)
            #expect(try await scene.settle(again.deliveries.map { $0.ended() }) == [message.id])
        },
    ]
}
