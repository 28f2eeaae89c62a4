import Foundation
import NIOCore
import Simulators
import TestSupport
import Testing

/// What the simulator does with a client that breaks HTTP/2: it must be a judge, not a friend.
@Suite("Rules of HTTP/2", .timeLimit(.minutes(5)))
struct StrictnessTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]

        init(_ testDescription: String, _ bytes: [UInt8]) {
            self.testDescription = testDescription
            self.bytes = bytes
        }
    }

    /// HEADERS that end the stream, with literal fields.
    private static func request(_ stream: UInt32, _ fields: [(String, String)], ends: Bool = true) -> [UInt8] {
        var block: [UInt8] = []
        for (name, value) in fields {
            block += [0x00, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        return WireClient.frame(1, flags: ends ? 5 : 4, stream: stream, block)
    }

    private static let good = [
        (":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/3/device/0"),
    ]
    private static let eightBytes: [UInt8] = Array(repeating: 0, count: 8)

    private static let ofTheConnection = [
        Case("DATA on stream 0", WireClient.frame(0, stream: 0, [1])),
        Case("DATA on an idle stream", WireClient.frame(0, stream: 1, [1])),
        Case("HEADERS on stream 0", request(0, good)),
        Case("HEADERS on an even stream", request(2, good)),
        Case("a stream below the last", request(3, good) + request(1, good)),
        Case("HPACK that can't be decoded", WireClient.frame(1, flags: 5, stream: 1, [0xFF, 0xFF, 0xFF, 0xFF, 0x0F])),
        Case("CONTINUATION of nothing", WireClient.frame(9, flags: 4, stream: 1, [])),
        Case(
            "another frame amid a header block",
            WireClient.frame(1, stream: 1, [0x82]) + WireClient.frame(6, eightBytes)),
        Case("a frame that is too long", WireClient.frame(0, stream: 1, Array(repeating: 0, count: 20_000))),
        Case("padding longer than the frame", WireClient.frame(0, flags: 8, stream: 1, [9, 0])),
        Case("SETTINGS of 5 bytes", WireClient.frame(4, [0, 3, 0, 0, 0])),
        Case("SETTINGS on a stream", WireClient.frame(4, stream: 1)),
        Case("an acknowledgement with a payload", WireClient.frame(4, flags: 1, [0, 3, 0, 0, 0, 1])),
        Case("SETTINGS with a window above 2^31", WireClient.frame(4, [0, 4, 0x80, 0, 0, 0])),
        Case("SETTINGS with frames of 1 byte", WireClient.frame(4, [0, 5, 0, 0, 0, 1])),
        Case("WINDOW_UPDATE of 0", WireClient.frame(8, [0, 0, 0, 0])),
        Case("WINDOW_UPDATE beyond 2^31", WireClient.frame(8, [0x7F, 0xFF, 0xFF, 0xFF])),
        Case("PING of 7 bytes", WireClient.frame(6, Array(repeating: 0, count: 7))),
        Case("PING on a stream", WireClient.frame(6, stream: 1, Array(repeating: 0, count: 8))),
        Case("RST_STREAM on an idle stream", WireClient.frame(3, stream: 1, [0, 0, 0, 8])),
        Case("GOAWAY on a stream", WireClient.frame(7, stream: 1, Array(repeating: 0, count: 8))),
        Case("PUSH_PROMISE", WireClient.frame(5, flags: 4, stream: 1, [0, 0, 0, 2, 0x82])),
    ]

    private static let ofAStream = [
        Case("a name in upper case", request(1, good + [("Apns-topic", "a")])),
        Case("no :path", request(1, Array(good.dropLast()))),
        Case(":method twice", request(1, good + [(":method", "POST")])),
        Case("a pseudo field behind others", request(1, [("a", "b")] + good)),
        Case("an unknown pseudo field", request(1, good + [(":status", "200")])),
        Case("a field about the connection", request(1, good + [("connection", "close")])),
        Case("DATA after the end", request(1, good) + WireClient.frame(0, stream: 1, [1])),
        Case("HEADERS after the end", request(1, good) + request(1, good)),
    ]

    /// GOAWAY's or RST_STREAM's code, or 0 when the connection simply ended.
    private func complaint(
        about bytes: [UInt8], _ client: WireClient
    ) async throws -> (kind: WireClient.Frame.Kind, code: Int)? {
        try await client.connection.write(bytes)
        let frames = try await client.frames { $0.kind == .goAway || $0.kind == .resetStream }
        guard let last = frames.last, let kind = last.kind, kind == .goAway || kind == .resetStream else { return nil }
        return (kind, last.number(at: kind == .goAway ? 4 : 0))
    }

    @Test("A broken connection is ended with GOAWAY", arguments: ofTheConnection)
    func connectionErrors(broken: Case) async throws {
        try await SimulatorHarness.run { harness async throws in
            try await WireClient.run(with: harness) { client async throws in
                _ = try await client.frames { $0.kind == .settings && $0.flags == 1 }
                let complaint = try #require(try await complaint(about: broken.bytes, client))
                #expect(complaint.kind == .goAway)
                #expect(complaint.code != 0)
            }
            // Others are served as before.
            #expect(try await harness.send().status == 200)
        }
    }

    @Test("A broken request is refused", arguments: ofAStream)
    func streamErrors(broken: Case) async throws {
        try await SimulatorHarness.run { harness async throws in
            try await WireClient.run(with: harness) { client async throws in
                _ = try await client.frames { $0.kind == .settings && $0.flags == 1 }
                let complaint = try #require(try await complaint(about: broken.bytes, client))
                #expect(complaint.code != 0)
            }
            #expect(try await harness.send().status == 200)
        }
    }

    @Test(
        "Unknown and disused keys are ignored",
        arguments: [
            Case("a frame of type 99", WireClient.frame(99, stream: 7, [1, 2, 3])),
            Case("an unknown setting", WireClient.frame(4, [0x55, 0x55, 0, 0, 0, 1])),
            Case("PRIORITY", WireClient.frame(2, stream: 5, [0, 0, 0, 0, 9])),
        ])
    func tolerated(odd: Case) async throws {
        try await SimulatorHarness.run { harness async throws in
            try await WireClient.run(with: harness) { client async throws in
                try await client.connection.write(odd.bytes)
                let frames = try await client.push(1)
                #expect(frames.last?.endsStream(of: 1) == true)
                #expect(!frames.contains { $0.kind == .goAway || $0.kind == .resetStream })
            }
        }
    }
}
