import Foundation
import PushModel
import Store
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI
@testable import HTTPListener

/// `h2_client.py`: a client on another HTTP/2 than ours.
enum H2Client {
    static let python = ProcessInfo.processInfo.environment["HERALD_PYTHON"] ?? ""

    /// What it is to do.
    struct Task: Encodable {
        var port: Int
        var certificate: String
        var requests: Int
        var method = "GET"
        var path: String
        var fields: [String: String] = [:]
        var body = ""
        /// Whether every request is taken back at once.
        var resets = false
        /// Whether no request ends.
        var isStalled = false
        /// Whether the window of every stream stays at zero, so that no body comes.
        var isShut = false
    }

    /// What it saw.
    struct Report: Decodable {
        /// MAX_CONCURRENT_STREAMS as the server's SETTINGS said it, one after the other.
        var limits: [Int]
        var statuses: [String: Int]
        /// Different names of messages in the answers.
        var names: Int
        var resets: Int
        var goaways: [GoAway]
        var peak: Int
        var unanswered: Int
        /// Whether the server closed the connection.
        var closed: Bool

        struct GoAway: Decodable, Hashable {
            var last: Int
            var error: Int
        }
    }

    /// Starts it.
    static func start(_ task: Task) throws -> ChildProcess {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "h2_client.py").path()
        let text = String(decoding: try JSONEncoder().encode(task), as: UTF8.self)
        return try ChildProcess(python, ["-B", script, text])
    }

    /// Waits for its end.
    static func report(_ process: ChildProcess) async throws -> Report {
        let line = await process.output.first(containing: "statuses")
        let text = try #require(line, "\(process.output.lines.suffix(5).joined(separator: "\n"))")
        return try JSONDecoder().decode(Report.self, from: Data(text.utf8))
    }
}

/// nghttp2's load generator.
private enum H2Load {
    static let program = "h2load"
    static let isFound = ["/usr/bin/", "/usr/local/bin/"].contains {
        FileManager.default.isExecutableFile(atPath: $0 + program)
    }
}

/// One connection with many streams, as Node's Admin SDK has it.
@Suite(
    .serialized, .enabled(if: !H2Client.python.isEmpty && Tool.areFound, "needs HERALD_PYTHON with the h2 library"),
    .timeLimit(.minutes(5)))
struct TransportTests {
    /// Requests that wait in the gateway until they are let go.
    private final class Gate: Sendable {
        private struct State {
            var waiting: [CheckedContinuation<Void, Never>] = []
            var isOpen = false
        }

        private let state = Mutex(State())
        private let arrived: AsyncStream<Int>
        private let continuation: AsyncStream<Int>.Continuation

        init() {
            (arrived, continuation) = AsyncStream.makeStream(of: Int.self)
        }

        func pass() async {
            await withCheckedContinuation { waiter in
                let count: Int? = state.withLock { state in
                    guard !state.isOpen else { return nil }
                    state.waiting.append(waiter)
                    return state.waiting.count
                }
                guard let count else {
                    waiter.resume()
                    return
                }
                continuation.yield(count)
            }
        }

        /// Waits until so many are here at the same time.
        func hold(_ count: Int) async {
            for await arrived in arrived where arrived == count { return }
        }

        func open() {
            let waiting = state.withLock { state in
                state.isOpen = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for waiter in waiting { waiter.resume() }
        }
    }

    /// A gateway whose `/readyz` waits at a gate.
    private func gated() async throws -> (gateway: TestGateway, services: GatewayServices, gate: Gate) {
        let gateway = try await TestGateway()
        let gate = Gate()
        var services = gateway.services
        services.state.store = {
            await gate.pass()
            return StoreState()
        }
        return (gateway, services, gate)
    }

    private func listener(
        _ certificate: TestCertificate, requestLimit: Duration = .seconds(120), answerLimit: Duration = .seconds(120)
    ) -> GatewayListener {
        .loopback(
            tls: certificate.files, shutdownLimit: .seconds(120), requestLimit: requestLimit, answerLimit: answerLimit)
    }

