import Foundation
import PushModel
import Store

/// A gateway over a store of links, and the listener alone beside it.
final class LinkBench {
    private let scratch: Scratch
    private let sink: HeraldSink
    private let files: GatewayFiles
    private let options: GatewayOptions
    private let client: GatewayClient
    private let token: String
    private let constant: Program
    private let constantPort: Int
    /// The gateway.
    let process: GatewayProcess

    /// What redirects gave, those of the gateway and those of the listener alone, in one round.
    struct Pair {
        let gateway: IngestLoad.Result
        let constant: IngestLoad.Result
        /// Processor time of the gateway for a redirect, and of the listener alone.
        let gatewayMicroseconds: Double
        let constantMicroseconds: Double
    }

    /// Starts both on the same cores; the store of `folder` is closed.
    init(_ folder: StoreFolder, _ options: GatewayOptions) async throws {
        self.options = options
        scratch = try Scratch()
        sink = try HeraldSink(scratch, cores: options.sinkCores, delay: .zero)
        files = try GatewayFiles(
            GatewayFiles.Setup(
                apps: [PlatformApp(.apple, sinkPort: sink.port)], isEncrypted: true, data: folder.path, hasLinks: true),
            scratch: scratch, in: options.directory)
        token = try await Audience.make([1000], in: folder.path)[0]
        let key = try files.makeAPIKey()
        process = try await GatewayProcess(files, cores: options.senderCores)
        client = GatewayClient(address: process.address, key: key)
        constant = try Program(
            try Program.find("taskset", package: "util-linux"),
            [
                "-c", options.senderCores, try Program.own, "redirect", "--certificate", scratch.certificate, "--key",
                scratch.key,
            ], showsErrors: true)
        guard let port = Int(constant.readLine()) else { throw BenchFailure("the listener alone did not start") }
        constantPort = port
    }

    deinit { constant.end() }

    // MARK: Redirects

    /// Lets h2load open links at both, one after the other.
    func redirects(_ keys: [LinkKey], _ shape: LoadShape, seconds: Int, constantFirst: Bool) throws -> Pair {
        let load = try RedirectLoad(scratch, opening: keys, shape: shape, cores: options.sinkCores)
        guard let port = URL(string: process.address)?.port else { throw BenchFailure("the gateway has no port") }
        var results: [Int32: (IngestLoad.Result, Double)] = [:]
        let turns = [(process.id, port), (constant.id, constantPort)]
        for (id, port) in constantFirst ? turns.reversed() : turns {
            let before = try ProcessUsage(of: id)
            let result = try load.run(port: port, seconds: seconds)
            let used = try ProcessUsage(of: id).processor - before.processor
            // The warm-up is not counted among the requests, but it was work too.
            let requests = Double(result.requests) * Double(seconds + 1) / Double(seconds)
            results[id] = (result, used.seconds * 1e6 / requests)
        }
        guard let own = results[process.id], let bare = results[constant.id] else { throw BenchFailure("no results") }
        return Pair(gateway: own.0, constant: bare.0, gatewayMicroseconds: own.1, constantMicroseconds: bare.1)
    }

    // MARK: Posts

    /// Lets callers make short links, each another one.
    func creations(clients: Int, seconds: Int) throws -> PostReport {
        let target = "https%3A%2F%2Fshop.example%2Fnew%2F\(PostCommand.place)"
        return try post(
            #"{"longDynamicLink":"https://\#(LinkRows.host)/?link=\#(target)&st=Offer&utm_source=newsletter"}"#,
            to: process.address + "/v1/shortLinks", clients: clients, seconds: seconds)
    }

    /// Lets callers send single messages.
    func sends(clients: Int, seconds: Int) throws -> PostReport {
        try post(
            #"{"message":{"token":"\#(token)","notification":{"title":"Your code","body":"123456 is your code"},"#
                + #""data":{"id":"\#(PostCommand.place)"}}}"#, to: client.sendAddress, clients: clients,
            seconds: seconds)
    }

    private func post(_ body: String, to address: String, clients: Int, seconds: Int) throws -> PostReport {
        let before = try ProcessUsage(of: process.id)
        let cost = try Program.measured(
            [
                try Program.own, "post", "--address", address, "--key", client.key, "--body", body, "--clients",
                String(clients), "--seconds", String(seconds),
            ], cores: options.sinkCores)
        var report = try JSONDecoder().decode(PostReport.self, from: Data(cost.output.utf8))
        let used = try ProcessUsage(of: process.id).processor - before.processor
        report.microseconds = used.seconds * 1e6 / Double(max(1, report.requests))
        return report
    }
}

/// h2load as browsers that open links.
struct RedirectLoad {
    private let path: String
    private let scratch: Scratch
    private let shape: LoadShape
    private let cores: String
    private var links: String { scratch.path + "/links.txt" }
    private var log: String { scratch.path + "/redirect-latencies" }

    init(_ scratch: Scratch, opening keys: [LinkKey], shape: LoadShape, cores: String) throws {
        path = try Program.find("h2load", package: "nghttp2-client")
        self.scratch = scratch
        self.shape = shape
        self.cores = cores
        let text = keys.map { "https://\($0.prefix)/\($0.suffix)\n" }.joined()
        try Data(text.utf8).write(to: URL(filePath: links))
    }

    /// Opens the links one after the other at a port of this machine, after a second to warm up.
    ///
    /// - Throws: ``BenchFailure`` when an answer is no redirect.
    func run(port: Int, seconds: Int) throws -> IngestLoad.Result {
        // h2load appends.
        if FileManager.default.fileExists(atPath: log) { try FileManager.default.removeItem(atPath: log) }
        let command = [
            path, "-c", String(shape.clients), "-m", String(shape.streams), "-t", "1", "-i", links,
            "--connect-to=127.0.0.1:\(port)", "-D", String(seconds), "--warm-up-time=1", "--log-file=\(log)", "-H",
            "user-agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        ]
        let cost = try Program.measured(command, cores: cores)
        guard let counts = IngestLoad.statuses(in: cost.output), counts.count == 4, counts[1] > 0,
            counts[0] + counts[2] + counts[3] == 0, let rate = H2Load.rate(in: cost.output)
        else { throw BenchFailure("links were answered otherwise than 302:\n\(cost.output)") }
        return IngestLoad.Result(
            requestsPerSecond: rate, requests: counts[1], latency: try H2Load.latencies(log))
    }
}
