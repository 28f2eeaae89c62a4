import ArgumentParser
import PushModel

/// When something ends: a time, or so long after now.
enum Expiry: Hashable, ExpressibleByArgument {
    /// At a time.
    case at(Timestamp)
    /// After a while.
    case after(Duration)

    /// Reads an RFC 3339 time, or a whole number of days, hours or minutes: `90d`, `12h`, `30m`.
    init?(argument: String) {
        if let time = Timestamp(rfc3339: argument) {
            self = .at(time)
            return
        }
        // A century at most: no time that can't be written.
        guard let unit = argument.last, let seconds = Self.seconds[unit], let count = Int64(argument.dropLast()),
            (1...36_525 * 86_400 / seconds).contains(count)
        else { return nil }
        self = .after(.seconds(count * seconds))
    }

    private static let seconds: [Character: Int64] = ["d": 86_400, "h": 3600, "m": 60]

    /// The time that is meant.
    func time(from now: Timestamp) -> Timestamp {
        switch self {
        case .at(let time): time
        case .after(let duration): now + duration
        }
    }
}
