import Foundation
import IPAddresses
import PushModel
import TestSupport
import Testing

@testable import Upstream

/// Names that are looked up on threads, of which each project has a few.
@Suite(.timeLimit(.minutes(1)))
struct HostLookupTests {
    private static let address = IPAddress("192.0.2.1")!
    private let bad = ProjectID(rawValue: "bad")!
    private let good = ProjectID(rawValue: "good")!

    /// Name servers that never answer for some names, until the test ends.
    private final class NameServers: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        let asked = Shared<[String]>([])
        let blocked: AsyncStream<String>
        private let tell: AsyncStream<String>.Continuation

        init() {
            (blocked, tell) = AsyncStream.makeStream()
        }

        func resolve(_ host: String) -> HostLookup.Answer {
            asked.withLock { $0.append(host) }
            guard host.hasPrefix("silent") else { return .success([HostLookupTests.address]) }
            tell.yield(host)
            gate.wait()
            return .failure(HostLookup.Failure(message: "silent"))
        }

        func release(_ count: Int) {
            for _ in 0..<count { gate.signal() }
        }
    }

    @Test func silentNameServersOfOneProjectLeaveThreadsForTheOthers() async {
        let servers = NameServers()
        let lookup = HostLookup(threads: 3, perProject: 2) { servers.resolve($0) }
        let waiting = (0..<8).map { number in
            Task { [bad] in await lookup.addresses(of: "silent\(number)", for: bad) }
        }
        var blocked = servers.blocked.makeAsyncIterator()
        for _ in 0..<2 { _ = await blocked.next() }
        #expect(await lookup.addresses(of: "fast", for: good) == .success([Self.address]))
        #expect(servers.asked.withLock { $0.count { $0.hasPrefix("silent") } } == 2)
        servers.release(8)
        for task in waiting { #expect(await task.value == .failure(HostLookup.Failure(message: "silent"))) }
        // Its own come one after the other.
        #expect(servers.asked.withLock { Set($0).count } == 9)
    }

    /// Who has gone is not looked up for, and its project's next name is.
    @Test func whoHasGoneIsLeftOut() async {
        let servers = NameServers()
        let lookup = HostLookup(threads: 1, perProject: 1) { servers.resolve($0) }
        let first = Task { [bad] in await lookup.addresses(of: "silent1", for: bad) }
        var blocked = servers.blocked.makeAsyncIterator()
        _ = await blocked.next()
        let second = Task { [bad] in await lookup.addresses(of: "silent2", for: bad) }
        second.cancel()
        first.cancel()
        for task in [first, second] {
            guard case .failure(let failure) = await task.value else {
                Issue.record("an answer")
                continue
            }
            #expect(failure.message.contains("time was over"))
        }
        async let third = lookup.addresses(of: "fast", for: bad)
        servers.release(1)
        #expect(await third == .success([Self.address]))
        #expect(servers.asked.withLock { $0 } == ["silent1", "fast"])
    }
}
