import ArgumentParser
import COpenSSL
import Foundation
import Signing

/// `herald-bench encryption`: encryption for browsers beside what no such encryption can do without.
struct EncryptionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encryption", abstract: "Compares encryption for browsers with bare key agreement.",
        discussion: """
            On one thread, in turns: messages that are encrypted for browsers (RFC 8291), and as many pairs of P-256 keys \
            made by OpenSSL's EVP that agree with one peer, with nothing around it. Times are of the processor.
            """)

    @Option(help: "Pairs of runs.") var rounds = 7
    @Option(help: "Messages in a run.") var messages = 5000
    @Option(help: "Bytes of a message.") var bytes = 250
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds is 1 to 100.") }
        guard (100...1_000_000).contains(messages) else { throw ValidationError("--messages is 100 to 1000000.") }
        guard (1...WebPushEncryptor.plaintextLimit).contains(bytes) else {
            throw ValidationError("--bytes is 1 to \(WebPushEncryptor.plaintextLimit).")
        }
    }

    /// In microseconds.
    private struct Result: Encodable {
        let encryption: Double
        let agreement: Double
        /// Of messages to agreements in a second.
        let ratio: Double
    }

    func run() throws {
        var loop = try EncryptionLoop(bytes: bytes)
        // Warm, both of them.
        _ = try (loop.microseconds(of: 500), Self.agreement(500))
        var results: [Result] = []
        let table = ResultTable(["messages", "µs/message", "µs/agreement", "ratio"], isJSON: json)
        for round in 0..<rounds {
            let isFirst = round.isMultiple(of: 2)
            let first = isFirst ? try loop.microseconds(of: messages) : try Self.agreement(messages)
            let second = isFirst ? try Self.agreement(messages) : try loop.microseconds(of: messages)
            let (encryption, agreement) = isFirst ? (first, second) : (second, first)
            results.append(Result(encryption: encryption, agreement: agreement, ratio: agreement / encryption))
        }
        let middle = Result(
            encryption: results.map(\.encryption).median, agreement: results.map(\.agreement).median,
            ratio: results.map(\.ratio).median)
        table.add([
            "\(messages) of \(bytes) bytes", figure(middle.encryption, 1), figure(middle.agreement, 1),
            figure(middle.ratio, 3),
        ])
        try table.end(middle)
    }

    private static func agreement(_ count: Int) throws -> Double {
        let begin = clock()
        guard herald_P256_agreements(Int32(count)) == 1 else { throw BenchFailure("OpenSSL failed") }
        return Double(clock() - begin) / Double(CLOCKS_PER_SEC) * 1e6 / Double(count)
    }
}

/// Encryption alone, in a process of its own: what a broadcast to browsers is measured by.
struct EncryptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt", abstract: "Encrypts messages for browsers.", shouldDisplay: false)

    @Option var messages: Int
    @Option var bytes: Int

    func run() throws {
        var loop = try EncryptionLoop(bytes: bytes)
        _ = try loop.microseconds(of: messages)
    }

    /// The cost of a run on `cores`.
    static func measured(messages: Int, bytes: Int, cores: String) throws -> Run {
        let command = [
            try Program.own, configuration.commandName ?? "", "--messages", String(messages), "--bytes", String(bytes),
        ]
        let cost = try Program.measured(command, cores: cores)
        let each = Double(cost.microseconds) / Double(messages)
        return Run(
            pushesPerSecond: 1e6 / each, microsecondsPerPush: each, peakMiB: Double(cost.peakKiB) / 1024,
            bytesPerPush: 0, latency: nil, engine: nil)
    }
}

/// Messages for browsers, encrypted one after the other.
private struct EncryptionLoop: ~Copyable {
    private var encryptor: WebPushEncryptor
    private let plaintext: [UInt8]

    init(bytes: Int) throws {
        encryptor = try WebPushEncryptor()
        plaintext = Array(repeating: UInt8(ascii: "x"), count: bytes)
    }

    /// Processor time of a message.
    mutating func microseconds(of count: Int) throws -> Double {
        let begin = clock()
        for number in 0..<count {
            let keys = Browser.keys(number)
            _ = try encryptor.body(
                of: plaintext, for: SubscriptionKeys(checkedPublicKey: keys.point, secret: keys.secret))
        }
        return Double(clock() - begin) / Double(CLOCKS_PER_SEC) * 1e6 / Double(count)
    }
}
