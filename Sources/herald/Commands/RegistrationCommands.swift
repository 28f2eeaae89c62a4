import ArgumentParser
import JSON
import NIOHTTP1
import PushModel

/// `herald register`: registers a device, as an app does.
struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Register a device and print its registration token.")

    @OptionGroup var gateway: GatewayOptions
    @Option(help: "The bundle id of the app.") var app: String
    @Option(help: "The APNs device token in hex digits.") var deviceToken: String
    @Option(help: "production or sandbox; the app's own when not given.") var environment: PushEnvironment?
    @Option(help: "The app's version.") var appVersion: String?
    @Flag(help: "Print the gateway's answer as JSON.") var json = false

    func validate() throws {
        guard DeviceToken(registering: deviceToken) != nil else {
            throw ValidationError("The device token must be \(DeviceToken.registeringExpectation).")
        }
    }

    func run() async throws {
        var members: [JSONValue.Member] = [
            .init("apns_token", .string(deviceToken)), .init("bundle_id", .string(app)),
        ]
        switch environment {
        case .production?: members.append(.init("apns_environment", .string("PROD")))
        case .sandbox?: members.append(.init("apns_environment", .string("SANDBOX")))
        case nil: break
        }
        if let appVersion { members.append(.init("app_version", .string(appVersion))) }
        let answer = try await gateway.client().project(
            .POST, "registrations", body: .object([.init("ios", .object(members))]))
        guard !json else { return Terminal.standard.print(answer.text) }
        let value = try answer.json()
        Terminal.standard.print("Registered \(value["name"]?.stringValue ?? "a device"). Its registration token:")
        Terminal.standard.print(value["token"]?.stringValue ?? "")
    }
}
