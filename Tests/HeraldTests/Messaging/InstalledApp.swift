import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HeraldMessaging

/// Carries requests to a real gateway by URLSession, unless the device is without a network.
final class DeviceNetwork: MessagingTransport {
    private let session = URLSessionMessagingTransport()
    private let state = Mutex((isThere: true, asked: 0))

    /// How often something was asked, with a network or without.
    var asked: Int { state.withLock { $0.asked } }

    func setThere(_ isThere: Bool) { state.withLock { $0.isThere = isThere } }

    func send(_ request: MessagingHTTPRequest) async throws -> MessagingHTTPResponse {
        let isThere = state.withLock { state in
            state.asked += 1
            return state.isThere
        }
        guard isThere else { throw URLError(.notConnectedToInternet) }
        return try await session.send(request)
    }
}

/// An app on a device, with HeraldMessaging, at a gateway under test. Its clock stands still until the test moves it.
struct InstalledApp {
    let messaging: Messaging
    let network = DeviceNetwork()
    let clock = TestClock()
    let storage: FileMessagingStorage
    let options: HeraldOptions

    /// Installs an app whose files begin empty, and gives it a device token.
    ///
    /// - Parameters:
    ///   - name: the directory of its files.
    ///   - ahead: how many seconds the device's clock is ahead of the right one.
    init(
        _ name: String, at process: GatewayProcess, _ test: GatewayUnderTest, key: String? = nil, deviceToken: String,
        ahead: TimeInterval = 0
    ) throws {
        options = HeraldOptions(
            baseURL: try #require(URL(string: process.baseURL)), project: "demo", clientKey: key ?? test.keys.client,
            appID: "com.example.app", environment: .prod, appVersion: "1.0")
        storage = FileMessagingStorage(directory: URL(filePath: test.directory.file(name)))
        let begin = Date(timeIntervalSinceNow: ahead)
        messaging = Messaging(
            options: options, transport: network, storage: storage,
            clock: MessagingClock(
                now: { [clock] in begin.addingTimeInterval(clock.now.offset / .seconds(1)) },
                sleep: { [clock] in try await clock.sleep(for: .seconds($0)) }, jitter: { 1 }))
        messaging.start()
        messaging.apnsToken = Self.bytes(of: deviceToken)
    }

    /// Joins a topic without waiting for an answer.
    func join(_ topic: String) { messaging.subscribe(toTopic: topic) }

    /// Leaves a topic without waiting for an answer.
    func leave(_ topic: String) { messaging.unsubscribe(fromTopic: topic) }

    /// Moves the clock from one attempt of the app to the next for as long as a day and more.
    func passADay() async {
        let end = clock.now.advanced(by: .seconds(86_400))
        while clock.now < end { await clock.advanceToSleeper(within: .seconds(3600)) }
    }

    /// The bytes of a device token that ends in these hex digits.
    static func bytes(of digits: String) -> Data {
        let text = Array(digits.deviceToken)
        return Data(
            stride(from: 0, to: text.count, by: 2).compactMap { UInt8(String(text[$0...$0 + 1]), radix: 16) })
    }
}

extension GatewayUnderTest {
    /// Has the pushes to the app say their message's id, as apps with receipts need it.
    func addFirebaseKeys() throws {
        let file = directory.file("projects/demo.yaml")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try text.replacing("firebaseKeys: none", with: "firebaseKeys: standard").write(
            toFile: file, atomically: true, encoding: .utf8)
    }

    /// Sends a message to the topic `weather`, and waits until it has ended; its name and its report.
    func broadcast(_ process: GatewayProcess) async throws -> (name: String, report: [String: Any]) {
        let name = try await WholeGatewayTests.broadcast(process, keys)
        return (name, try await WholeGatewayTests.completeReport(name, process, keys))
    }

    /// What a message's report says of receipts.
    func receipts(_ name: String, _ process: GatewayProcess) async throws -> [String: Int] {
        let answer = try await APIClient(baseURL: process.baseURL, key: keys.admin).get("/v1/\(name)")
        return try answer.json["receipts"] as? [String: Int] ?? [:]
    }
}
