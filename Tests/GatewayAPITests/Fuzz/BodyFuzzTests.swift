import Foundation
import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PushModel
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// Every route that takes a body gets mutated ones, through the whole responder: whatever comes, the answer is no 5xx.
///
/// `HERALD_FUZZ_BODIES` sets how many (4000), or `HERALD_FUZZ_SECONDS` for how long; `HERALD_FUZZ_SEED` which. Each body follows from the seed and its number
/// alone. Every 5,000 a gateway with an empty store takes over, so that what was accepted does not add up.
@Suite(.serialized, .heavy, .timeLimit(.minutes(60)))
struct BodyFuzzTests {
    @Test func whateverIsSentTheAnswerIsNoServerError() async throws {
        let limit = testSetting("HERALD_FUZZ_SECONDS", 0)
        let total = limit > 0 ? Int.max : Int(testSetting("HERALD_FUZZ_BODIES", 4000))
        let isLong = total > 4000
        let seed = testSetting("HERALD_FUZZ_SEED", 1)
        let random = SeededRandom(seed: seed)
        let start = ContinuousClock.now
        var tally = Tally()
        var residentBytes: [Int] = []
        for first in stride(from: 0, to: total, by: 5000) {
            if limit > 0, ContinuousClock.now >= start + .seconds(Int64(limit)) { break }
            tally += try await Self.life(first..<min(first + 5000, total), random)
            residentBytes.append(Self.memory("VmRSS:"))
            if isLong { print("fuzzing: \(tally.bodies) bodies, \(residentBytes.last ?? 0) bytes resident") }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print(
            "fuzzing: \(tally.bodies) bodies on \(Self.routes.count) routes, \(Int(Double(tally.bodies) / seconds)) a second,"
                + " \(tally.taken) taken, \(tally.refused) refused, at most \(Self.memory("VmHWM:")) bytes resident,"
                + " seed \(seed)")
        for fault in tally.faults.prefix(10) { Issue.record("\(fault)") }
        #expect(limit > 0 || tally.bodies == total)
        // Bodies that were all refused, or all taken, would show little.
        #expect(
            tally.bodies < 1000 || (tally.taken > tally.bodies / 50 && tally.refused > tally.bodies / 10))
        // Beside other tests the process's memory says nothing: only a long run, which has it alone, is judged.
        if isLong {
            let early = residentBytes[residentBytes.count / 5]
            #expect((residentBytes.last ?? 0) < early + 256 << 20)
        }
    }

    @Test func whatTheBodiesAreMadeOfIsGood() async throws {
        let fuzzed = try await FuzzGateway()
        let gateway = fuzzed.gateway
        let corpus = try await Self.corpus(for: fuzzed)
        let key = try #require(gateway.keys[.admin]).text
        // Those of subscriptions are empty objects, and their second time is an error.
        for entry in corpus.entries where !entry.routes.contains("/topicSubscriptions") {
            let own = Self.routes.filter { route in entry.routes.contains { route.path.hasSuffix($0) } }
            let route = try #require(own.first { $0.method == .post } ?? own.first { $0.method == .patch })
            var headers = corpus.credentials(for: route.path, method: route.method, key: key)
            headers[.contentType] = entry.contentType
            let path = route.path.split(separator: "/").map { part in
                corpus.names.reduce(String(part)) { $0.replacing("{\($1.key)}", with: $1.value[0]) }
            }
            let answer = try await gateway.request(
                route.method, "/" + path.joined(separator: "/"), entry.text, as: nil, headers: headers,
                over: fuzzed.services)
            #expect(answer.status == 200 && !answer.text.contains("HTTP/1.1 4"), "\(entry.text): \(answer.text)")
        }
    }

    /// What became of some bodies.
    private struct Tally {
        var bodies = 0
        var taken = 0
        var refused = 0
        var faults: [String] = []

        static func += (sum: inout Tally, part: Tally) {
            sum.bodies += part.bodies
            sum.taken += part.taken
            sum.refused += part.refused
            sum.faults += part.faults
        }
    }

    private static let routes = RouteTable.described.filter { ![.get, .head, .options].contains($0.method) }

    /// One gateway's share.
    private static func life(_ numbers: Range<Int>, _ random: SeededRandom) async throws -> Tally {
        let gateway = try await FuzzGateway()
        let corpus = try await corpus(for: gateway)
        let key = try #require(gateway.gateway.keys[.admin]).text
        let client = gateway.client()
        let tally = try await withThrowingTaskGroup(of: Tally.self) { tasks in
            // Several at a time share transactions, as in life.
            for part in 0..<8 {
                tasks.addTask {
                    var tally = Tally()
                    for number in numbers where number % 8 == part {
                        let fuzz = FuzzRequest(BodyMutator(random.part(UInt64(number))), routes, corpus, key: key)
                        let (response, text) = try await client.answer(fuzz.request)
                        tally.bodies += 1
                        if response.status == .ok { tally.taken += 1 } else { tally.refused += 1 }
                        if let fault = fault(in: response, text) {
                            let head = fuzz.request.head
                            tally.faults.append("body \(number), \(head.method) \(head.path ?? ""): \(fault)")
                        }
                    }
                    return tally
                }
            }
            return try await tasks.reduce(into: Tally()) { $0 += $1 }
        }
        try await client.close()
        return tally
    }

