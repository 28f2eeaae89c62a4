import Foundation

/// h2load as a crowd of callers that send single messages, or whatever else takes a POST.
struct IngestLoad {
    /// How long a run goes on.
    enum Amount {
        case requests(Int)
        case seconds(Int)
    }

    /// What a run gave.
    struct Result {
        let requestsPerSecond: Double
        let requests: Int
        let latency: Percentiles
    }

    /// No gateway worth measuring is slower.
    private static let leastRequestsPerSecond = 200

    private let path: String
    private let scratch: Scratch
    private let address: String
    private let key: String
    private let cores: String
    private var body: String { scratch.path + "/message.json" }
    private var log: String { scratch.path + "/ingest-latencies" }

    /// Every request sends the same message, to `token`.
    init(_ scratch: Scratch, client: GatewayClient, token: String, cores: String) throws {
        try self.init(scratch, address: client.sendAddress, key: client.key, token: token, cores: cores)
    }

    /// To any address.
    init(_ scratch: Scratch, address: String, key: String, token: String, cores: String) throws {
        path = try Program.find("h2load", package: "nghttp2-client")
        self.scratch = scratch
        self.address = address
        self.key = key
        self.cores = cores
        let message =
            #"{"message":{"token":"\#(token)","notification":{"title":"Your code","body":"123456 is your code"},"#
            + #""data":{"id":"12345"}}}"#
        try Data(message.utf8).write(to: URL(filePath: body))
    }

    /// Lets `clients` connections have `streams` requests under way each. HTTP/2 over TLS, or HTTP/1.1 in the clear.
    ///
    /// - Throws: ``BenchFailure`` when an answer is not of success.
    func run(clients: Int, streams: Int, _ amount: Amount, isEncrypted: Bool) throws -> Result {
        var command = [
            path, "-c", String(clients), "-m", String(streams), "-t", "1", "-d", body, "-H",
            "authorization: Bearer \(key)", "-H", "content-type: application/json", "--log-file=\(log)",
        ]
        if !isEncrypted { command.append("--h1") }
        var limit = Program.timeLimit
        switch amount {
        case .requests(let count):
            command += ["-n", String(count)]
            limit = max(limit, count / Self.leastRequestsPerSecond)
        case .seconds(let seconds): command += ["-D", String(seconds), "--warm-up-time=1"]
        }
        // h2load appends.
        if FileManager.default.fileExists(atPath: log) { try FileManager.default.removeItem(atPath: log) }
        let cost = try Program.measured(command + [address], cores: cores, within: limit)
        guard let counts = Self.statuses(in: cost.output), counts[0] > 0, counts.dropFirst().allSatisfy({ $0 == 0 }),
            let rate = H2Load.rate(in: cost.output)
        else { throw BenchFailure("\(address) answered otherwise than 200:\n\(cost.output)") }
        return Result(requestsPerSecond: rate, requests: counts[0], latency: try H2Load.latencies(log))
    }

    /// `status codes: 100 2xx, 0 3xx, 0 4xx, 0 5xx`
    static func statuses(in output: String) -> [Int]? {
        for line in output.split(separator: "\n") where line.hasPrefix("status codes:") {
            return line.dropFirst("status codes:".count).split(separator: ",").compactMap {
                $0.split(separator: " ").first.flatMap { Int($0) }
            }
        }
        return nil
    }
}
