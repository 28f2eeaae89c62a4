import APNS
import AsyncHTTPClient
import Foundation
import GatewayAPI
import Logging
import NIOCore
import NIOHTTP1
import PushModel
import SQLStorage
import SQLiteStorage
import ServiceLifecycle
import Simulators
import Store
import TestSupport
import Testing
import Upstream
import WebPush

@testable import herald

/// A gateway inside this process: how it starts, fails and stops.
@Suite(.timeLimit(.minutes(5)))
struct GatewayTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func configuration(_ directory: TestDirectory) throws -> GatewayConfiguration {
        try FileManager.default.createDirectory(
            atPath: directory.file("projects"), withIntermediateDirectories: true)
        var configuration = GatewayConfiguration()
        configuration.listen.port = 0
        configuration.dataDirectory = directory.file("data")
        configuration.projectsDirectory = directory.file("projects")
        configuration.limits.shutdownSeconds = 1
        return configuration
    }

    /// Runs a gateway while `body` works with its port, then stops it gracefully.
    private static func running(
        _ configuration: GatewayConfiguration, _ body: @Sendable (_ port: Int) async throws -> Void
    ) async throws {
        let (ports, announcement) = AsyncStream.makeStream(of: Int.self)
        let gateway = try await Gateway(configuration: configuration, logger: quiet) { announcement.yield($0) }
        let group = ServiceGroup(services: [gateway], logger: quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = try #require(await ports.first { _ in true })
            try await body(port)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    @Test func servesUntilShutdownAndClosesItsStore() async throws {
        let directory = try TestDirectory()
        let configuration = try Self.configuration(directory)
        for _ in 0..<2 {
            try await Self.running(configuration) { port in
                let answer = try await HTTPClient.shared.execute(
                    HTTPClientRequest(url: "http://127.0.0.1:\(port)/healthz"), timeout: TimeAmount(.longerThanAnyTest))
                #expect(answer.status == .ok)
            }
        }
    }

    @Test func aBusyPortIsReportedWithItsSettingAndEndsWith69() async throws {
        let first = try TestDirectory()
        let second = try TestDirectory()
        try await Self.running(Self.configuration(first)) { port in
            var configuration = try Self.configuration(second)
            configuration.listen.port = port
            configuration.places[.port] = ConfigurationPlace(source: "herald.yaml", line: 3)
            let gateway = try await Gateway(configuration: configuration, logger: Self.quiet)
            let failure = await #expect(throws: Failure.self) { try await gateway.run() }
            #expect(failure?.code == .unavailable)
            #expect(
                failure?.message == "herald.yaml:3: listen.port: 127.0.0.1:\(port) is in use; "
                    + "stop the program that listens there or take another port")
        }
    }

    @Test func storeOfAnotherGatewayEndsWith69() async throws {
        let directory = try TestDirectory()
        let configuration = try Self.configuration(directory)
        try await Self.running(configuration) { _ in
            let failure = await #expect(throws: Failure.self) {
                _ = try await Gateway(configuration: configuration, logger: Self.quiet)
            }
            #expect(failure?.code.rawValue == 69)
            #expect(failure?.message.contains(configuration.dataDirectory) == true)
        }
    }

    @Test func wrongProjectFileEndsWith78BeforeTheStoreIsMade() async throws {
        let directory = try TestDirectory()
        let configuration = try Self.configuration(directory)
        try "project: demo".write(
            toFile: directory.file("projects/demo.yaml"), atomically: true, encoding: .utf8)
        let failure = await #expect(throws: Failure.self) {
            _ = try await Gateway(configuration: configuration, logger: Self.quiet)
        }
        #expect(failure?.code.rawValue == 78)
        #expect(failure?.description.split(separator: "\n").allSatisfy { $0.hasPrefix("herald: ") } == true)
        #expect(!FileManager.default.fileExists(atPath: configuration.dataDirectory))
    }

    @Test func missingCertificateEndsWith78AndLeavesTheStoreFree() async throws {
        let directory = try TestDirectory()
        var configuration = try Self.configuration(directory)
        configuration.listen.certificate = directory.file("none.pem")
        configuration.listen.key = directory.file("none.key")
        for _ in 0..<2 {
            let failure = await #expect(throws: Failure.self) {
                _ = try await Gateway(configuration: configuration, logger: Self.quiet)
            }
            #expect(failure?.code.rawValue == 78)
            #expect(failure?.message.contains("none.pem") == true)
        }
    }
}

/// What `herald dev` keeps.
struct DevelopmentStateTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func keysStayTheSameAlsoWhenTheStoreIsLost() async throws {
        let directory = try TestDirectory()
        let state = DevelopmentState(directory: directory.file("state"))
        _ = try state.identity()
        let first = try await state.keys(logger: Self.quiet)
        #expect(Set([first.admin, first.sender, first.client]).count == 3)
        #expect(try await state.keys(logger: Self.quiet) == first)

