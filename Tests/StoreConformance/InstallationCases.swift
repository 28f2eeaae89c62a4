import PushModel
import Store
import TestSupport
import Testing

private let alice = UserID(rawValue: "alice")!
private let fid = RegistrationID(rawValue: "cInstallationOne000000")!
private let other = ProjectID(rawValue: "other")!

extension ConformanceCase {
    static let installations: [ConformanceCase] = [
        ConformanceCase("an installation is found by its FID and by tokens that are valid") { scene in
            let made = try await scene.install(fid, token: 1, until: 100)
            #expect(made == fid)
            let found = try #require(try await scene.store.installation(fid, in: scene.project))
            #expect(found.refreshDigest == Scene.digest(99) && found.registration == nil)
            #expect(try await scene.store.installation(fid, in: other) == nil)
            #expect(try await scene.installation(1, at: 99) == found)
            #expect(try await scene.installation(1, at: 100) == nil, "expired")
            #expect(try await scene.installation(2, at: 50) == nil, "never given")
            #expect(
                try await scene.store.installation(
                    withToken: Scene.digest(1), in: other, at: Timestamp(milliseconds: 50)) == nil)
        },
        ConformanceCase("a FID that is taken is given to no other") { scene in
            let registered = try await scene.register(1)
            _ = try await scene.install(fid, token: 1)
            for (number, taken) in [fid, registered.id].enumerated() {
                let made = try await scene.install(taken, token: UInt8(number + 2))
                #expect(made != fid && made != registered.id)
                #expect(try await scene.installation(UInt8(number + 2), at: 1)?.id == made)
            }
            #expect(try await scene.installation(1, at: 1)?.id == fid)
        },
        ConformanceCase("a FID that another project has is as free as one that no project has") { scene in
            let here = try await scene.register(1)
            _ = try await scene.install(fid, token: 1)
            let mine = try await scene.registerInstallation(2, at: 5)
            for (number, id) in [fid, here.id].enumerated() {
                let made = try await scene.store.install(
                    NewInstallation(
                        project: other, id: id, app: "1:1:ios:a", sdkVersion: nil, refreshDigest: Scene.digest(98),
                        token: InstallationToken(
                            digest: Scene.digest(UInt8(number + 50)), expiresAt: Timestamp(milliseconds: 99))),
                    at: Timestamp(milliseconds: 1))
                #expect(made == id)
                var request = scene.request(number + 10)
                request.project = other
                guard
                    case .registered(let theirs) = try await scene.store.register(
                        request, for: id, at: Timestamp(milliseconds: 6))
                else {
                    Issue.record("not registered")
                    return
                }
                // Each project finds its own by the FID and by the token.
                let own = number == 0 ? mine : here
                #expect(theirs.id == id && theirs.key != own.key && theirs.token != own.token)
                #expect(try await scene.store.registration(id, in: other) == theirs)
                #expect(try await scene.store.registration(id, in: scene.project) == own)
                #expect(try await scene.store.registration(token: own.token, in: other) == nil)
                #expect(
                    try await scene.store.projects(of: [own.token, theirs.token]) == [scene.project, other])
            }
        },
        ConformanceCase("an installation keeps its four newest tokens") { scene in
            _ = try await scene.install(fid, token: 1, until: 1001)
            for number in 2...6 as ClosedRange<UInt8> {
                let isThere = try await scene.store.addToken(
                    InstallationToken(
                        digest: Scene.digest(number), expiresAt: Timestamp(milliseconds: 1000 + Int64(number))),
                    to: fid, in: scene.project, at: Timestamp(milliseconds: Int64(number)))
                #expect(isThere)
            }
            for number in 1...6 as ClosedRange<UInt8> {
                #expect((try await scene.installation(number, at: 10) != nil) == (number > 2), "\(number)")
            }
            let none = RegistrationID(rawValue: "cNobody000000000000000")!
            #expect(
                try await scene.store.addToken(
                    InstallationToken(digest: Scene.digest(9), expiresAt: Timestamp(milliseconds: 9)), to: none,
                    in: scene.project, at: Timestamp(milliseconds: 1)) == false)
        },
        ConformanceCase("the registration of an installation has its FID, and follows the device token") { scene in
            _ = try await scene.install(fid, token: 1)
            let made = try await scene.registerInstallation(1, at: 5)
            #expect(made.id == fid && made.createdAt == Timestamp(milliseconds: 5))
            #expect(try await scene.installation(1, at: 1)?.registration == made.key)
            #expect(try await scene.store.registration(made.key) == made)
            let topic = Scene.topic("news")
            _ = try await scene.store.subscribe([made.key], to: topic, at: Timestamp(milliseconds: 6))
            let rotated = try await scene.registerInstallation(2, at: 7)
            #expect(rotated.key == made.key && rotated.token == made.token)
            #expect(rotated.deviceToken == Scene.deviceToken(2))
            #expect(try await scene.store.subscription(of: made.key, to: topic) != nil)
            // Another app is another installation.
            var request = scene.request(2)
            request.app = AppID(rawValue: "com.example.other")!
            let refused = try await scene.store.register(request, for: fid, at: Timestamp(milliseconds: 8))
            #expect(refused == .otherApp)
            let none = RegistrationID(rawValue: "cNobody000000000000000")!
            let unknown = try await scene.store.register(scene.request(3), for: none, at: Timestamp(milliseconds: 8))
            #expect(unknown == .unknown)
        },
        ConformanceCase("who had the device token of an installation is replaced, and the audit tells it") { scene in
            let classic = try await scene.register(1, at: 1)
            _ = try await scene.install(fid, token: 1)
            let made = try await scene.registerInstallation(1, at: 5)
            #expect(made.id == fid && made.key != classic.key)
            let ended = try await scene.store.registration(classic.id, in: scene.project)
            #expect(ended?.end == RegistrationEnd(time: Timestamp(milliseconds: 5), cause: .replaced))
            let entries = try await scene.store.audit(of: fid, in: scene.project, limit: 9)
            #expect(entries.map(\.cause) == [.deviceTokenMoved] && entries.first?.former == classic.id)
        },
        ConformanceCase("what was known of a device without an installation goes over to its installation") { scene in
            let former = try await scene.imported(user: alice)
            var request = scene.request(1, environment: .production)
            request.isEnvironmentStated = false
            #expect(former.isProven)
            let made = try await scene.registerInstallation(request, at: 50)
            #expect(made.id == fid && made.token != former.token && made.user == nil && made.isBound)
            #expect(made.environment == .sandbox && made.provenAt == former.provenAt && made.isProven)
            let topic = Subscription(topic: Scene.topic("news"), createdAt: Timestamp(milliseconds: 6))
            #expect(try await scene.store.subscriptions(of: made.key, after: nil, limit: 9) == [topic])
            #expect(try await scene.store.subscriptions(of: former.key, after: nil, limit: 9) == [])
            #expect(
                try await scene.store.topic(topic.topic, in: scene.project)
                    == TopicSummary(topic: topic.topic, subscribers: 1))
            let ended = try await scene.store.registration(former.id, in: scene.project)
            #expect(ended?.end == RegistrationEnd(time: Timestamp(milliseconds: 50), cause: .replaced))
            let entry = try #require(try await scene.store.audit(of: fid, in: scene.project, limit: 9).first)
            #expect(entry.cause == .deviceTokenMoved && entry.former == former.id)
            #expect(entry.user == nil && entry.formerUser == alice)
            // It counts once.
            _ = try await scene.store.unsubscribe([made.key], from: topic.topic)
            #expect(try await scene.store.topic(topic.topic, in: scene.project)?.subscribers == 0)
        },
        ConformanceCase("another user inherits neither topics nor name, and another environment no proof") { scene in
            let former = try await scene.imported(user: alice)
            let made = try await scene.registerInstallation(scene.request(1, owner: .noUser), at: 50)
            #expect(made.id == fid && made.user == nil && made.environment == .production && !made.isProven)
            #expect(try await scene.store.subscriptions(of: made.key, after: nil, limit: 9) == [])
            #expect(try await scene.store.registration(former.id, in: scene.project)?.isActive == false)
        },
        ConformanceCase("the first user of an imported device has its topics") { scene in
            _ = try await scene.imported(user: nil)
            let made = try await scene.registerInstallation(
                scene.request(1, environment: .sandbox, owner: .user(alice)), at: 50)
            #expect(made.user == alice && made.isProven)
            #expect(try await scene.store.subscription(of: made.key, to: Scene.topic("news")) != nil)
        },
        ConformanceCase("an installation inherits nothing from another installation") { scene in
            let second = RegistrationID(rawValue: "cInstallationTwo000000")!
            _ = try await scene.install(second, token: 2)
            let result = try await scene.store.register(
                scene.request(1, owner: .user(alice)), for: second, at: Timestamp(milliseconds: 5))
            guard case .registered(let former) = result else {
                Issue.record("\(result)")
                return
            }
            _ = try await scene.store.subscribe(
                [former.key], to: Scene.topic("news"), at: Timestamp(milliseconds: 6))
            _ = try await scene.install(fid, token: 1)
            let made = try await scene.registerInstallation(1, at: 50)
            #expect(made.id == fid && made.user == nil)
            #expect(try await scene.store.subscriptions(of: made.key, after: nil, limit: 9) == [])
        },
        ConformanceCase("a registration that ended becomes active again with its installation, its token does not") {
            scene in
            _ = try await scene.install(fid, token: 1)
            let first = try await scene.registerInstallation(1, at: 5)
            let topic = Scene.topic("news")
            _ = try await scene.store.subscribe([first.key], to: topic, at: Timestamp(milliseconds: 6))
            try await scene.store.end(
                first.key, RegistrationEnd(time: Timestamp(milliseconds: 7), cause: .unregistered))
            let again = try await scene.registerInstallation(2, at: 8)
            #expect(again.id == fid && again.isActive && again.token != first.token && !again.isProven)
            #expect(again.createdAt == first.createdAt && again.refreshedAt == Timestamp(milliseconds: 8))
            #expect(try await scene.store.registration(token: first.token, in: scene.project) == nil)
            #expect(try await scene.store.subscriptions(of: again.key, after: nil, limit: 9) == [])
            // It counts again, and a broadcast to all finds it.
            let message = try await scene.send(to: again)
            #expect(try await scene.claimDue(.interactive).map(\.message) == [message.id])
            let listed = try await scene.store.registrations(in: scene.project, .active, after: nil, limit: 9)
            #expect(listed.elements == [again])
        },
        ConformanceCase("with another user the registration of an installation gets a FID of its own") { scene in
            _ = try await scene.install(fid, token: 1)
            let first = try await scene.registerInstallation(1, owner: .user(alice), at: 5)
            #expect(first.id == fid)
            let second = try await scene.registerInstallation(1, owner: .noUser, at: 6)
            #expect(second.id != fid && second.user == nil)
            #expect(try await scene.installation(1, at: 1)?.registration == second.key)
            #expect(try await scene.store.registration(fid, in: scene.project)?.isActive == false)
            #expect(try await scene.registerInstallation(1, at: 7).key == second.key)
            // What alice was sent under the FID never comes to who uses the device after her.
            try await scene.store.end(
                second.key, RegistrationEnd(time: Timestamp(milliseconds: 8), cause: .deleted))
            #expect(try await scene.registerInstallation(1, at: 9).id != fid)
        },
        ConformanceCase("an installation that goes takes its registration and its tokens along") { scene in
            _ = try await scene.install(fid, token: 1)
            let made = try await scene.registerInstallation(1, at: 5)
            try await scene.store.uninstall(fid, in: other, at: Timestamp(milliseconds: 6))
            #expect(try await scene.installation(1, at: 7) != nil)
            for time in [7, 9] as [Int64] {
                try await scene.store.uninstall(fid, in: scene.project, at: Timestamp(milliseconds: time))
            }
            #expect(try await scene.installation(1, at: 7) == nil)
            #expect(try await scene.store.installation(fid, in: scene.project) == nil)
            let ended = try await scene.store.registration(made.id, in: scene.project)
            #expect(ended?.end == RegistrationEnd(time: Timestamp(milliseconds: 7), cause: .deleted))
        },
        ConformanceCase("tokens that expired and unused installations are forgotten, some at a time") {
            scene in
            var ids: [RegistrationID] = []
            for number in 1...5 as ClosedRange<UInt8> {
                ids.append(try await scene.install(nil, token: number, until: Int64(number) * 10, at: Int64(number)))
            }
            let time = Timestamp(milliseconds: 40)
            #expect(try await scene.store.forgetInstallationTokens(before: time, limit: 2) == 2)
            #expect(try await scene.store.forgetInstallationTokens(before: time, limit: 2) == 1)
            #expect(try await scene.installation(4, at: 1) != nil)
            let limit = Timestamp(milliseconds: 4)
            #expect(try await scene.store.forgetInstallations(unusedSince: limit, limit: 2) == 2)
            #expect(try await scene.store.forgetInstallations(unusedSince: limit, limit: 2) == 1)
            for (index, id) in ids.enumerated() {
                #expect((try await scene.store.installation(id, in: scene.project) != nil) == (index > 2))
            }
        },
        ConformanceCase("a browser's subscription goes with its registration") { scene in
            let web = Scene.web("https://push.example.com/a")
            var request = scene.request(1, owner: .user(alice))
            request.address = .web(web)
            let made = try await scene.store.register(request, at: Timestamp(milliseconds: 1)).registration
            #expect(made.address == .web(web) && made.channel == .webPush)
            let moved = Scene.web("https://push.example.com/b")
            let changed = try await scene.store.change(
                made.key, RegistrationChange(address: .address(.web(moved))), at: Timestamp(milliseconds: 2))
            #expect(changed?.key == made.key && changed?.address == .web(moved))
            // An Apple device's token is no change to a browser.
            let same = try await scene.store.change(
                made.key, RegistrationChange(address: .deviceToken(Scene.deviceToken(2))),
                at: Timestamp(milliseconds: 2))
            #expect(same?.address == .web(moved))
            // Another user of the same browser.
            let next = try #require(
                try await scene.store.change(
                    made.key, RegistrationChange(owner: .noUser), at: Timestamp(milliseconds: 3)))
            #expect(next.key != made.key && next.address == .web(moved))
            #expect(try await scene.store.registration(made.key)?.isActive == false)
        },
    ]
}

