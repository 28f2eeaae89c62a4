import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing

@testable import GatewayAPI

/// How many parts of a batch are answered at a time.
@Suite(.timeLimit(.minutes(5)))
struct PartRunnerTests {
    /// Counts who is inside.
    private final class Crowd: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }

        func visit() async throws {
            counts.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
            // The visit itself: long enough for others to come in beside it.
            try await Task.sleep(for: .milliseconds(20))
            counts.withLock { $0.now -= 1 }
        }
    }

    /// The statuses of `count` parts whose answers have `bytes` each.
    private func statuses(_ line: String, count: Int, bytes: Int, crowd: Crowd) async throws -> [Int] {
        let parts = Router(context: GatewayRequestContext.self)
        for (method, path) in [(HTTPRequest.Method.get, "messages"), (.post, "messages:send")] {
            parts.on(RouterPath(path), method: method) { _, _ in
                try await crowd.visit()
                return Response(
                    status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 0x20, count: bytes)))
            }
        }
        let part = Array("Content-Type: application/http\n\n\(line) HTTP/1.1\n\n".utf8)
        let requests = (0..<count).map { _ in BatchedRequest(part: part, shared: [:]) }
        let responder = parts.buildResponder()
        let router = Router(context: GatewayRequestContext.self)
        router.get("run") { _, context in
            await PartRunner(responder: responder, context: context).answers(to: requests)
                .map { String($0.status.code) }.joined(separator: " ")
        }
        return try await Application(router: router).test(.router) { client in
            let response = try await client.executeRequest(uri: "/run", method: .get, headers: [:], body: nil)
            return String(buffer: response.body).split(separator: " ").compactMap { Int($0) }
        }
    }

    @Test func onlyAFewListsAreAnsweredAtATime() async throws {
        let crowd = Crowd()
        let statuses = try await statuses("GET /messages", count: 100, bytes: 4 << 20, crowd: crowd)
        #expect(crowd.most <= PartRunner.largeConcurrency)
        // Beyond 32 MiB, those that run already come in; nothing is begun any more.
        let answered = statuses.count { $0 == 200 }
        #expect((9...9 + PartRunner.largeConcurrency).contains(answered))
        #expect(statuses.count { $0 == 429 } == 100 - answered)
    }

    @Test func sendsAreAnsweredSideBySide() async throws {
        let crowd = Crowd()
        let statuses = try await statuses("POST /messages:send", count: 200, bytes: 10, crowd: crowd)
        #expect(statuses == Array(repeating: 200, count: 200))
        #expect(crowd.most > PartRunner.largeConcurrency)
        #expect(crowd.most <= PartRunner.concurrency)
    }
}
