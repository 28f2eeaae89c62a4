import PushModel
import Testing

@testable import Upstream

struct BadDeviceTokenWindowTests {
    private func window(share: Double = 0.5, atLeast: Int = 100, seconds: Int = 60) -> DoubtfulAddressWindow {
        var limits = DoubtfulAddressLimits()
        limits.share = share
        limits.atLeast = atLeast
        limits.window = .seconds(seconds)
        return DoubtfulAddressWindow(limits: limits)
    }

    @Test func `Half of a hundred is too much, less or fewer is not`() {
        var window = window()
        #expect(window.count(.init(answers: 99, bad: 99), at: .zero) == nil)
        #expect(window.count(.init(answers: 1, bad: 1), at: .zero) == .init(answers: 100, bad: 100))
        window = self.window()
        #expect(window.count(.init(answers: 100, bad: 49), at: .zero) == nil)
        #expect(window.count(.init(answers: 2, bad: 2), at: .seconds(1)) == .init(answers: 102, bad: 51))
    }

    @Test func `Answers older than the window do not count`() {
        var window = window()
        #expect(window.count(.init(answers: 90, bad: 90), at: .zero) == nil)
        #expect(window.count(.init(answers: 90, bad: 90), at: .seconds(61)) == nil)
        #expect(window.count(.init(answers: 10, bad: 10), at: .seconds(100)) == .init(answers: 100, bad: 100))
    }

    @Test func `It begins anew after it struck`() {
        var window = window(share: 1, atLeast: 1)
        #expect(window.count(.init(answers: 1, bad: 1), at: .zero) != nil)
        #expect(window.count(.init(answers: 1, bad: 0), at: .zero) == nil)
        #expect(window.count(.init(answers: 1, bad: 1), at: .zero) == nil)
        window.reset()
        #expect(window.count(.init(answers: 1, bad: 1), at: .zero) != nil)
    }
}

struct BusyDevicesTests {
    private let token: Address
    private let other: Address

