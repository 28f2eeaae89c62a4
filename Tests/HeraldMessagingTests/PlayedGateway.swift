import Foundation
import Synchronization
import TestSupport

@testable import HeraldMessaging

/// A transport that plays a gateway: it answers as the API does, keeps what it was asked, and can be out of reach.
final class PlayedGateway: MessagingTransport {
    struct Request: Sendable {
        let method: String
        let path: String
        let headers: [String: String]
        let body: String
    }

    private struct State: Sendable {
        var requests: [Request] = []
        var isReachable = true
        var isSilent = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var answers: [MessagingHTTPResponse] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// What it was asked.
    var requests: [Request] { state.withLock { $0.requests } }

    /// What it was asked, in one line each.
    var lines: [String] { requests.map { "\($0.method) \($0.path)" } }

    func setReachable(_ isReachable: Bool) { state.withLock { $0.isReachable = isReachable } }

    /// Leaves requests without an answer until it speaks again.
    func setSilent(_ isSilent: Bool) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isSilent = isSilent
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    private func speaks() async {
        await withCheckedContinuation { continuation in
            let isSilent = state.withLock { state in
                if state.isSilent { state.waiting.append(continuation) }
                return state.isSilent
            }
            if !isSilent { continuation.resume() }
        }
    }

    /// Gives this answer to the next request.
    func answerNext(_ status: Int, _ body: String) {
        state.withLock { $0.answers.append(MessagingHTTPResponse(status: status, body: Data(body.utf8))) }
    }

    /// The body of an error answer.
    static func error(_ message: String, _ reason: String) -> String {
        let type = "type.googleapis.com/herald.v1.ErrorInfo"
        return #"{"error":{"message":"\#(message)","details":[{"@type":"\#(type)","reason":"\#(reason)"}]}}"#
    }

    /// Waits until it was asked this often.
    func requests(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.requests.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func send(_ request: MessagingHTTPRequest) async throws -> MessagingHTTPResponse {
        let kept = Request(
            method: request.method, path: request.url.path(percentEncoded: true), headers: request.headers,
            body: String(decoding: request.body ?? Data(), as: UTF8.self))
        let (ready, answer, isReachable) = state.withLock { state in
            state.requests.append(kept)
            let count = state.requests.count
            let ready = state.watchers.filter { $0.count <= count }.map(\.continuation)
            state.watchers.removeAll { $0.count <= count }
            let answer = state.isReachable && !state.answers.isEmpty ? state.answers.removeFirst() : nil
            return (ready, answer, state.isReachable)
        }
        for continuation in ready { continuation.resume() }
        await speaks()
        guard isReachable else { throw URLError(.cannotConnectToHost) }
        return answer ?? MessagingHTTPResponse(status: 200, body: Data(Self.answer(to: kept).utf8))
    }

    private static func answer(to request: Request) -> String {
        switch request.path.split(separator: "/").last {
        case "installations":
            #"{"fid":"fid-1","refreshToken":"refresh","authToken":{"token":"auth","expiresIn":"604800s"}}"#
        case "registrations": #"{"name":"projects/demo/registrations/fid-1","token":"fid-1:secret"}"#
        case let last? where last.hasSuffix(":generate"): #"{"token":"auth2","expiresIn":"604800s"}"#
        case nil, .some: "{}"
        }
    }
}

/// Keeps it in memory.
final class MemoryStorage: MessagingStorage {
    struct Locked: Error {}

    private struct State: Sendable {
        var data: Data?
        var receipts: [String: Data] = [:]
        var isLocked = false
        var isFull = false
    }

    private let state = Mutex(State())

    /// Whether it can't be read, as before the device is unlocked for the first time.
    func setLocked(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

    func read() throws -> Data? {
        try state.withLock { state in
            guard !state.isLocked else { throw Locked() }
            return state.data
        }
    }

    /// Whether nothing can be written.
    func setFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }

    func write(_ data: Data) throws {
        try state.withLock { state in
            guard !state.isFull else { throw CocoaError(.fileWriteOutOfSpace) }
            state.data = data
        }
    }

    func lay(_ receipt: Data, named name: String) throws { state.withLock { $0.receipts[name] = receipt } }
    func laidReceipts() throws -> [String: Data] { state.withLock { $0.receipts } }
    func removeReceipt(named name: String) throws { state.withLock { $0.receipts[name] = nil } }
}

/// Counts notifications.
final class Posts: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    func add() { state.withLock { $0 += 1 } }
}

/// Hears what a delegate hears.
@MainActor
final class DelegateStub: MessagingDelegate {
    private(set) var heard: [String] = []

    func messaging(_ messaging: Messaging, didReceiveRegistrationToken fcmToken: String?) {
        heard.append("token \(fcmToken ?? "none")")
    }

    func messaging(_ messaging: Messaging, didReceiveRegistration installationId: String?) {
        heard.append("id \(installationId ?? "none")")
    }

    func messaging(_ messaging: Messaging, didUnregister installationId: String) {
        heard.append("unregistered \(installationId)")
    }
}

extension MessagingClock {
    /// One that a test moves.
    static func test(_ clock: TestClock) -> MessagingClock {
        MessagingClock(
            now: { Date(timeIntervalSince1970: 1_800_000_000).addingTimeInterval(clock.now.offset / .seconds(1)) },
            sleep: { try await clock.sleep(for: .seconds($0)) }, jitter: { 1 })
    }
}

extension HeraldOptions {
    static func sample(isInstallationIdEnabled: Bool = false) throws -> HeraldOptions {
        guard let url = URL(string: "https://push.example.com/gateway/") else { throw URLError(.badURL) }
        return HeraldOptions(
            baseURL: url, project: "demo", clientKey: "hk_client", appID: "com.example.app", senderID: "123",
            environment: .sandbox, appVersion: "1.0", isInstallationIdEnabled: isInstallationIdEnabled)
    }
}
