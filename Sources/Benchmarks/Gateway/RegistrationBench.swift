import Foundation
import PushModel
import Store

/// Registering through the API of a gateway, beside the same HTTP server answering without work.
final class RegistrationBench {
    /// One round: both with the same bodies and the same callers.
    struct Pair: Encodable {
        let gateway: PostReport
        let echo: PostReport

        /// Of requests in a second.
        var ratio: Double { gateway.perSecond / echo.perSecond }
        /// Of processor time for a request.
        var cost: Double { gateway.microseconds / echo.microseconds }
    }

    private let options: GatewayOptions
    private let scratch: Scratch
    private let files: GatewayFiles
    private let process: GatewayProcess
    private let client: GatewayClient
    private let echo: EchoServer

    /// Starts both, over TLS and on the same cores.
    init(_ options: GatewayOptions) async throws {
        self.options = options
        scratch = try Scratch()
        // Nothing is sent: the port only has to be one.
        files = try GatewayFiles(
            GatewayFiles.Setup(apps: [PlatformApp(.apple, sinkPort: 9)], isEncrypted: true), scratch: scratch,
            in: options.directory)
        let key = try files.makeAPIKey()
        process = try await GatewayProcess(files, cores: options.senderCores)
        client = GatewayClient(address: process.address, key: key)
        echo = try EchoServer(scratch, cores: options.senderCores)
    }

    /// So many callers with a connection each register devices, each another one; before or after that the echo gets the
    /// same requests.
    func pair(clients: Int, seconds: Int, echoFirst: Bool) throws -> Pair {
        func gateway() throws -> PostReport {
            try post(to: client.registrationsAddress, of: process.id, clients: clients, seconds: seconds)
        }
        func bare() throws -> PostReport {
            try post(
                to: "https://127.0.0.1:\(echo.port)/echo", of: echo.id, clients: clients, seconds: seconds)
        }
        guard echoFirst else { return Pair(gateway: try gateway(), echo: try bare()) }
        let first = try bare()
        return Pair(gateway: try gateway(), echo: first)
    }

    private func post(to address: String, of id: Int32, clients: Int, seconds: Int) throws -> PostReport {
        let body =
            #"{"ios":{"apns_token":"\#(PostCommand.devicePlace)","bundle_id":"\#(GatewayFiles.app)","#
            + #""app_version":"1.2.3"}}"#
        let before = try ProcessUsage(of: id)
        let cost = try Program.measured(
            [
                try Program.own, "post", "--address", address, "--key", client.key, "--body", body, "--clients",
                String(clients), "--seconds", String(seconds), "--http1",
            ], cores: options.sinkCores)
        var report = try JSONDecoder().decode(PostReport.self, from: Data(cost.output.utf8))
        let used = try ProcessUsage(of: id).processor - before.processor
        report.microseconds = used.seconds * 1e6 / Double(max(1, report.requests))
        return report
    }
}
