/// A broadcast and a run of what it is compared with, one after the other: h2load, or for browsers encryption alone.
struct BroadcastPair: Codable {
    let gateway: Broadcast
    /// What the sink spent on each push of the gateway.
    let gatewaySinkMicroseconds: Double
    let other: Run

    static let titles = Broadcast.titles

    /// All rounds of a shape: medians, and the medians of the pairs' ratios.
    struct Summary: Encodable {
        let shape: String
        /// What the gateway is compared with.
        let otherName: String
        /// To device tokens that were never accepted before.
        let first: Broadcast
        let gateway: Broadcast
        let gatewaySinkMicroseconds: Double
        let other: Run
        let rateRatio: Double
        let costRatio: Double

        init(shape: Shape, otherName: String, first: Broadcast, pairs: [BroadcastPair]) {
            self.shape = shape.description
            self.otherName = otherName
            self.first = first
            gateway = Broadcast.median(of: pairs.map(\.gateway))
            gatewaySinkMicroseconds = pairs.map(\.gatewaySinkMicroseconds).median
            other = Run.median(of: pairs.map(\.other))
            rateRatio = pairs.map { $0.gateway.pushesPerSecond / $0.other.pushesPerSecond }.median
            costRatio = pairs.map { $0.gateway.microsecondsPerPush / $0.other.microsecondsPerPush }.median
        }

        var rows: [[String]] {
            [
                gateway.cells("\(gateway.devices) gateway, \(shape)"),
                [
                    "\(gateway.devices) \(otherName), \(shape)", figure(other.pushesPerSecond, 0), "", "",
                    figure(other.microsecondsPerPush, 2), figure(other.peakMiB, 0), "",
                ],
                ["  ratio", figure(rateRatio, 3), "", "", figure(costRatio, 2), "", ""],
            ]
        }

        var remark: String {
            "µs of the sink for each push: gateway \(figure(gatewaySinkMicroseconds, 2)), "
                + "\(otherName) \(figure(other.sinkMicrosecondsPerPush, 2)); body \(gateway.bodyBytes) bytes; "
                + "\(gateway.repeats) repeats"
        }
    }
}

extension Broadcast {
    static let titles = [
        "devices, sender", "pushes/s", "s to last", "ms to first", "µs/push", "peak MiB", "written/push",
    ]

    func cells(_ name: String) -> [String] {
        [
            name, figure(pushesPerSecond, 0), figure(secondsToLastPush, 2), figure(millisecondsToFirstPush, 1),
            figure(microsecondsPerPush, 2), figure(peakMiB, 0), figure(bytesWrittenPerPush, 0),
        ]
    }

    /// The median of each figure by itself.
    static func median(of runs: [Broadcast]) -> Broadcast {
        func middle(_ value: (Broadcast) -> Double) -> Double { runs.map(value).median }
        return Broadcast(
            devices: runs[0].devices, seconds: middle(\.seconds), secondsToLastPush: middle(\.secondsToLastPush),
            millisecondsToFirstPush: middle(\.millisecondsToFirstPush),
            microsecondsPerPush: middle(\.microsecondsPerPush), bytesWrittenPerPush: middle(\.bytesWrittenPerPush),
            peakMiB: middle(\.peakMiB), repeats: runs.map(\.repeats).max() ?? 0, bodyBytes: runs[0].bodyBytes,
            databaseMicrosecondsPerPush: middle(\.databaseMicrosecondsPerPush))
    }
}
