import Foundation
import PushModel

extension Timestamp {
    /// The system's clock.
    static let systemTime: WallTime = { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }
}
