import PushModel
import Store
import TestSupport
import Testing

extension Scene {
    /// An address of each kind; the token of Android has the bytes of the device token.
    static var addresses: [Address] {
        let text = String(repeating: "token-of-Android:", count: 2)
        return [
            .apple(DeviceToken(bytes: Array(text.utf8))!, .sandbox), .android(AndroidToken(rawValue: text)!),
            .web(web("https://push.example.com/\(text)", applicationKey: Array(repeating: 5, count: 65))),
        ]
    }

    /// Registers each of `addresses` for the one id of ``app``.
    func register(_ addresses: [Address], at time: Int64 = 0) async throws -> [Registration] {
        var made: [Registration] = []
        for address in addresses {
            var request = request(0)
            request.address = address
            made.append(try await store.register(request, at: Timestamp(milliseconds: time)).registration)
        }
        return made
    }
}

extension Registration {
    fileprivate var route: PushRoute { PushRoute(project: project, app: app, channel: channel) }
}

extension ConformanceCase {
    static let addresses: [ConformanceCase] = [
        ConformanceCase("one id is an app of each platform, with registrations of its own") { scene in
            let made = try await scene.register(Scene.addresses)
            #expect(Set(made.map(\.key)).count == 3)
            #expect(made.map(\.address) == Scene.addresses)
            #expect(made.map(\.appKey) == [.apple, .android, .web].map { AppKey($0, scene.app) })
            for registration in made {
                #expect(try await scene.store.registration(registration.id, in: scene.project) == registration)
                #expect(
                    try await scene.store.registration(
                        holding: registration.address, of: scene.app, in: scene.project) == registration)
            }
            // Where nothing says which platform is meant, all are.
            let page = try await scene.store.registrations(in: scene.project, .active, after: nil, limit: 9)
            #expect(page.elements == made)
            let again = try await scene.register(Scene.addresses, at: 5)
            #expect(again.map(\.key) == made.map(\.key) && again.map(\.token) == made.map(\.token))
        },
        ConformanceCase("a browser is registered once by its endpoint, and its keys are the newest") { scene in
            let first = Scene.web("https://push.example.com/a")
            let renewed = Scene.web("https://push.example.com/a", secret: 8)
            let other = Scene.web("https://push.example.com/b", secret: 8)
            let made = try await scene.register([.web(first), .web(renewed), .web(other)])
            #expect(made[0].key == made[1].key && made[0].key != made[2].key)
            #expect(made.map(\.address) == [.web(first), .web(renewed), .web(other)])
            // The endpoint moves with the device, as a device token does.
            let moved = try await scene.store.change(
                made[2].key, RegistrationChange(address: .address(.web(first))), at: Timestamp(milliseconds: 7))
            #expect(moved?.address == .web(first))
            #expect(try await scene.store.registration(made[0].id, in: scene.project)?.end?.cause == .replaced)
        },
        ConformanceCase("a device token moves as it is, and takes no environment along") { scene in
            let (former, next) = (try await scene.register(1), try await scene.register(2))
            let token = former.deviceToken
            _ = try await scene.store.change(
                next.key, RegistrationChange(address: .environment(.sandbox)), at: Timestamp(milliseconds: 5))
            let moved = try await scene.store.change(
                next.key, RegistrationChange(address: .deviceToken(token)), at: Timestamp(milliseconds: 6))
            #expect(moved?.key == next.key && moved?.address == .apple(token, .sandbox))
            #expect(try await scene.store.registration(former.id, in: scene.project)?.end?.cause == .replaced)
        },
    ]

    static let channels: [ConformanceCase] = [
        ConformanceCase("a page has addresses of every kind, each on the route of its channel") { scene in
            let made = try await scene.register(Scene.addresses)
            let topic = Scene.topic("news")
            _ = try await scene.store.subscribe(made.map(\.key), to: topic, at: Timestamp(milliseconds: 0))
            let message = try await scene.broadcast(topic)
            let web = PushRoute(project: scene.project, app: scene.app, channel: .webPush)
            let page = try #require(try await scene.claimPage(held: [web]))
            #expect(page.deliveries.map(\.registration.address) == Array(Scene.addresses.prefix(2)))
            #expect(try await scene.openFanOuts().map(\.route) == [web])
            let late = try #require(try await scene.claimPage())
            #expect(late.deliveries.map(\.registration.address) == Array(Scene.addresses.suffix(1)))
            // What is proven is the address that was sent to.
            let all = page.deliveries + late.deliveries
            try await scene.settle(all.map { $0.ended(verdict: .proven(in: $0.registration.channel), at: 3000) })
            #expect(try await scene.report(message).state == .complete)
            for registration in made {
                let proven = try await scene.store.registration(registration.id, in: scene.project)
                #expect(proven?.provenAt == Timestamp(milliseconds: 3000) && proven?.address == registration.address)
            }
        },
        ConformanceCase("a report has figures of each platform that are together its own") { scene in
            let made = try await scene.register(Scene.addresses)
            let more = try await scene.audience(3, of: Scene.topic("news"), from: 10)
            _ = try await scene.store.subscribe(
                made.map(\.key), to: Scene.topic("news"), at: Timestamp(milliseconds: 0))
            let first = try await scene.broadcast(Scene.topic("news"))
            let page = try #require(try await scene.claimPage())
            func settlement(_ delivery: ClaimedDelivery) -> Settlement {
                switch delivery.registration.key {
                case made[1].key: delivery.ended(.rejected, reason: "Gone", verdict: .refused("Gone"))
                case made[2].key: delivery.retried(at: 9000)
                default: delivery.ended()
                }
            }
            #expect(
                try await scene.report(first).platforms == [
                    .apple: PlatformReport(recipients: 4, inFlight: 4),
                    .android: PlatformReport(recipients: 1, inFlight: 1),
                    .web: PlatformReport(recipients: 1, inFlight: 1),
                ])
            try await scene.settle(page.deliveries.map(settlement))
            let figures = try await scene.report(first).platforms
            #expect(figures[.apple] == PlatformReport(recipients: 4, ended: [.accepted: 4]))
            #expect(figures[.android] == PlatformReport(recipients: 1, ended: [.rejected: 1]))
            #expect(figures[.web] == PlatformReport(recipients: 1, inFlight: 1))
            // The one of Android is quarantined, and one of Apple's ends and is named in the list all the same.
            try await scene.store.end(
                more[0].key, RegistrationEnd(time: Timestamp(milliseconds: 5000), cause: .deleted))
            let second = try await scene.broadcast(Scene.topic("news"), at: 6000)
            while try await scene.claimPage(1, at: 6500) != nil {}
            let passed = try await scene.report(second)
            #expect(passed.platforms[.android] == PlatformReport(passedOver: 1))
            #expect(passed.platforms[.apple] == PlatformReport(recipients: 3, inFlight: 3))
            #expect(passed.platforms.values.map(\.audience).reduce(0, +) == passed.message.audience)
            let list = try await scene.send(.list(made.map(\.key)), at: 7000)
            #expect(
                try await scene.report(list).platforms == [
                    .apple: PlatformReport(recipients: 1, inFlight: 1),
                    .android: PlatformReport(recipients: 1, inFlight: 1),
                    .web: PlatformReport(recipients: 1, inFlight: 1),
                ])
            let single = try await scene.send(to: made[2], at: 8000)
            #expect(
                try await scene.report(single).platforms == [.web: PlatformReport(recipients: 1, inFlight: 1)])
            let due = try await scene.claimDue(.interactive, at: 8000)
            try await scene.settle(due.filter { $0.message == single.id }.map { $0.ended() })
            #expect(
                try await scene.report(single).platforms == [
                    .web: PlatformReport(recipients: 1, ended: [.accepted: 1])
                ])
        },
        ConformanceCase("quarantines are lifted on one platform, and those of the others stay") { scene in
            let made = try await scene.register(Scene.addresses)
            _ = try await scene.store.subscribe(
                made.map(\.key), to: Scene.topic("news"), at: Timestamp(milliseconds: 0))
            _ = try await scene.broadcast(Scene.topic("news"))
            let page = try #require(try await scene.claimPage())
            try await scene.settle(
                page.deliveries.map { $0.ended(.rejected, reason: "Gone", verdict: .refused("Gone")) })
            let (store, project) = (scene.store, scene.project)
            func quarantined() async throws -> [Platform] {
                try await store.registrations(in: project, .quarantined, after: nil, limit: 9).elements.map {
                    $0.address.platform
                }
            }
            #expect(try await quarantined() == [.apple, .android, .web])
            for (platform, rest) in [(Platform.android, [Platform.apple, .web]), (.apple, [.web]), (.web, [])] {
                let lifted = try await store.liftQuarantine(
                    of: AppKey(platform, scene.app), in: project, since: Timestamp(milliseconds: 0))
                #expect(lifted == 1)
                #expect(try await quarantined() == rest)
            }
        },
        ConformanceCase("what waits of one id is counted for each platform by itself") { scene in
            let made = try await scene.register(Scene.addresses)
            for registration in made { _ = try await scene.send(to: registration) }
            _ = try await scene.send(to: made[1])
            _ = try await scene.store.subscribe(
                made.map(\.key), to: Scene.topic("news"), at: Timestamp(milliseconds: 0))
            // The recipients of one route are set aside in a shard of their own.
            let held = PushRoute(project: scene.project, app: scene.app, channel: .webPush)
            _ = try await scene.broadcast(Scene.topic("news"))
            #expect(try await scene.claimPage(held: [held])?.deliveries.count == 2)
            func share(_ lane: Lane, _ platform: Platform?, waiting: Int = 0, inFlight: Int = 0) -> BacklogShare {
                var share = BacklogShare(lane: lane, app: platform.map { AppKey($0, scene.app) })
                (share.waiting, share.inFlight) = (waiting, inFlight)
                return share
            }
            let others = [
                share(.interactive, .apple, waiting: 1), share(.interactive, .web, waiting: 1),
                share(.bulk, .web, waiting: 1), share(.bulk, nil, inFlight: 2),
            ]
            #expect(
                try await scene.store.backlog(of: scene.project)
                    == [share(.interactive, .android, waiting: 2)] + others)
            _ = try await scene.store.claimDue(
                .interactive, made[1].route, limit: 1, by: scene.worker, at: Timestamp(milliseconds: 2000))
            #expect(
                try await scene.store.backlog(of: scene.project)
                    == [share(.interactive, .android, waiting: 1, inFlight: 1)] + others)
        },
        ConformanceCase("days are summed for one platform, or for all that have the id") { scene in
            let made = try await scene.register(Scene.addresses)
            for registration in made + made.suffix(1) { _ = try await scene.send(to: registration) }
            func recipients(_ platform: Platform?) async throws -> [Int] {
                try await scene.store.deliveryDays(
                    of: scene.app, on: platform, in: scene.project, after: nil, limit: 9
                ).elements.map(\.recipients)
            }
            for _ in 0..<2 {
                #expect(try await recipients(nil) == [4])
                #expect(try await recipients(.apple) == [1])
                #expect(try await recipients(.web) == [2])
                try await scene.settle(try await scene.claimDue(.interactive, limit: 3).map { $0.ended() })
            }
        },
        ConformanceCase("single deliveries wait on the route of their channel") { scene in
            let made = try await scene.register(Scene.addresses)
            for registration in made { _ = try await scene.send(to: registration) }
            let routes = made.map(\.route)
            let time = Timestamp(milliseconds: 2000)
            #expect(Set(try await scene.store.dueRoutes(.interactive, at: time).routes) == Set(routes))
            for (route, registration) in zip(routes, made) {
                let due = try await scene.store.claimDue(.interactive, route, limit: 9, by: scene.worker, at: time)
                #expect(due.map(\.registration.address) == [registration.address])
            }
        },
    ]
}
