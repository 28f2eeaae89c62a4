import HTTPListener
import PushModel
import Store

@testable import Links

/// Clicks and openings of one phone, each with what a test changes of it.
enum Sample {
    static let key = DigestKey(Array(0..<32))
    static let project = ProjectID(rawValue: "demo")!
    static let app = AppKey(.apple, AppID(rawValue: "com.example.app")!)
    static let now = Timestamp(seconds: 1_767_323_045)

    static func traits(
        address: ClientAddress = "198.51.100.7", width: Int? = 390, height: Int? = 844,
        languages: [String?] = ["en-US"],
        timeZone: String? = "Europe/Berlin", system: String? = "17.5.1", device: DeviceClass? = .phone
    ) -> DeviceTraits {
        DeviceTraits(
            address: key.address(address), width: width, height: height, languages: languages, timeZone: timeZone,
            system: system, device: device)
    }

    static func click(
        _ url: String = "https://go.example.com/abc", ago: Duration = .seconds(60), traits: DeviceTraits = traits()
    ) -> LinkClick {
        LinkClick(
            id: .random(), project: project, app: app, url: url, time: now + (.zero - ago),
            expiresAt: now + .seconds(86_400), traits: traits)
    }

    static func opening(
        traits: DeviceTraits = traits(), installedAgo: Duration? = nil, at time: Timestamp = now
    ) -> FirstOpening {
        FirstOpening(
            project: project, app: app, traits: traits, installedAt: installedAgo.map { now + (.zero - $0) }, time: time
        )
    }
}