    @Test func oneSessionSends500MessagesAtOnce() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let key = try #require(gateway.keys[.sender]).text
        let certificate = try await TestCertificate(in: gateway.directory)
        let (file, requests) = (certificate.certificateFile, 500)
        let report = try await RunningServer.run(gateway.services, listener: listener(certificate)) { server in
            let client = try H2Client.start(
                H2Client.Task(
                    port: server.port, certificate: file, requests: requests, method: "POST",
                    path: "/v1/projects/demo/messages:send",
                    fields: [
                        "authorization": "Bearer \(key)", "content-type": "application/json",
                        "x-firebase-client": "fire-admin-node/14.3.0",
                    ],
                    body: #"{"validate_only":false,"message":{"token":"\#(token)","notification":{"title":"Hi"}}}"#))
            return try await H2Client.report(client)
        }
        #expect(report.statuses == ["200": requests])
        #expect(report.names == requests)
        #expect(report.limits.last == 1000)
        #expect(report.goaways == [])
        #expect(report.resets == 0)
    }

    @Test func aThousandStreamsAreOpenAtTheSameTime() async throws {
        let (gateway, services, gate) = try await gated()
        let certificate = try await TestCertificate(in: gateway.directory)
        let file = certificate.certificateFile
        let report = try await RunningServer.run(services, listener: listener(certificate)) { server in
            // Also when a step fails: the server waits for its requests.
            defer { gate.open() }
            let client = try H2Client.start(
                H2Client.Task(port: server.port, certificate: file, requests: 1500, path: "/readyz"))
            await gate.hold(StreamChannel.streamLimit)
            gate.open()
            return try await H2Client.report(client)
        }
        #expect(report.statuses == ["200": 1500])
        #expect(report.peak == StreamChannel.streamLimit)
        #expect(report.goaways == [])
    }

    @Test func shutdownAnswersEveryStreamInFlight() async throws {
        let (gateway, services, gate) = try await gated()
        let certificate = try await TestCertificate(in: gateway.directory)
        let (file, requests) = (certificate.certificateFile, 500)
        let report = try await RunningServer.run(services, listener: listener(certificate)) { server in
            // Also when a step fails: the server waits for its requests.
            defer { gate.open() }
            let client = try H2Client.start(
                H2Client.Task(port: server.port, certificate: file, requests: requests, path: "/readyz"))
            await gate.hold(requests)
            await server.shutDown()
            // All in flight are answered after the last stream is agreed on.
            _ = try #require(await client.output.first(containing: "goaway"))
            gate.open()
            return try await H2Client.report(client)
        }
        #expect(report.statuses == ["200": requests])
        #expect(report.unanswered == 0)
        #expect(report.closed)
        // First "no more", then, when the client has answered, which stream was the last.
        #expect(report.goaways == [.init(last: Int(Int32.max), error: 0), .init(last: 2 * requests - 1, error: 0)])
    }

    @Test func streamsThatStallAreAnswered408AndTheConnectionStays() async throws {
        let gateway = try await TestGateway()
        let key = try #require(gateway.keys[.sender]).text
        let certificate = try await TestCertificate(in: gateway.directory)
        let file = certificate.certificateFile
        var listener = listener(certificate, requestLimit: .seconds(2))
        // The handshake of its client has as long as it takes.
        listener.http.firstByteLimit = .seconds(120)
        let report = try await RunningServer.run(gateway.services, listener: listener) { server in
            let client = try H2Client.start(
                H2Client.Task(
                    port: server.port, certificate: file, requests: 20, method: "POST",
                    path: "/v1/projects/demo/messages:send",
                    fields: ["authorization": "Bearer \(key)", "content-length": "100"], body: "{", isStalled: true))
            return try await H2Client.report(client)
        }
        #expect(report.statuses == ["408": 20])
        #expect(report.goaways == [])
        #expect(!report.closed)
    }

    @Test(arguments: [true, false])
    func aStreamWithAShutWindowEndsWithItsAnswer(isShut: Bool) async throws {
        let gateway = try await TestGateway()
        let certificate = try await TestCertificate(in: gateway.directory)
        let file = certificate.certificateFile
        let listener = listener(certificate, answerLimit: .seconds(2))
        let report = try await RunningServer.run(gateway.services, listener: listener) { server in
            let client = try H2Client.start(
                H2Client.Task(port: server.port, certificate: file, requests: 20, path: "/healthz", isShut: isShut))
            return try await H2Client.report(client)
        }
        #expect(report.resets == (isShut ? 20 : 0))
        #expect(report.statuses == (isShut ? [:] : ["200": 20]))
        #expect(report.goaways == [])
        #expect(!report.closed)
    }

    @Test(.enabled(if: H2Load.isFound)) func h2loadSeesEveryAnswer() async throws {
        let gateway = try await TestGateway()
        let certificate = try await TestCertificate(in: gateway.directory)
        let load = try await RunningServer.run(gateway.services, listener: listener(certificate)) { server in
            try await run(
                H2Load.program, ["-n", "6000", "-c", "2", "-m", "1000", "https://127.0.0.1:\(server.port)/healthz"])
        }
        #expect(load.status == 0)
        #expect(load.output.contains("6000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(load.output)")
        #expect(load.output.contains("status codes: 6000 2xx, 0 3xx, 0 4xx, 0 5xx"), "\(load.output)")
    }

    @Test func rapidResetEndsOnlyTheConnectionThatDoesIt() async throws {
        let gateway = try await TestGateway()
        let certificate = try await TestCertificate(in: gateway.directory)
        let file = certificate.certificateFile
        let (report, other) = try await RunningServer.run(gateway.services, listener: listener(certificate)) { server in
            let client = try H2Client.start(
                H2Client.Task(port: server.port, certificate: file, requests: 20_000, path: "/healthz", resets: true))
            let report = try await H2Client.report(client)
            let other = try H2Client.start(
                H2Client.Task(port: server.port, certificate: file, requests: 10, path: "/healthz"))
            return (report, try await H2Client.report(other))
        }
        // ENHANCE_YOUR_CALM, or nothing any more when the client was still writing.
        #expect(report.goaways.allSatisfy { $0.error == 11 })
        #expect(report.closed || !report.goaways.isEmpty)
        #expect(other.statuses == ["200": 10])
    }

    @Test(arguments: [
        ("--http2", 10_000, 200), ("--http2", 20_000, 431), ("--http1.1", 10_000, 200), ("--http1.1", 20_000, 431),
        ("--http1.1", 70_000, 431),
    ])
    func aHeaderOverTheLimitIsAnswered431(version: String, size: Int, status: Int) async throws {
        let gateway = try await TestGateway()
        let certificate = try await TestCertificate(in: gateway.directory)
        let file = certificate.certificateFile
        let fields = stride(from: 0, to: size, by: 10_000).flatMap { start in
            ["-H", "x-filler-\(start): " + String(repeating: "x", count: 10_000)]
        }
        let answer = try await RunningServer.run(gateway.services, listener: listener(certificate)) { server in
            let options = ["-s", "-m", "60", version, "--cacert", file, "-w", " %{http_code} %{num_connects}\n"]
            let url = "https://127.0.0.1:\(server.port)/healthz"
            // The second request of a connection: the first of one over HTTP/2 may go out before its SETTINGS came.
            return try await run("curl", options + [url, "--next"] + options + fields + [url])
        }
        let lines = answer.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first == #"{"status":"ok"} 200 1"#, "\(answer.output)")
        #expect(lines.last?.hasSuffix(" \(status) 0") == true, "\(answer.output)")
        #expect(lines.last?.hasPrefix(#"{"error":{"code":431,"#) == (status == 431), "\(answer.output)")
    }
}
