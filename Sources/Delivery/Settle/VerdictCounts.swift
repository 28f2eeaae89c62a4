import Logging
import PushModel
import Store

/// What a batch of settlements taught about registrations, summed by app.
struct VerdictCounts {
    /// Registrations of one app.
    struct Sum: Hashable {
        /// Whose device token APNs accepted in the other environment.
        var corrected = 0
        /// That were quarantined.
        var quarantined = 0
    }

    private var sums: [AppID: Sum] = [:]

    init(_ settlements: [Settlement]) {
        for place in settlements.indices {
            guard let verdict = settlements[place].result.verdict else { continue }
            let registration = settlements[place].delivery.registration
            switch verdict {
            case .proven(let channel):
                if channel != registration.channel { sums[registration.app, default: Sum()].corrected += 1 }
            case .refused: sums[registration.app, default: Sum()].quarantined += 1
            case .doubtful, .dead: break
            }
        }
    }

    /// The sum of one figure over all apps.
    func total(_ figure: (Sum) -> Int) -> Int { sums.values.reduce(0) { $0 + figure($1) } }

    /// A line for each app and kind.
    func log(to logger: Logger) {
        for (app, sum) in sums.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            if sum.corrected > 0 {
                logger.info(
                    "device tokens are of the other environment",
                    metadata: ["app": "\(app)", "count": "\(sum.corrected)"])
            }
            if sum.quarantined > 0 {
                logger.warning(
                    "registrations are quarantined", metadata: ["app": "\(app)", "count": "\(sum.quarantined)"])
            }
        }
    }
}
