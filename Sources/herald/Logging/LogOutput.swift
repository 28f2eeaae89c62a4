import Foundation
import Logging
import PushModel
import Synchronization

/// Where finished log lines go: standard error in the daemon, a list in tests. Whole lines, one at a time.
final class LogOutput: Sendable {
    private let lock = Mutex(())
    private let write: @Sendable (String) -> Void

    /// Lines go to `write`, never two at once.
    init(_ write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    /// Standard error.
    static let standardError = LogOutput { line in
        do {
            try FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
        } catch {
            // Standard error is closed: there is no other place to report it.
        }
    }

    /// Writes a line.
    func line(_ text: String) {
        // The lock is held across the write on purpose: it is what keeps lines whole, and `write` calls nothing back.
        lock.withLock { _ in write(text) }
    }
}

/// Makes the handlers of the configured format.
struct LogFactory: Sendable {
    var format: LogFormat
    var level: Logger.Level
    var output: LogOutput

    /// A handler for one logger.
    func handler(label: String) -> any LogHandler {
        FormattedLogHandler(label: label, format: format, logLevel: level, output: output, time: Timestamp.systemTime)
    }

    /// A logger that writes as configured, whatever the process has bootstrapped.
    func logger(label: String) -> Logger {
        Logger(label: label, factory: { handler(label: $0) })
    }
}

/// A log handler that writes each event as one line.
struct FormattedLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel: Logger.Level

    private let label: String
    private let format: LogFormat
    private let output: LogOutput
    private let time: WallTime

    /// Prepares a handler; `time` is asked for each line.
    init(
        label: String, format: LogFormat, logLevel: Logger.Level, output: LogOutput,
        time: @escaping WallTime
    ) {
        self.label = label
        self.format = format
        self.logLevel = logLevel
        self.output = output
        self.time = time
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Libraries that report their own coming and going at info: to an operator that is debug.
    private static let libraries: Set<String> = ["Hummingbird", "HummingbirdCore", "ServiceLifecycle"]

    func log(event: LogEvent) {
        guard event.level > .info || logLevel <= .debug || !Self.libraries.contains(event.source) else { return }
        var values = metadata
        if let provided = metadataProvider?.get() { values.merge(provided) { $1 } }
        if let own = event.metadata { values.merge(own) { $1 } }
        if let error = event.error, values["error"] == nil { values["error"] = "\(error)" }
        let line = LogLine(
            time: time(), level: event.level, label: label, message: event.message.description, metadata: values)
        switch format {
        case .text: output.line(line.text)
        case .json: output.line(line.json)
        }
    }
}
