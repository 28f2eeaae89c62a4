import Foundation

/// What answers the pushes: a program of its own on cores of its own, the same for both senders.
protocol Sink: AnyObject {
    /// On 127.0.0.1, over TLS.
    var port: Int { get }
    /// The program that answers.
    var program: Program { get }
    /// What h2load and the engine put before a device token's digits to ask this sink.
    var pathPrefix: String { get }
}

extension Sink {
    /// What the sink's threads have used of the processor so far, in microseconds; 0 when the kernel does not say.
    ///
    /// From `/proc/pid/task/*/schedstat` (Linux, Documentation/scheduler/sched-stats), which counts nanoseconds, where
    /// `/proc/pid/stat` counts hundredths of a second. A sink's threads live as long as it does.
    var processorMicroseconds: Double {
        let tasks = "/proc/\(program.id)/task"
        var nanoseconds = 0.0
        // A sink that has ended has no threads: it used nothing that is still counted.
        for task in (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? [] {
            guard let text = FileManager.default.contents(atPath: "\(tasks)/\(task)/schedstat") else { continue }
            nanoseconds += String(decoding: text, as: UTF8.self).split(separator: " ").first.flatMap { Double($0) } ?? 0
        }
        return nanoseconds / 1000
    }
}

/// Which sink a comparison has.
enum SinkKind: String, CaseIterable {
    /// nghttp2's server: the fastest.
    case nghttpd
    /// ``SinkCommand``, which can wait before it answers.
    case herald
}
