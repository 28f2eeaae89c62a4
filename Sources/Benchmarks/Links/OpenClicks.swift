import Foundation
import HTTPListener
import Links
import PushModel
import Store

/// Clicks that wait for their apps, each of another address, and look-ups among them.
struct OpenClicks {
    private let index: ClickIndex
    private let key: DigestKey
    private let project: ProjectID
    private let app: AppKey
    private let now = Timestamp(seconds: 1_700_000_000)

    init(count: Int) throws {
        guard let project = ProjectID(rawValue: GatewayFiles.project), let app = AppID(rawValue: GatewayFiles.app)
        else {
            throw BenchFailure("no project")
        }
        self.project = project
        self.app = AppKey(.apple, app)
        key = DigestKey(Array(repeating: 7, count: 32))
        var limits = ClickIndex.Limits()
        limits.clicks = count + 16
        limits.bytes = max(limits.bytes, count << 9)
        index = ClickIndex(limits)
        for number in 0..<count { index.insert(click(number, from: "10.\(number >> 16 & 255)", number), at: now) }
    }

    /// Finds the click of a device `samples` times, and so often looks for one of a device that has none.
    func find(samples: Int) throws -> (found: Percentiles, missing: Percentiles) {
        var (found, missing) = (Histogram(), Histogram())
        let clock = ContinuousClock()
        for number in 0..<samples {
            index.insert(click(number, from: "192.168", number), at: now)
            let (opening, other) = (opening("192.168", number), opening("172.16", number))
            let began = clock.now
            let match = index.takeMatch(opening)
            let middle = clock.now
            let none = index.takeMatch(other)
            missing.add(clock.now - middle)
            found.add(middle - began)
            guard match != nil, none == nil else { throw BenchFailure("a click was not as expected") }
        }
        return (found.percentiles, missing.percentiles)
    }

    private func click(_ number: Int, from network: String, _ host: Int) -> LinkClick {
        LinkClick(
            id: .random(), project: project, app: app, url: "https://\(LinkRows.host)/\(LinkRows.key(number).suffix)",
            time: now, expiresAt: now + .seconds(86_400), traits: traits(network, host))
    }

    private func opening(_ network: String, _ host: Int) -> FirstOpening {
        FirstOpening(project: project, app: app, traits: traits(network, host), time: now)
    }

    private func traits(_ network: String, _ host: Int) -> DeviceTraits {
        DeviceTraits(
            address: key.address(ClientAddress("\(network).\(host >> 8 & 255).\(host & 255)")), width: 390, height: 844,
            languages: ["en-GB"], timeZone: "Europe/Berlin", system: "17.5", device: .phone)
    }
}
