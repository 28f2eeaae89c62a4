import PushModel
import Store
import TestSupport
import Testing

extension ConformanceCase {
    static let registrations: [ConformanceCase] = [
        ConformanceCase("a new registration has a FID and a token in FCM's form") { scene in
            let (made, isNew) = try await scene.store.register(scene.request(1), at: Timestamp(milliseconds: 5))
            #expect(isNew)
            #expect(made.token.rawValue.hasPrefix(made.id.rawValue + ":APA91b"))
            #expect(made.token.rawValue.utf8.count == 163)
            #expect(made.isActive && made.createdAt.milliseconds == 5 && made.refreshedAt.milliseconds == 5)
            #expect(made.deviceToken == Scene.deviceToken(1) && made.environment == .production)
            #expect(try await scene.store.registration(made.id, in: scene.project) == made)
            #expect(try await scene.store.registration(token: made.token, in: scene.project) == made)
        },
        ConformanceCase("the same device token again refreshes the same registration") { scene in
            let first = try await scene.register(1, at: 5)
            let again = try await scene.store.register(
                scene.request(1, version: "2.0", environment: .sandbox), at: Timestamp(milliseconds: 9))
            #expect(!again.isNew)
            #expect(again.registration.key == first.key && again.registration.token == first.token)
            #expect(again.registration.appVersion == "2.0" && again.registration.environment == .sandbox)
            #expect(again.registration.createdAt.milliseconds == 5 && again.registration.refreshedAt.milliseconds == 9)
        },
        ConformanceCase("a registration of another project is not found") { scene in
            let made = try await scene.register(1)
            let other = ProjectID(rawValue: "other")!
            #expect(try await scene.store.registration(made.id, in: other) == nil)
            #expect(try await scene.store.registration(token: made.token, in: other) == nil)
        },
        ConformanceCase("whom a message names is found as it is now, however often it was asked for") { scene in
            let made = try await scene.register(1)
            for name in [RegistrationReference.id(made.id), .token(made.token)] {
                #expect(try await scene.store.addressee(name, in: scene.project) == made)
                #expect(try await scene.store.addressee(name, in: scene.project) == made)
                #expect(try await scene.store.addressee(name, in: ProjectID(rawValue: "other")!) == nil)
            }
            let wrong = RegistrationToken(rawValue: "\(made.id):APA91bwrong")!
            #expect(try await scene.store.addressee(.token(wrong), in: scene.project) == nil)
            let change = RegistrationChange(address: .address(.apple(Scene.deviceToken(9), .production)))
            let moved = try await scene.store.change(made.key, change, at: Timestamp(milliseconds: 3))
            #expect(moved?.address != made.address)
            #expect(try await scene.store.addressee(.id(made.id), in: scene.project)?.address == moved?.address)
            try await scene.store.end(made.key, RegistrationEnd(time: Timestamp(milliseconds: 5), cause: .deleted))
            for name in [RegistrationReference.id(made.id), .token(made.token)] {
                #expect(try await scene.store.addressee(name, in: scene.project)?.isActive == false)
            }
        },
        ConformanceCase("the holder of a device token is the active registration of the app") { scene in
            let made = try await scene.register(1)
            let project = scene.project
            let other = AppID(rawValue: "com.example.other")!
            let token = made.address
            #expect(try await scene.store.registration(holding: token, of: scene.app, in: project) == made)
            #expect(try await scene.store.registration(holding: token, of: other, in: project) == nil)
            #expect(
                try await scene.store.registration(
                    holding: .apple(Scene.deviceToken(2), .production), of: scene.app, in: project) == nil)
            #expect(
                try await scene.store.registration(
                    holding: made.address.on(.apns(.sandbox)), of: scene.app, in: project) == made)
            try await scene.store.end(made.key, RegistrationEnd(time: Timestamp(milliseconds: 5), cause: .deleted))
            #expect(try await scene.store.registration(holding: token, of: scene.app, in: project) == nil)
        },
        ConformanceCase("the project of a token is found by the whole token alone") { scene in
            let made = try await scene.register(1)
            var elsewhere = scene.request(2)
            elsewhere.project = ProjectID(rawValue: "other")!
            let other = try await scene.store.register(elsewhere, at: Timestamp(milliseconds: 0)).registration
            try await scene.store.end(
                other.key, RegistrationEnd(time: Timestamp(milliseconds: 5), cause: .deleted))
            let tokens = [
                made.token, other.token, RegistrationToken(rawValue: "\(made.id):APA91bwrong")!,
                RegistrationToken(rawValue: "abcdefgh:APA91bunknown")!,
            ]
            #expect(try await scene.store.projects(of: tokens) == [scene.project, elsewhere.project, nil, nil])
            #expect(try await scene.store.projects(of: []).isEmpty)
        },
        ConformanceCase("a rotated device token replaces its other holder with its subscriptions") { scene in
            let topic = Scene.topic("news")
            let both = try await scene.audience(2, of: topic)
            let changed = try await scene.store.change(
                both[0].key, RegistrationChange(address: .deviceToken(both[1].deviceToken), appVersion: "3"),
                at: Timestamp(milliseconds: 7))
            #expect(changed?.deviceToken == both[1].deviceToken)
            #expect(changed?.token == both[0].token && changed?.refreshedAt.milliseconds == 7)
            #expect(changed?.environment == both[0].environment && changed?.appVersion == "3")
            let replaced = try await scene.store.registration(both[1].id, in: scene.project)
            #expect(replaced?.end == RegistrationEnd(time: Timestamp(milliseconds: 7), cause: .replaced))
            #expect(try await scene.store.subscription(of: both[1].key, to: topic) == nil)
            #expect(try await scene.broadcast(topic).audience == 1)
        },
        ConformanceCase("its own device token again replaces no registration") { scene in
            let made = try await scene.register(1)
            let changed = try await scene.store.change(
                made.key, RegistrationChange(address: .deviceToken(made.deviceToken)), at: Timestamp(milliseconds: 7))
            #expect(changed?.isActive == true)
        },
        ConformanceCase("a registration is proven until its device token or environment changes") { scene in
            for (number, change) in [
                RegistrationChange(address: .deviceToken(Scene.deviceToken(70))),
                RegistrationChange(address: .environment(.sandbox)),
            ].enumerated() {
                let made = try await scene.register(number)
                #expect(!made.isProven)
                _ = try await scene.send(to: made)
                try await scene.settle(
                    try await scene.claimDue(.interactive).map {
                        $0.ended(verdict: .proven(in: .apns(.production)), at: 3000)
                    })
                // The same again is no change.
                let again = try await scene.store.register(scene.request(number), at: Timestamp(milliseconds: 4000))
                #expect(again.registration.provenAt == Timestamp(milliseconds: 3000))
                let same = RegistrationChange(address: .address(.apple(made.deviceToken, .production)), appVersion: "2")
                let touched = try await scene.store.change(made.key, same, at: Timestamp(milliseconds: 5000))
                #expect(touched?.provenAt == Timestamp(milliseconds: 3000))
                let changed = try await scene.store.change(made.key, change, at: Timestamp(milliseconds: 6000))
                #expect(changed?.isProven == false && changed?.isActive == true)
            }
        },
        ConformanceCase("an ended registration stays as it ended and its device token is free") { scene in
            let made = try await scene.register(1)
            let end = RegistrationEnd(time: Timestamp(milliseconds: 5), cause: .deleted)
            try await scene.store.end(made.key, end)
            try await scene.store.end(
                made.key, RegistrationEnd(time: Timestamp(milliseconds: 6), cause: .unregistered))
            #expect(try await scene.store.registration(made.id, in: scene.project)?.end == end)
            #expect(
                try await scene.store.change(made.key, RegistrationChange(), at: Timestamp(milliseconds: 7)) == nil)
            let next = try await scene.store.register(scene.request(1), at: Timestamp(milliseconds: 8))
            #expect(next.isNew && next.registration.key > made.key && next.registration.token != made.token)
        },
    ]

    static let subscriptions: [ConformanceCase] = [
        ConformanceCase("subscribing tells for each key in order what became of it") { scene in
            let topic = Scene.topic("news")
            let first = try await scene.register(1)
            let second = try await scene.register(2)
            try await scene.store.end(
                second.key, RegistrationEnd(time: Timestamp(milliseconds: 1), cause: .deleted))
            let unknown = RegistrationKey(rawValue: 999)
            let results = try await scene.store.subscribe(
                [second.key, first.key, first.key, unknown], to: topic, at: Timestamp(milliseconds: 4))
            let subscription = Subscription(topic: topic, createdAt: Timestamp(milliseconds: 4))
            #expect(results == [.notActive, .created(subscription), .existed(subscription), .notActive])
            let later = try await scene.store.subscribe([first.key], to: topic, at: Timestamp(milliseconds: 9))
            #expect(later == [.existed(subscription)])
            #expect(try await scene.store.subscription(of: first.key, to: topic) == subscription)
        },
        ConformanceCase("unsubscribing tells for each key in order whether it was subscribed") { scene in
            let topic = Scene.topic("news")
            let both = try await scene.audience(2, of: topic)
            let stranger = try await scene.register(9)
            let results = try await scene.store.unsubscribe(
                [stranger.key, both[0].key, both[0].key], from: topic)
            #expect(results == [false, true, false])
            #expect(try await scene.broadcast(topic).audience == 1)
        },
        ConformanceCase("topics are listed in the order of their bytes, page by page") { scene in
            let made = try await scene.register(1)
            let names = ["b", "a", "Z", "a.b", "~", "a-b"]
            for name in names {
                _ = try await scene.store.subscribe([made.key], to: Scene.topic(name), at: Timestamp(milliseconds: 1))
            }
            var listed: [String] = []
            var last: Topic?
            while true {
                let page = try await scene.store.subscriptions(of: made.key, after: last, limit: 4)
                listed += page.map(\.topic.rawValue)
                guard let end = page.last else { break }
                last = end.topic
            }
            #expect(listed == ["Z", "a", "a-b", "a.b", "b", "~"])
        },
        ConformanceCase("the 2001st topic is refused") { scene in
            let made = try await scene.register(1)
            try await withThrowingTaskGroup(of: Void.self) { [store = scene.store] group in
                for number in 0..<2000 {
                    group.addTask {
                        let results = try await store.subscribe(
                            [made.key], to: Scene.topic("t\(number)"), at: Timestamp(milliseconds: 1))
                        #expect(results != [.tooManyTopics])
                    }
                }
                try await group.waitForAll()
            }
            let over = try await scene.store.subscribe(
                [made.key], to: Scene.topic("over"), at: Timestamp(milliseconds: 1))
            #expect(over == [.tooManyTopics])
            // Nor is the topic made.
            #expect(try await scene.store.topic(Scene.topic("over"), in: made.project) == nil)
            let again = try await scene.store.subscribe(
                [made.key], to: Scene.topic("t7"), at: Timestamp(milliseconds: 2))
            #expect(again == [.existed(Subscription(topic: Scene.topic("t7"), createdAt: Timestamp(milliseconds: 1)))])
        },
        ConformanceCase("the same topic name in two projects is two topics") { scene in
            let topic = Scene.topic("news")
            _ = try await scene.audience(1, of: topic)
            var request = scene.request(5)
            request.project = ProjectID(rawValue: "other")!
            let stranger = try await scene.store.register(request, at: Timestamp(milliseconds: 1)).registration
            _ = try await scene.store.subscribe([stranger.key], to: topic, at: Timestamp(milliseconds: 1))
            #expect(try await scene.broadcast(topic).audience == 1)
            #expect(try await scene.claimPage()?.deliveries.count == 1)
        },
    ]

    static let credentials: [ConformanceCase] = [
        ConformanceCase("a key is found until and after it is revoked, and keeps the first time") { scene in
            let key = APIKeyRecord(
                id: "k1", project: scene.project, role: .sender, digest: Array(0..<32),
                createdAt: Timestamp(milliseconds: 1), revokedAt: nil)
            try await scene.store.insert(key, by: .gateway)
            #expect(try await scene.store.apiKey("k1") == key)
            #expect(try await scene.store.apiKey("k2") == nil)
            #expect(try await scene.store.revoke("k1", at: Timestamp(milliseconds: 7), by: .gateway))
            #expect(try await scene.store.revoke("k1", at: Timestamp(milliseconds: 9), by: .gateway))
            #expect(try await scene.store.revoke("k2", at: Timestamp(milliseconds: 9), by: .gateway) == false)
            #expect(try await scene.store.apiKey("k1")?.revokedAt == Timestamp(milliseconds: 7))
        },
        ConformanceCase("key ids are unique") { scene in
            let key = APIKeyRecord(
                id: "k1", project: scene.project, role: .admin, digest: Array(0..<32),
                createdAt: Timestamp(milliseconds: 1), revokedAt: nil)
            try await scene.store.insert(key, by: .gateway)
            let store = scene.store
            try await expectStoreError(.failed) { try await store.insert(key, by: .gateway) }
        },
        ConformanceCase("keys are listed by project, the oldest first") { scene in
            let other = ProjectID(rawValue: "other")!
            for (id, project) in [("b", scene.project), ("a", scene.project), ("c", other)] {
                try await scene.store.insert(
                    APIKeyRecord(
                        id: id, project: project, role: .client, digest: Array(0..<32),
                        createdAt: Timestamp(milliseconds: 1), revokedAt: nil), by: .gateway)
            }
            #expect(try await scene.store.apiKeys(of: scene.project).map(\.id) == ["b", "a"])
            #expect(try await scene.store.apiKeys(of: nil).map(\.id) == ["b", "a", "c"])
        },
    ]
}