    /// Bodies that name what is in a gateway: an install, one of the user alice, a message, a group, a service account.
    private static func corpus(for fuzzed: FuzzGateway) async throws -> BodyCorpus {
        let gateway = fuzzed.gateway
        let account = try ServiceAccountFixture.shared.get()
        try await account.keep(in: gateway)
        var installs: [(install: TestGateway.Install, token: String)] = []
        for (fid, deviceToken) in [("cInstallationOne000000", "00aa11"), ("cInstallationTwo000000", "00bb22")] {
            let install = try await gateway.install(fid)
            let registered = try await gateway.register(install, deviceToken)
            installs.append((install, try #require(try registered.json["token"]?.stringValue, "\(registered.text)")))
        }
        let token = installs[0].token
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#("00cc33".deviceToken)","bundle_id":"com.example.app"},"user":"alice"}"#)
        #expect(answer.status == 200)
        let name = try await gateway.send(#""token":"\#(token)""#)
        let message = try #require(name.split(separator: "/").last.map(String.init))
        let key = try #require(gateway.keys[.admin]).text
        let group = try await gateway.request(
            .post, "/fcm/notification",
            #"{"operation":"create","notification_key_name":"user-1","registration_ids":["\#(token)"]}"#, as: nil,
            headers: [.authorization: "key=" + key, try #require(HTTPField.Name("project_id")): "123456789012"])
        return BodyCorpus(
            FuzzScene(
                install: installs[0].install, token: token, spare: installs[1].install, spareToken: installs[1].token,
                message: message, group: try #require(try group.json["notification_key"]?.stringValue, "\(group.text)"),
                assertion: try account.jwt(at: gateway.clock.now), webKey: WebRegistrationTests.key,
                links: try await fuzzed.links()))
    }

    /// What an answer must not be.
    private static func fault(in response: Response, _ text: String) -> String? {
        if response.status.kind == .serverError { return "\(response.status) \(text)" }
        // Of a batch, one by one. A sender's own quotes are escaped in an answer.
        if text.contains(#""code":5"#) { return text }
        if response.headers[.contentType]?.hasPrefix("application/json") == true,
            (try? JSONValue(parsing: text.utf8)) == nil
        {
            return "not JSON: \(text)"
        }
        return nil
    }

    /// A figure of this process in bytes; 0 where the system does not tell.
    private static func memory(_ name: String) -> Int {
        let status = FileManager.default.contents(atPath: "/proc/self/status").map {
            String(decoding: $0, as: UTF8.self)
        }
        let line = status?.split(separator: "\n").first { $0.hasPrefix(name) }
        let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
        return (kilobytes ?? 0) << 10
    }
}

/// A request that a mutator makes up.
private struct FuzzRequest {
    let request: Request

    init(_ mutator: consuming BodyMutator, _ routes: [Route], _ corpus: BodyCorpus, key: String) {
        var mutator = mutator
        // Half of all bodies go to where messages come in.
        let isSend = mutator.happens(oneIn: 2)
        let route = mutator.pick(isSend ? routes.filter(\.isSend) : routes)
        let entry = mutator.pick(mutator.happens(oneIn: 10) ? corpus.entries : corpus.entries(for: route.path))
        let names = route.method == .delete ? corpus.spareNames : corpus.names
        let path = Self.path(route.path, names, &mutator)
        let body = mutator.body(like: entry.text, others: corpus.entries.map(\.text))
        var headers = corpus.credentials(for: route.path, method: route.method, key: key)
        if mutator.happens(oneIn: 50) { headers[.authorization] = nil }
        headers[.contentType] = entry.contentType
        headers[.contentLength] = String(body.count)
        if mutator.happens(oneIn: 20) { headers[.idempotencyKey] = mutator.pick(["a", "b", "", "é", "a b"]) }
        request = Request(
            head: HTTPRequest(
                method: route.method, scheme: "http", authority: "localhost", path: path, headerFields: headers),
            body: RequestBody(buffer: ByteBuffer(bytes: body)))
    }

    private static func path(_ path: String, _ names: [String: [String]], _ mutator: inout BodyMutator) -> String {
        let parts = path.split(separator: "/").map { part -> String in
            guard let opening = part.firstIndex(of: "{"), let closing = part.firstIndex(of: "}") else {
                return String(part)
            }
            let known = names[String(part[part.index(after: opening)..<closing])]
            let isOdd = known == nil || mutator.happens(oneIn: 20)
            let value = mutator.pick(isOdd ? ["x", "%00", "%F0%9F%98%80", "%ff", "%2F", "a:b", "%"] : known ?? [])
            return String(part[..<opening]) + value + String(part[part.index(after: closing)...])
        }
        let query = mutator.pick([
            "", "", "?topic_name=news", "?topicName=%F0%9F", "?allow_missing=true", "?pageSize=-1",
        ])
        return "/" + parts.joined(separator: "/") + query
    }
}
