import Foundation
import TestSupport
import Testing

@testable import PostgreSQLClient

/// What a URL becomes.
struct ConfigurationTests {
    private func servers(_ url: String) throws -> [ConnectionParameters] {
        try PostgreSQLConfiguration(url: url).servers
    }

    @Test func severalHostsAreTriedOneAfterTheOther() throws {
        let servers = try servers("postgresql://app@a.example:5433,b.example,[::1]:7/gateway")
        #expect(servers.map { $0["host"] } == ["a.example", "b.example", "::1"])
        #expect(servers.map { $0["port"] } == ["5433", nil, "7"])
        #expect(servers.allSatisfy { $0["user"] == "app" && $0["dbname"] == "gateway" })
    }

    @Test func whatTheURLDoesNotSayIsSet() throws {
        let server = try #require(try servers("postgresql://a/db").first)
        #expect(server["target_session_attrs"] == "read-write")
        #expect(server["sslmode"] == "verify-full")
        #expect(server["gssencmode"] == "disable")
        #expect(server["application_name"] == "herald")
        #expect(server["tcp_user_timeout"] == "10000")
        let options = try #require(server["options"])
        for setting in ["statement_timeout=15s", "lock_timeout=5s", "timezone=UTC"] {
            #expect(options.contains(setting))
        }
    }

    @Test func whatTheURLSaysStays() throws {
        let server = try #require(
            try servers(
                "postgresql://a/db?sslmode=disable&target_session_attrs=any&application_name=other"
                    + "&options=-c%20statement_timeout%3D1s"
            ).first)
        #expect(server["sslmode"] == "disable" && server["target_session_attrs"] == "any")
        #expect(server["application_name"] == "other")
        // The last one holds.
        #expect(server["options"]?.hasSuffix("-c statement_timeout=1s") == true)
    }

    @Test(arguments: [
        ("mysql://a/b", "postgresql://"), ("postgresql://a", "names no database"),
        ("postgresql://a/b?sslmode=prefer", "sslmode=prefer"), ("postgresql://a/b?hostaddr=1.2.3.4", "hostaddr"),
        ("postgresql://u:secret%zz@a/b", "not valid"), ("postgresql://a/b?nonsense=1", "not valid"),
    ])
    func wrongURLIsAnErrorThatDoesNotQuoteIt(url: String, text: String) {
        let error = failure { try PostgreSQLConfiguration(url: url) }
        #expect(error?.kind == .configuration)
        #expect(error?.message.contains(text) == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func passwordComesFromItsFileOrTheURLAndIsInNoText() throws {
        let directory = try TestDirectory()
        try Data("secret\n".utf8).write(to: URL(filePath: directory.file("password")))
        let url = "postgresql://u:other@a/db"
        let configuration = try PostgreSQLConfiguration(url: url, passwordFile: directory.file("password"))
        #expect(configuration.servers.first?["password"] == "secret")
        #expect(try servers(url).first?["password"] == "other")
        #expect(configuration.text == "a:5432/db")
        #expect(
            failure { try PostgreSQLConfiguration(url: url, passwordFile: directory.file("none")) }?.kind
                == .configuration)
    }
}

/// The pauses between attempts to connect.
struct BackOffTests {
    private let error = PostgreSQLError(.disconnected, "gone")

    @Test func pausesDoubleUpToTheLongestAndEndWithSuccess() {
        let now = ContinuousClock.now
        var backOff = BackOff(longest: .seconds(5))
        #expect(backOff.wait(at: now) == nil)
        var waits: [Duration] = []
        for _ in 0..<8 {
            backOff.failed(error, at: now, chance: 0)
            waits.append(backOff.wait(at: now) ?? .zero)
        }
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
        #expect(backOff.error == error)
        #expect(backOff.wait(at: now + .seconds(5)) == nil)
        backOff.succeeded()
        #expect(backOff.wait(at: now) == nil && backOff.error == nil)
    }

    @Test func chanceTakesAQuarterAtMost() {
        let now = ContinuousClock.now
        var backOff = BackOff(longest: .seconds(5))
        backOff.failed(error, at: now, chance: 1)
        #expect(backOff.wait(at: now) == .milliseconds(75))
    }
}

/// Notices that wait to be sent.
struct CoalescedNoticesTests {
    @Test func noticesOfAnIntervalGoTogether() {
        let start = ContinuousClock.now
        var notices = CoalescedNotices(interval: .milliseconds(50))
        #expect(notices.delay(at: start) == nil && notices.take(at: start) == nil)
        let isFirst = notices.add("work")
        #expect(isFirst && notices.delay(at: start) == .zero)
        #expect(notices.take(at: start) == "work")
        let areFirst = [notices.add("work"), notices.add("events"), notices.add("work")]
        #expect(areFirst == [true, false, false])
        #expect(notices.delay(at: start + .milliseconds(20)) == .milliseconds(30))
        #expect(notices.take(at: start + .milliseconds(20)) == nil)
        let payload = notices.take(at: start + .milliseconds(50))
        #expect(payload == "events,work")
        #expect(CoalescedNotices.notices(of: payload ?? "") == ["events", "work"])
    }

    @Test func tooManyBecomeOneThatStandsForAll() {
        var notices = CoalescedNotices(interval: .milliseconds(50))
        for number in 0...CoalescedNotices.limit { _ = notices.add("n\(number)") }
        #expect(notices.take(at: .now) == "*,n\(CoalescedNotices.limit)")
    }
}