    init() throws {
        token = .apple(try #require(DeviceToken(bytes: [UInt8](repeating: 1, count: 32))), .production)
        other = .apple(try #require(DeviceToken(bytes: [UInt8](repeating: 2, count: 32))), .production)
    }

    @Test func `A busy device is left alone for 5 s, the others are not`() {
        var devices = BusyDevices()
        devices.refused(token, after: nil, at: .zero)
        #expect(devices.rest(of: token, at: .seconds(2)) == .seconds(3))
        #expect(devices.rest(of: other, at: .seconds(2)) == nil)
        #expect(devices.rest(of: token, at: .seconds(5)) == nil)
    }

    @Test func `The pause doubles up to 15 minutes`() {
        var devices = BusyDevices()
        var now = Duration.zero
        var pauses: [Int64] = []
        for _ in 0..<10 {
            devices.refused(token, after: nil, at: now)
            let rest = devices.rest(of: token, at: now) ?? .zero
            pauses.append(rest.components.seconds)
            now += rest
        }
        #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 640, 900, 900])
    }

    @Test func `Refusals that were under way together count once, and Retry-After is kept`() {
        var devices = BusyDevices()
        devices.refused(token, after: .seconds(60), at: .zero)
        devices.refused(token, after: nil, at: .seconds(1))
        #expect(devices.rest(of: token, at: .seconds(1)) == .seconds(59))
    }

    @Test(arguments: [(1, 1), (0, 5)]) func whatTheServiceAsksForIsKeptToAlsoWhenItIsLess(after: Int, rest: Int) {
        var devices = BusyDevices()
        devices.refused(token, after: .seconds(after), at: .zero)
        #expect(devices.rest(of: token, at: .zero) == .seconds(rest))
    }

    @Test func `A push that passes ends it; one that was under way does not`() {
        var devices = BusyDevices()
        devices.refused(token, after: nil, at: .zero)
        devices.passed(token, at: .seconds(1))
        #expect(devices.rest(of: token, at: .seconds(1)) != nil)
        devices.passed(token, at: .seconds(6))
        #expect(devices.isEmpty)
    }

    @Test func `A device that was long at peace begins anew and is forgotten`() {
        var devices = BusyDevices()
        devices.refused(token, after: nil, at: .zero)
        devices.refused(token, after: nil, at: .seconds(5))
        devices.refused(token, after: nil, at: .seconds(100))
        #expect(devices.rest(of: token, at: .seconds(100)) == .seconds(5))
        devices.sweep(at: .seconds(109))
        #expect(!devices.isEmpty)
        devices.sweep(at: .seconds(111))
        #expect(devices.isEmpty)
    }

    @Test func `The table does not grow beyond its limit`() throws {
        var devices = BusyDevices()
        func device(_ number: Int) throws -> Address {
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            return .apple(try #require(DeviceToken(bytes: bytes)), .production)
        }
        for number in 0..<BusyDevices.limit + 10 { devices.refused(try device(number), after: nil, at: .zero) }
        #expect(devices.count == BusyDevices.limit)
        devices.refused(token, after: nil, at: .seconds(20))
        #expect(devices.count == 1)
    }
}

struct ClockSkewTests {
    private static let date = Timestamp(seconds: 1_700_000_000)

    private func sample(_ skew: inout ClockSkew, ahead: Int64, at now: Duration) -> ClockSkew.Action? {
        skew.sample(date: Self.date, received: Self.date + .seconds(ahead), at: now)
    }

    @Test(arguments: [61, -61, 86_400] as [Int64])
    func `More than a minute is told once, and once when it is over`(ahead: Int64) {
        var skew = ClockSkew()
        #expect(skew.skew == nil && !skew.isLarge)
        #expect(sample(&skew, ahead: ahead, at: .zero) == .tell(.seconds(ahead)))
        #expect(sample(&skew, ahead: ahead, at: .seconds(1)) == nil)
        #expect(skew.isLarge && skew.skew == .seconds(ahead))
        #expect(sample(&skew, ahead: 55, at: .seconds(2)) == nil)
        #expect(!skew.isLarge)
        #expect(sample(&skew, ahead: 1, at: .seconds(3)) == .tellEnd(.seconds(1)))
        #expect(sample(&skew, ahead: 1, at: .seconds(4)) == nil)
    }

    @Test func `A minute or less is no matter`() {
        var skew = ClockSkew()
        #expect(sample(&skew, ahead: 60, at: .zero) == nil)
        #expect(sample(&skew, ahead: -60, at: .seconds(1)) == nil)
    }

    @Test func `One answer a second is looked at`() {
        var skew = ClockSkew()
        #expect(skew.wantsSample(at: .zero))
        _ = sample(&skew, ahead: 0, at: .zero)
        #expect(!skew.wantsSample(at: .milliseconds(999)))
        #expect(skew.wantsSample(at: .seconds(1)))
    }
}

struct UnknownReasonsTests {
    @Test func `A reason is told once an hour, and no two within ten seconds`() {
        var reasons = UnknownReasons()
        #expect(reasons.note("New", at: .zero) == true)
        #expect(reasons.note("New", at: .seconds(3599)) == false)
        #expect(reasons.note("Newer", at: .seconds(9)) == false)
        #expect(reasons.note("Newer", at: .seconds(10)) == true)
        #expect(reasons.note("New", at: .seconds(3600)) == true)
    }

    @Test func `A peer that makes up reasons is not followed`() {
        var reasons = UnknownReasons()
        let told = (0..<100).count { reasons.note("Reason\($0)", at: .seconds(10 * $0)) }
        #expect(told == UnknownReasons.limit)
    }
}

struct HTTPDateTests {
    private static let now = Timestamp(seconds: 1_700_000_000)

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("Wed, 31 Dec 2098 23:59:59 GMT", 4_070_908_799),
            ("Tuesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
        ] as [(String, Int64)])
    func `The three forms of dates are read`(text: String, seconds: Int64) {
        #expect(HTTPDate.time(of: text, now: Self.now) == Timestamp(seconds: seconds))
    }

    @Test(
        arguments: [
            "", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 99999",
        ])
    func `Anything else is no date`(text: String) {
        #expect(HTTPDate.time(of: text, now: Self.now) == nil)
    }
}
