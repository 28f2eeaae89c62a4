import Foundation
import Logging
import NIOCore
import NIOPosix

/// Appends every recorded push to a file, one JSON object a line (NDJSON).
///
/// It follows the recording in batches on a thread of its own pool, so that no push waits for the disk. A push that
/// was forgotten before it was written (``Recording/clear()``, or a disk slower than the recording's limit) is missing
/// in the file; how many is logged.
actor RecordingFile<Push: Arrival & Encodable> {
    private let path: String
    private let file: FileHandle
    private let logger: Logger
    /// Arrivals that were seen so far.
    private var seen = 0

    /// Opens or makes the file; it holds payloads, so only its owner may read it.
    init(path: String, logger: Logger) throws {
        self.path = path
        self.logger = logger
        if !FileManager.default.fileExists(atPath: path) {
            guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw SimulatorError("\(path): cannot be created") }
        }
        guard let file = FileHandle(forWritingAtPath: path) else {
            throw SimulatorError("\(path): cannot be written")
        }
        self.file = file
        try file.seekToEnd()
    }

    /// Writes what arrives until the task is cancelled.
    func follow(_ recording: ArrivalLog<Push>) async throws {
        while !Task.isCancelled {
            let (pushes, total) = await recording.next(after: seen)
            try await write(pushes, total: total)
        }
    }

    /// Writes what has arrived since and closes the file.
    func finish(_ recording: ArrivalLog<Push>) async throws {
        let (pushes, total) = recording.rest(after: seen)
        try await write(pushes, total: total)
        try file.close()
    }

    private func write(_ pushes: [Push], total: Int) async throws {
        let lost = total - seen - pushes.count
        if lost > 0 {
            logger.warning("Pushes are missing in the recording file", metadata: ["count": "\(lost)"])
        }
        seen = total
        guard !pushes.isEmpty else { return }
        let file = file
        do {
            // A future, since the call for tasks would drop the work of a task that was cancelled: the last pushes.
            try await NIOThreadPool.singleton.runIfActive(eventLoop: MultiThreadedEventLoopGroup.singleton.next()) {
                try file.write(contentsOf: try NDJSON.encode(pushes))
            }.get()
        } catch {
            throw SimulatorError("\(path): cannot be written: \(error)")
        }
    }
}

/// Pushes as lines of JSON.
enum NDJSON {
    static func encode(_ pushes: [some Encodable]) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var lines = Data()
        for push in pushes {
            lines.append(try encoder.encode(push))
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }
}
