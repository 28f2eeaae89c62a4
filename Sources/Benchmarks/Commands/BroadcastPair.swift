/// A broadcast and a run of h2load, one after the other.
struct BroadcastPair: Codable {
    let gateway: Broadcast
    /// What the sink spent on each push of the gateway.
    let gatewaySinkMicroseconds: Double
    let h2load: Run

    static let titles = Broadcast.titles

    /// All rounds of a shape: medians, and the medians of the pairs' ratios.
    struct Summary: Encodable {
        let shape: String
        /// To device tokens that were never accepted before.
        let first: Broadcast
        let gateway: Broadcast
        let gatewaySinkMicroseconds: Double
        let h2load: Run
        let rateRatio: Double
        let costRatio: Double

        init(shape: Shape, first: Broadcast, pairs: [BroadcastPair]) {
            self.shape = shape.description
            self.first = first
            gateway = Broadcast.median(of: pairs.map(\.gateway))
            gatewaySinkMicroseconds = pairs.map(\.gatewaySinkMicroseconds).median
            h2load = Run.median(of: pairs.map(\.h2load))
            rateRatio = pairs.map { $0.gateway.pushesPerSecond / $0.h2load.pushesPerSecond }.median
            costRatio = pairs.map { $0.gateway.microsecondsPerPush / $0.h2load.microsecondsPerPush }.median
        }

        var rows: [[String]] {
            [
                gateway.cells("\(gateway.devices) gateway, \(shape)"),
                [
                    "\(gateway.devices) h2load, \(shape)", figure(h2load.pushesPerSecond, 0), "", "",
                    figure(h2load.microsecondsPerPush, 2), figure(h2load.peakMiB, 0), "",
                ],
                ["  ratio", figure(rateRatio, 3), "", "", figure(costRatio, 2), "", ""],
            ]
        }

        var remark: String {
            "µs of the sink for each push: gateway \(figure(gatewaySinkMicroseconds, 2)), "
                + "h2load \(figure(h2load.sinkMicrosecondsPerPush, 2)); body \(gateway.bodyBytes) bytes; "
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
            peakMiB: middle(\.peakMiB), repeats: runs.map(\.repeats).max() ?? 0, bodyBytes: runs[0].bodyBytes)
    }
}
