/// The figures of one day of `herald-bench retention`.
struct RetentionDay: Codable {
    let number: Int
    /// Messages a second, accepted, claimed and settled.
    var rate = 0.0
    /// User and system time for a message, in microseconds.
    var processor = 0.0
    /// Of all files once the store is closed, without those of the registrations.
    var bytes = 0
    /// Bytes by the messages that are kept, with their payloads or without.
    var perMessage = 0.0
    /// Messages that were removed.
    var removed = 0
    /// Of a step of removal, with its commit; here and below in microseconds.
    var steps = Percentiles()
    /// Of the report of a message.
    var report = Percentiles()
    /// Of the last ten deliveries to a device.
    var toDevice = Percentiles()
    /// Of the reports of the last 50 messages.
    var newest = Percentiles()

    init(number: Int) {
        self.number = number
    }

    /// Takes down what the files have become.
    mutating func note(bytes: Int, messages: Int) {
        self.bytes = bytes
        perMessage = Double(bytes) / Double(messages)
    }

    static let titles = [
        "day", "singles/s", "µs CPU", "MiB", "bytes each", "removed", "step p99", "step most", "report ms", "device ms",
        "newest ms",
    ]

    var cells: [String] {
        [
            "\(number)", figure(rate, 0), figure(processor, 1), figure(Double(bytes) / 1_048_576, 1),
            figure(perMessage, 0), "\(removed)", figure(steps.p99 / 1000, 2), figure(steps.maximum / 1000, 2),
            figure(report.p50 / 1000, 2), figure(toDevice.p50 / 1000, 2), figure(newest.p50 / 1000, 2),
        ]
    }
}
