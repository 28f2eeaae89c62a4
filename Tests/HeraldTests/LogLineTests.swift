import Foundation
import Logging
import PushModel
import Synchronization
import Testing

@testable import herald

/// The two forms of log lines.
struct LogLineTests {
    private static func line(
        _ format: LogFormat, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]
    ) -> String {
        let collected = Collected()
        var logger = Logger(label: "herald.test") { label in
            FormattedLogHandler(
                label: label, format: format, logLevel: .info, output: LogOutput { collected.add($0) },
                time: { Timestamp(milliseconds: 1_767_323_045_678) })
        }
        logger[metadataKey: "node"] = "a"
        logger.debug("too quiet")
        logger.info("a library's own affairs", source: "HummingbirdCore")
        logger.info(message, metadata: metadata)
        return collected.lines.joined(separator: "\n")
    }

    private final class Collected: Sendable {
        private let state = Mutex<[String]>([])
        var lines: [String] { state.withLock { $0 } }
        func add(_ line: String) { state.withLock { $0.append(line) } }
    }

    @Test func textHasTimeLevelMessageAndSortedValues() {
        #expect(
            Self.line(.text, "listening", ["port": "8080", "address": "http://127.0.0.1:8080"])
                == "2026-01-02T03:04:05.678Z info listening address=http://127.0.0.1:8080 node=a port=8080")
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (7, "1970-01-01T00:00:00.007Z"), (-1, "1969-12-31T23:59:59.999Z"),
    ])
    func timesAreRFC3339ToTheMillisecond(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
    }

    @Test func textQuotesAmbiguousValues() {
        #expect(
            Self.line(.text, "m", ["a": "two words", "b": "", "c": "x\ny", "d": "q\"q", "e": "a=b"])
                == #"2026-01-02T03:04:05.678Z info m a="two words" b="" c="x\ny" d="q\"q" e="a=b" node=a"#)
    }

    @Test func aMessageHasNoLineBreaksOrControlCharacters() {
        let line = Self.line(.text, "a\n2026 error fake \u{1b}[31m")
        #expect(!line.contains("\n"))
        #expect(!line.contains("\u{1b}"))
    }

    @Test func jsonIsOneObjectWithNestedValues() throws {
        let line = Self.line(
            .json, "say \"hi\"\n", ["list": ["a", "b"], "map": ["k": "v"], "n": .stringConvertible(3)])
        #expect(!line.contains("\n"))
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["time"] as? String == "2026-01-02T03:04:05.678Z")
        #expect(object["level"] as? String == "info")
        #expect(object["logger"] as? String == "herald.test")
        #expect(object["message"] as? String == "say \"hi\"\n")
        let metadata = try #require(object["metadata"] as? [String: Any])
        #expect(metadata["node"] as? String == "a")
        #expect(metadata["list"] as? [String] == ["a", "b"])
        #expect(metadata["map"] as? [String: String] == ["k": "v"])
        #expect(metadata["n"] as? String == "3")
    }
}