extension Scene {
    static func digest(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    static func web(_ endpoint: String, secret: UInt8 = 7, applicationKey: [UInt8]? = nil) -> WebSubscription {
        WebSubscription(
            endpoint: endpoint, key: Array(repeating: 4, count: 65), secret: Array(repeating: secret, count: 16),
            applicationKey: applicationKey)!
    }

    func install(
        _ id: RegistrationID?, token: UInt8, until: Int64 = 10_000, at time: Int64 = 0
    ) async throws -> RegistrationID {
        try await store.install(
            NewInstallation(
                project: project, id: id, app: "1:1:ios:a", sdkVersion: "i:12.0.0", refreshDigest: Self.digest(99),
                token: InstallationToken(digest: Self.digest(token), expiresAt: Timestamp(milliseconds: until))),
            at: Timestamp(milliseconds: time))
    }

    func installation(_ token: UInt8, at time: Int64) async throws -> Installation? {
        try await store.installation(
            withToken: Self.digest(token), in: project, at: Timestamp(milliseconds: time))
    }

    /// A registration without an installation, as an import makes it, with a topic and a device token that APNs took in
    /// the sandbox; the installation on its device has yet to register.
    mutating func imported(user: UserID?) async throws -> Registration {
        let owner = user.map { RegistrationOwner.user($0) }
        let request = request(1, environment: .sandbox, owner: owner)
        let made = try await store.register(request, at: Timestamp(milliseconds: 5)).registration
        _ = try await store.subscribe([made.key], to: Self.topic("news"), at: Timestamp(milliseconds: 6))
        _ = try await send(to: made, at: 7)
        try await settle(
            try await claimDue(.interactive, at: 8).map { $0.ended(verdict: .proven(in: .apns(.sandbox)), at: 9) })
        _ = try await install(fid, token: 1)
        return try #require(try await store.registration(made.key))
    }

    func registerInstallation(
        _ number: Int, owner: RegistrationOwner? = nil, at time: Int64
    ) async throws -> Registration {
        try await registerInstallation(request(number, owner: owner), at: time)
    }

    func registerInstallation(_ request: RegistrationRequest, at time: Int64) async throws -> Registration {
        let result = try await store.register(request, for: fid, at: Timestamp(milliseconds: time))
        guard case .registered(let registration) = result else {
            throw StoreError(.failed, "The installation was not registered.")
        }
        return registration
    }
}
