import PushModel
import Store
import Testing

extension Scene {
    static let clickApp = AppKey(.apple, AppID(rawValue: "com.example.app")!)

    static func digest(of byte: UInt8) -> KeyedDigest {
        KeyedDigest(SixteenBytes([UInt8](repeating: byte, count: 16))!)
    }

    func click(
        at time: Int64 = 1000, url: String = "https://go.example.com/abc", invitation: InvitationID? = nil,
        address: UInt8 = 7, until end: Int64 = 90_000
    ) -> LinkClick {
        LinkClick(
            id: .random(), project: project, app: Self.clickApp, url: url, link: LinkID(rawValue: 3),
            invitation: invitation, time: Timestamp(milliseconds: time), expiresAt: Timestamp(milliseconds: end),
            traits: DeviceTraits(
                address: Self.digest(of: address), screen: ScreenSize(390, 844), language: "en-us",
                timeZone: "Europe/Berlin", system: SystemVersion(major: 17, minor: 5), device: .phone))
    }

    func attribution(
        of click: LinkClick?, install: UInt8? = nil, confidence: MatchConfidence = .unique,
        invitation: InvitationID? = nil, address: UInt8 = 7, at time: Int64 = 2000
    ) -> NewAttribution {
        NewAttribution(
            project: project, app: Self.clickApp, click: click, install: install.map(Self.digest(of:)),
            confidence: confidence, invitation: invitation, address: Self.digest(of: address),
            time: Timestamp(milliseconds: time))
    }
}

extension ConformanceCase {
    static let clicks: [ConformanceCase] = [
        ConformanceCase("the key of digests is made once and stays") { scene in
            let key = try await scene.store.digestKey()
            #expect(key.count == 32 && Set(key).count > 4)
            try await scene.crash()
            #expect(try await scene.store.digestKey() == key)
        },
        ConformanceCase("clicks are found by their ids as they were, until they expire") { scene in
            let full = scene.click()
            let bare = LinkClick(
                id: .random(), project: scene.project, app: AppKey(.android, scene.app),
                url: "https://go.example.com/x",
                time: Timestamp(milliseconds: 5), expiresAt: Timestamp(milliseconds: 90_000), traits: DeviceTraits())
            try await scene.store.add([full, bare])
            try await scene.crash()
            for click in [full, bare] {
                #expect(try await scene.store.click(click.id, at: Timestamp(milliseconds: 89_999)) == click)
                #expect(try await scene.store.click(click.id, at: Timestamp(milliseconds: 90_000)) == nil)
            }
            #expect(try await scene.store.click(.random(), at: Timestamp(milliseconds: 1)) == nil)
        },
        ConformanceCase("a click that comes again takes the new traits") { scene in
            var click = scene.click()
            try await scene.store.add([click])
            click.traits.timeZone = "Asia/Tokyo"
            try await scene.store.add([click])
            #expect(try await scene.store.click(click.id, at: click.time) == click)
        },
        ConformanceCase("open clicks come in pages by time, without those that are used up or older") { scene in
            let clicks = (0..<7).map { scene.click(at: 1000 + Int64($0 / 2)) }
            try await scene.store.add(clicks.shuffled())
            let used = clicks[3]
            _ = try await scene.store.attribute(scene.attribution(of: used))
            var found: [LinkClick] = []
            while true {
                let page = try await scene.store.openClicks(
                    since: Timestamp(milliseconds: 1001), after: found.last, limit: 2)
                found += page
                if page.count < 2 { break }
            }
            #expect(found.map(\.time) == found.map(\.time).sorted())
            #expect(Set(found) == Set(clicks.dropFirst(2)).subtracting([used]))
        },
        ConformanceCase("a click goes to one install, also one that was not written yet") { scene in
            let click = scene.click()
            #expect(try await scene.store.attribute(scene.attribution(of: click, install: 1)) == .attributed(nil))
            #expect(try await scene.store.attribute(scene.attribution(of: click, install: 2)) == .clickTaken)
            // The batch that had it comes late.
            try await scene.store.add([click])
            #expect(try await scene.store.click(click.id, at: click.time) == nil)
            try await scene.crash()
            #expect(try await scene.store.attribute(scene.attribution(of: click, install: 2)) == .clickTaken)
            #expect(
                try await scene.store.attribute(scene.attribution(of: scene.click(), install: 2)) == .attributed(nil))
        },
        ConformanceCase("of many that ask for a click at once one gets it") { scene in
            let (click, store) = (scene.click(), scene.store)
            try await store.add([click])
            let attributions = (0..<40).map { scene.attribution(of: click, install: UInt8($0)) }
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                for attribution in attributions {
                    group.addTask { try await store.attribute(attribution) == .attributed(nil) }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(winners == 1)
        },
        ConformanceCase("an install gets one link, and a refused one uses no click up") { scene in
            let first = try await scene.store.attribute(scene.attribution(of: nil, install: 1))
            #expect(first == .attributed(nil))
            let click = scene.click()
            #expect(try await scene.store.attribute(scene.attribution(of: click, install: 1)) == .installKnown)
            #expect(try await scene.store.attribute(scene.attribution(of: click, install: 2)) == .attributed(nil))
            var other = scene.attribution(of: nil, install: 1)
            other.app = AppKey(.android, scene.app)
            #expect(try await scene.store.attribute(other) == .attributed(nil), "another app")
        },
        ConformanceCase("expired clicks and old installs are forgotten, some at a time") { scene in
            let clicks = (1...5).map { scene.click(until: Int64($0) * 100) }
            try await scene.store.add(clicks)
            let time = Timestamp(milliseconds: 400)
            #expect(try await scene.store.forgetClicks(expiredBefore: time, limit: 2) == 2)
            #expect(try await scene.store.forgetClicks(expiredBefore: time, limit: 2) == 1)
            #expect(try await scene.store.click(clicks[3].id, at: Timestamp(milliseconds: 1)) != nil)
            for number in 1...3 as ClosedRange<UInt8> {
                _ = try await scene.store.attribute(
                    scene.attribution(of: nil, install: number, at: Int64(number) * 100))
            }
            #expect(try await scene.store.forgetAttributedInstalls(before: Timestamp(milliseconds: 300), limit: 9) == 2)
            #expect(try await scene.store.attribute(scene.attribution(of: nil, install: 3)) == .installKnown)
            #expect(try await scene.store.attribute(scene.attribution(of: nil, install: 1)) == .attributed(nil))
        },
    ]
}