        try FileManager.default.removeItem(atPath: state.dataDirectory)
        #expect(try await state.keys(logger: Self.quiet) == first)
        let store = try SQLiteStore(directory: state.dataDirectory, role: .command, logger: Self.quiet)
        let roles = try await store.apiKeys(of: nil).map(\.role)
        try store.close()
        #expect(Set(roles) == Set(Role.allCases))
    }

    @Test func revokedKeyIsReplaced() async throws {
        let directory = try TestDirectory()
        let state = DevelopmentState(directory: directory.file("state"))
        _ = try state.identity()
        let first = try await state.keys(logger: Self.quiet)
        let store = try SQLiteStore(directory: state.dataDirectory, role: .command, logger: Self.quiet)
        #expect(try await store.revoke(#require(APIKey.id(in: first.sender)), at: Timestamp.systemTime(), by: .gateway))
        try store.close()
        let second = try await state.keys(logger: Self.quiet)
        #expect(second.sender != first.sender)
        #expect(second.admin == first.admin)
    }

    @Test func serviceAccountStaysTheSameAlsoWhenTheStoreIsLost() async throws {
        let directory = try TestDirectory()
        let state = DevelopmentState(directory: directory.file("state"))
        _ = try state.identity()
        func isUsable(_ key: String) async throws -> Bool? {
            let store = try SQLiteStore(directory: state.dataDirectory, role: .command, logger: Self.quiet)
            let identity = try await store.serviceAccountKey(key)
            try store.close()
            return identity?.isUsable
        }
        let first = try await state.account.credential(state, logger: Self.quiet)
        try state.account.write(first, base: "http://127.0.0.1:5")
        let again = try await state.account.credential(state, logger: Self.quiet)
        #expect(again.keyID == first.keyID && again.tokenURI == "http://127.0.0.1:5/token")
        try FileManager.default.removeItem(atPath: state.dataDirectory)
        #expect(try await state.account.credential(state, logger: Self.quiet).keyID == first.keyID)
        #expect(try await isUsable(first.keyID) == true)

        let store = try SQLiteStore(directory: state.dataDirectory, role: .command, logger: Self.quiet)
        #expect(try await store.disable(first.account, at: Timestamp.systemTime(), by: .gateway))
        #expect(try await store.revokeServiceAccountKey(first.keyID, at: Timestamp.systemTime(), by: .gateway))
        try store.close()
        let next = try await state.account.credential(state, logger: Self.quiet)
        #expect(next.keyID != first.keyID && next.account == first.account)
        #expect(try await isUsable(next.keyID) == true)
        #expect(try await isUsable(first.keyID) == false)

        try "{}".write(toFile: state.account.path, atomically: true, encoding: .utf8)
        let failure = await #expect(throws: Failure.self) {
            _ = try await state.account.credential(state, logger: Self.quiet)
        }
        #expect(failure?.code == .inputOutput && failure?.message.contains("sa.json") == true)
    }

    @Test func stateIsItsOwnersAlone() async throws {
        let directory = try TestDirectory()
        let state = DevelopmentState(directory: directory.file("state"))
        _ = try state.identity()
        _ = try await state.keys(logger: Self.quiet)
        _ = try await state.account.credential(state, logger: Self.quiet)
        #expect(try mode(state.directory + "/sa.json") == 0o600)
        func mode(_ path: String) throws -> Int? {
            (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
        }
        #expect(try mode(state.directory) == 0o700)
        #expect(try mode(state.directory + "/keys.json") == 0o600)
    }

    @Test func projectFileThatItWritesIsValid() throws {
        let directory = try TestDirectory()
        let state = DevelopmentState(directory: directory.file("it's"))
        let identity = try state.identity()
        let browsers = try DevelopmentBrowsers(directory: state.directory)
        let android = try DevelopmentAndroid(directory: state.directory)
        // The simulated Google writes the file once it knows its port.
        let key = try String(contentsOfFile: android.identity.directory + "/account-key.pem", encoding: .utf8)
        let account = [
            "type": "service_account", "project_id": "herald", "private_key_id": "k1", "private_key": key,
            "client_email": "sender@example.com", "token_uri": "https://127.0.0.1:2199/token",
        ]
        try JSONEncoder().encode(account).write(to: URL(filePath: android.identity.accountFile))
        try FileManager.default.setAttributes(
            [.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: android.identity.accountFile)
        let ports = DevelopmentPorts(apns: 2197, google: 2199, push: 2200, pushControl: 2201)
        try state.writeProjectFile(identity, android, browsers, ports, gatewayPort: 8080)
        // Found again as they are.
        #expect(try DevelopmentBrowsers(directory: state.directory).publicKey == browsers.publicKey)
        let set = try ProjectSet.read(
            directory: state.projectsDirectory, configuredAt: ConfigurationPlace(source: "test", line: nil))
        #expect(set.projects.map(\.id.rawValue) == [DevelopmentState.projectName])
        #expect(set.upstreams.first?.endpoints[.production]?.port == 2197)
        #expect(set.browsers.first?.services.map(\.description) == ["127.0.0.1:2200"])
        #expect(set.projects.first?.links?.prefixes.map(\.url) == ["http://go.localhost:8080"])
        #expect(set.warnings.isEmpty)
    }
}
