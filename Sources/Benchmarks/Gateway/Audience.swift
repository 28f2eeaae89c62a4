import Foundation
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store

/// Registrations and topics of a benchmark, put into a gateway's store before it starts.
///
/// The topic of a size has the first registrations, so one store serves all sizes.
struct Audience {
    private static let project = ProjectID(rawValue: GatewayFiles.project)!
    private static let step = 1000

    /// The name of the topic with so many subscribers, of one platform or of each.
    static func topic(of size: Int, on platform: Platform? = nil) -> String {
        "first-\(size)" + (platform.map { "-\($0.rawValue)" } ?? "")
    }

    /// Registers as many devices of each app as the largest size has and subscribes them.
    ///
    /// - Returns: the registration tokens of the first hundred, for single sends.
    static func make(
        _ sizes: [Int], of apps: [PlatformApp] = [PlatformApp(.apple, sinkPort: 9)], in directory: String
    ) async throws -> [String] {
        let store = try SQLiteStore(directory: directory, role: .gateway, logger: Logger(label: "herald-bench"))
        var tokens: [String] = []
        for start in stride(from: 0, to: sizes.max() ?? 0, by: step) {
            let numbers = start..<min(start + step, sizes.max() ?? 0)
            for app in apps {
                let registrations = try await register(numbers, of: app, in: store)
                if tokens.count < 100 { tokens += registrations.prefix(100 - tokens.count).map(\.token.rawValue) }
                for size in sizes where size > start {
                    let keys = registrations.prefix(size - start).map(\.key)
                    let topics = [topic(of: size)] + (apps.count > 1 ? [topic(of: size, on: app.platform)] : [])
                    for topic in topics { _ = try await store.subscribe(keys, to: Topic(rawValue: topic)!, at: now()) }
                }
            }
        }
        try store.close()
        return tokens
    }

    /// How many registrations a store has.
    static func count(in directory: String) async throws -> Int {
        let store = try SQLiteStore(directory: directory, role: .gateway, logger: Logger(label: "herald-bench"))
        let count = try await store.activeRegistrations(of: project, after: RegistrationKey(rawValue: 0))
        try store.close()
        return count
    }

    /// All at once, so that they share a commit.
    static func register(
        _ numbers: Range<Int>, of app: PlatformApp = PlatformApp(.apple, sinkPort: 9), in store: SQLiteStore
    ) async throws -> [Registration] {
        try await withThrowingTaskGroup(of: Registration.self) { group in
            for number in numbers {
                let request = RegistrationRequest(
                    project: project, app: app.id, address: app.address(number), appVersion: nil)
                group.addTask { try await store.register(request, at: now()).registration }
            }
            // In the order of keys, which is the order in which subscriptions are stored.
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.key.rawValue < $1.key.rawValue }
        }
    }

    /// A device token that looks random, as Apple's do.
    static func deviceToken(_ number: Int) -> DeviceToken {
        DeviceToken(hex: DevicePath.of(number, prefix: ""))!
    }

    static func now() -> Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}
