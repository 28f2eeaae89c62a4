import Foundation
import PushModel

extension Timestamp {
    /// The system's clock.
    static let systemTime: WallTime = { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// RFC 3339 in UTC with milliseconds, such as `2026-01-02T03:04:05.678Z`.
    var text: String {
        let seconds = Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
        let fraction = String(milliseconds - self.seconds * 1000)
        return "\(seconds.dropLast()).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)Z"
    }
}
