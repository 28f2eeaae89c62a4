import Logging
import PushModel
import Store
import TestSupport
import Testing

@testable import SQLStorage
@testable import SQLiteStorage

/// Whether a former VAPID key is still needed.
@Suite(.timeLimit(.minutes(5)))
struct ApplicationKeyTests {
    @Test func registrationsAreCountedByTheKeyThatTheySubscribedWith() async throws {
        let directory = try TestDirectory()
        let store = try SQLiteStore(directory: directory.path, role: .gateway, logger: Logger(label: "test"))
        let project = try #require(ProjectID(rawValue: "demo"))
        let app = try #require(AppID(rawValue: "www.example.com"))
        #expect(try await store.applicationKeys(of: app, in: project).isEmpty)
        let (first, former) = ([UInt8](repeating: 4, count: 65), [UInt8](repeating: 5, count: 65))
        for (number, key) in [first, first, former, nil, former].enumerated() {
            let subscription = try #require(
                WebSubscription(
                    endpoint: "https://push.example.com/\(number)", key: [UInt8](repeating: 6, count: 65),
                    secret: [UInt8](repeating: 7, count: 16), applicationKey: key))
            _ = try await store.register(
                RegistrationRequest(
                    project: project, app: app, address: .web(subscription), appVersion: nil, owner: nil,
                    credential: ProvenCredential(CredentialUse(id: "app", role: .client, address: "192.0.2.77"))),
                at: Timestamp(milliseconds: 1))
        }
        #expect(try await store.applicationKeys(of: app, in: project) == [first: 2, former: 2, []: 1])
        let other = try #require(ProjectID(rawValue: "other"))
        #expect(try await store.applicationKeys(of: app, in: other).isEmpty)
        try store.close()
    }
}
