import PushModel
import Store
import TestSupport
import Testing

extension ConformanceCase {
    static let deliveries: [ConformanceCase] = [
        ConformanceCase("pages give every subscriber of accept time once, in the order of keys") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(25, of: topic)
            let message = try await scene.broadcast(topic)
            let late = try await scene.register(90, at: 1500)
            _ = try await scene.store.subscribe([late.key], to: topic, at: Timestamp(milliseconds: 1500))
            var claimed: [RegistrationKey] = []
            var sizes: [Int] = []
            while let page = try await scene.claimPage(10) {
                #expect(page.message == message.id && page.deliveries.allSatisfy { $0.page == page.id })
                claimed += page.deliveries.map(\.registration.key)
                sizes.append(page.deliveries.count)
                #expect(try await scene.report(message).recipients == claimed.count)
            }
            #expect(claimed == audience.map(\.key))
            #expect(sizes == [10, 10, 5])
        },
        ConformanceCase("a clock that is set back loses no subscriber and adds none") { scene in
            let topic = Scene.topic("news")
            let early = try await scene.register(1)
            let late = try await scene.register(2)
            let last = try await scene.register(3)
            let store = scene.store
            _ = try await store.subscribe([early.key, last.key], to: topic, at: Timestamp(milliseconds: 9000))
            _ = try await scene.broadcast(topic, at: 1000)
            _ = try await store.subscribe([late.key], to: topic, at: Timestamp(milliseconds: 500))
            let page = try #require(try await scene.claimPage())
            #expect(page.deliveries.map(\.registration.key) == [early.key, last.key])
        },
        ConformanceCase("who subscribed again after accept, unsubscribed or ended gets nothing") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(4, of: topic)
            let message = try await scene.broadcast(topic, at: 1000)
            _ = try await scene.store.unsubscribe([audience[0].key, audience[1].key], from: topic)
            _ = try await scene.store.subscribe([audience[0].key], to: topic, at: Timestamp(milliseconds: 1001))
            try await scene.store.end(
                audience[2].key, RegistrationEnd(time: Timestamp(milliseconds: 1002), cause: .deleted))
            let page = try #require(try await scene.claimPage())
            #expect(page.deliveries.map(\.registration.key) == [audience[3].key])
            #expect(try await scene.settle(page.deliveries.map { $0.ended() }) == [message.id])
            #expect(try await scene.report(message).recipients == 1)
        },
        ConformanceCase("a fan-out whose audience went away completes when it is claimed") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(2, of: topic)
            let message = try await scene.broadcast(topic)
            _ = try await scene.store.unsubscribe(audience.map(\.key), from: topic)
            #expect(try await scene.claimPage(at: 2000) == nil)
            let report = try await scene.report(message)
            #expect(report.state == .complete && report.completedAt == Timestamp(milliseconds: 2000))
            #expect(report.recipients == 0)
        },
        ConformanceCase("open fan-outs are offered by project, the oldest first, no more than asked for") { scene in
            let topics = ["a", "b", "c"].map { Scene.topic($0) }
            var messages: [MessageID] = []
            for (index, topic) in topics.enumerated() {
                _ = try await scene.audience(3, of: topic, from: index * 10)
                messages.append(try await scene.broadcast(topic).id)
            }
            var request = scene.request(50)
            request.project = ProjectID(rawValue: "other")!
            let stranger = try await scene.store.register(request, at: Timestamp(milliseconds: 1)).registration
            _ = try await scene.store.subscribe([stranger.key], to: topics[0], at: Timestamp(milliseconds: 1))
            var foreign = try scene.newMessage(.topic(topics[0]), at: 1000)
            foreign.project = request.project
            foreign.options = DeliveryOptions(rate: 7, finishBy: nil)
            _ = try await scene.store.accept(foreign)
            let open = try await scene.store.openFanOuts(limitPerProject: 2)
            #expect(open.filter { $0.project == scene.project }.map(\.message) == Array(messages[0..<2]))
            #expect(open.filter { $0.project == request.project }.map(\.message) == [foreign.id])
            #expect(open.filter { $0.project == request.project }.map(\.rate) == [7])
            #expect(open.first { $0.message == messages[0] }?.remaining == 3)
            let page = try #require(try await scene.claimPage(2))
            #expect(page.message == messages[0])
            #expect(try await scene.openFanOuts().first { $0.message == messages[0] }?.remaining == 1)
            _ = try await scene.claimPage(2)
            #expect(try await scene.openFanOuts().contains { $0.message == messages[0] } == false)
        },
        ConformanceCase("neither paced nor held messages hide the ones after them") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.store.register(scene.request(1), at: Timestamp(milliseconds: 0))
            let made = try await scene.store.register(
                scene.request(2, environment: .sandbox), at: Timestamp(milliseconds: 0)
            ).registration
            _ = try await scene.store.subscribe([made.key], to: topic, at: Timestamp(milliseconds: 0))
            let held: Set = [scene.route(.sandbox)]
            // Three messages have nothing but recipients of a route that is held.
            for _ in 0..<3 { _ = try await scene.broadcast(topic) }
            #expect(try await scene.claimPage(held: held) == nil)
            for rate in 1...3 {
                var paced = try scene.newMessage(.topic(topic), at: 1000)
                paced.options = DeliveryOptions(rate: rate, finishBy: nil)
                _ = try await scene.send(paced)
            }
            let last = try await scene.broadcast(topic)
            _ = try await scene.broadcast(topic)
            let open = try await scene.store.openFanOuts(limitPerProject: 1, held: held)
            // One shard of the held route remains, for who tries it.
            #expect(open.map(\.route) == [scene.route(.sandbox), nil, nil, nil, nil])
            #expect(open.dropFirst().map(\.rate) == [1, 2, 3, nil])
            #expect(open.last?.message == last.id)
            #expect(try await scene.store.openFanOuts(limitPerProject: 1).first?.route == scene.route(.sandbox))
            #expect(try await scene.store.openFanOuts(limitPerProject: 9).count == 8)
        },
        ConformanceCase("each shard is one node's, until it has none of a message; a pace is everybody's") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            for _ in 0..<4 { _ = try await scene.broadcast(topic) }
            var paced = try scene.newMessage(.topic(topic), at: 1000)
            paced.options = DeliveryOptions(rate: 5, finishBy: nil)
            let last = try await scene.send(paced).id
            let all = try await scene.openFanOuts()
            #expect(all.count == 5 && all.allSatisfy { $0.isOwn })
            for place in 0..<3 {
                let share = ShardShare(of: 3, at: place)
                let open = try await scene.store.openFanOuts(limitPerProject: 9, held: [], share: share)
                #expect(open.map(\.id) == all.map(\.id))
                for fanOut in open {
                    let isOwn = (fanOut.id.message + fanOut.id.shard) % 3 == place
                    #expect(fanOut.isOwn == (isOwn || fanOut.message == last))
                }
                // What others do the rest of takes no turns from what this node has shards of.
                let few = try await scene.store.openFanOuts(limitPerProject: 1, held: [], share: share)
                #expect(few.filter { $0.isOwn && $0.message != last }.count == 1)
                #expect(few.count <= 2)
            }
            // What another one has is claimed all the same, and shows in the cursor.
            let first = try #require(all.first)
            let claim = try await scene.store.claimPage(
                of: first.id, limit: 1, held: [], by: scene.worker, at: Timestamp(milliseconds: 2000))
            #expect(claim.page?.deliveries.count == 1 && !claim.isOvertaken)
            let moved = try #require(try await scene.openFanOuts().first)
            #expect(moved.id == first.id && moved.cursor > first.cursor)
        },
        ConformanceCase("a shard that is at its end or unknown has nothing to claim") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(2, of: topic)
            _ = try await scene.broadcast(topic)
            let shard = try #require(try await scene.openFanOuts().first).id
            let time = Timestamp(milliseconds: 2000)
            let (store, worker) = (scene.store, scene.worker)
            let first = try await store.claimPage(of: shard, limit: 9, held: [], by: worker, at: time)
            #expect(first.page?.deliveries.count == 2 && first.isDone)
            for id in [shard, OpenFanOut.ID(message: 99, shard: 0)] {
                let claim = try await store.claimPage(of: id, limit: 9, held: [], by: worker, at: time)
                #expect(claim.page == nil && claim.isDone)
            }
        },
        ConformanceCase("workers that claim from one shard at once share its recipients") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(60, of: topic)
            _ = try await scene.broadcast(topic)
            let keys = try await withThrowingTaskGroup(of: [RegistrationKey].self) { [scene] group in
                for number in 0..<4 {
                    group.addTask {
                        let worker = try await scene.store.enroll("w\(number)", for: Scene.lease)
                        var keys: [RegistrationKey] = []
                        while let page = try await scene.claimPage(4, by: worker) {
                            keys += page.deliveries.map(\.registration.key)
                        }
                        return keys
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(keys.sorted() == audience.map(\.key))
        },
        ConformanceCase("stale registrations are passed by when a message asks for that") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(3, of: topic)
            _ = try await scene.store.change(audience[1].key, RegistrationChange(), at: Timestamp(milliseconds: 500))
            var message = try scene.newMessage(.topic(topic), at: 1000)
            message.skipsStaleBefore = Timestamp(milliseconds: 500)
            let sent = try await scene.send(message)
            let page = try #require(try await scene.claimPage())
            #expect(page.deliveries.map(\.registration.key) == [audience[1].key])
            #expect(try await scene.settle(page.deliveries.map { $0.ended() }) == [sent.id])
        },
        ConformanceCase("whom a fan-out passes by is counted once, by cause, up to its cursor") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(12, of: topic)
            // Numbers 1 and 11 are quarantined, all but 3, 4 and 9 are stale then.
            let first = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            try await scene.settle(
                page.deliveries.enumerated().map { index, delivery in
                    [1, 11].contains(index)
                        ? delivery.ended(.rejected, reason: "BadDeviceToken", verdict: .refused("BadDeviceToken"))
                        : delivery.ended()
                })
            for number in [3, 4, 9] {
                _ = try await scene.store.change(
                    audience[number].key, RegistrationChange(), at: Timestamp(milliseconds: 5000))
            }
            var message = try scene.newMessage(.topic(topic), at: 6000)
            message.skipsStaleBefore = Timestamp(milliseconds: 5000)
            let sent = try await scene.send(message)
            var counts: [PassedOver] = []
            for _ in 0..<3 {
                let claimed = try #require(try await scene.claimPage(1, at: 6500))
                counts.append(try await scene.report(sent).passedOver)
                try await scene.settle(claimed.deliveries.map { $0.ended(at: 7000) })
            }
            #expect(try await scene.claimPage(1, at: 6500)?.deliveries.count == nil)
            #expect(
                counts == [
                    PassedOver(quarantined: 1, stale: 2), PassedOver(quarantined: 1, stale: 2),
                    PassedOver(quarantined: 2, stale: 7),
                ])
            let report = try await scene.report(sent)
            #expect(report.recipients == 3 && report.passedOver == PassedOver(quarantined: 2, stale: 7))
            #expect(try await scene.report(first).passedOver == PassedOver())
            // A list names registrations that may have ended.
            try await scene.store.end(
                audience[0].key, RegistrationEnd(time: Timestamp(milliseconds: 7500), cause: .deleted))
            let fresh = try await scene.audience(100, of: Scene.topic("more"), from: 100)
            let list = try await scene.send(.list(audience.map(\.key) + fresh.map(\.key)), at: 8000)
            while try await scene.claimPage(50, at: 8500) != nil {}
            #expect(try await scene.report(list).passedOver == PassedOver(ended: 1, quarantined: 2))
        },
        ConformanceCase("due deliveries come the longest due first, lane by lane") { scene in
            let made = try await scene.register(1)
            let later = try await scene.send(to: made, at: 1500)
            let earlier = try await scene.send(to: made, at: 1000)
            #expect(try await scene.claimDue(.bulk).isEmpty)
            #expect(try await scene.claimDue(.interactive, at: 999).isEmpty)
            #expect(
                try await scene.store.dueRoutes(.interactive, at: Timestamp(milliseconds: 1000)).next
                    == later.acceptedAt)
            let due = try await scene.claimDue(.interactive, at: 1500)
            #expect(due.map(\.message) == [earlier.id, later.id])
            #expect(
                due.allSatisfy {
                    $0.page == nil && $0.registration == DeliveryRegistration(made) && $0.project == scene.project
                })
            #expect(try await scene.claimDue(.interactive, at: 1500).isEmpty)
            #expect(try await scene.store.dueRoutes(.interactive, at: Timestamp(milliseconds: 0)).next == nil)
            #expect(try await scene.store.dueRoutes(.interactive, at: Timestamp(milliseconds: 9000)) == DueRoutes())
        },
        ConformanceCase("a claim of due deliveries sees the registration as it is now") { scene in
            let made = try await scene.register(1)
            let gone = try await scene.register(2)
            _ = try await scene.send(to: made)
            _ = try await scene.send(to: gone)
            _ = try await scene.store.change(
                made.key, RegistrationChange(address: .deviceToken(Scene.deviceToken(7))),
                at: Timestamp(milliseconds: 1100))
            try await scene.store.end(
                gone.key, RegistrationEnd(time: Timestamp(milliseconds: 1200), cause: .deleted))
            let due = try await scene.claimDue(.interactive)
            #expect(due.map(\.registration.deviceToken) == [Scene.deviceToken(7), Scene.deviceToken(2)])
            #expect(due.map(\.registration.isActive) == [true, false])
        },
        ConformanceCase("the backlog counts what is open and what is still to be claimed") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(5, of: topic)
            _ = try await scene.send(to: try await scene.register(9))
            _ = try await scene.broadcast(topic)
            #expect(try await scene.store.backlog() == [.interactive: 1, .bulk: 5])
            let page = try #require(try await scene.claimPage(2))
            #expect(try await scene.store.backlog() == [.interactive: 1, .bulk: 5])
            try await scene.settle([page.deliveries[0].ended(), page.deliveries[1].retried(at: 9000)])
            #expect(try await scene.store.backlog() == [.interactive: 1, .bulk: 4])
        },
    ]
}
