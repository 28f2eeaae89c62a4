import Delivery
import Foundation
import Logging
import PushModel

extension DiskSpace {
    /// Watches the file system of a directory.
    convenience init(limitBytes: Int, directory: String, logger: Logger) {
        self.init(
            limitBytes: limitBytes, read: { Self.freeBytes(of: directory) }, clock: ContinuousClock(),
            wallTime: Timestamp.systemTime, logger: logger)
    }

    /// The bytes that are free for this user on the file system of a directory; `nil`: they can't be read.
    static func freeBytes(of directory: String) -> Int? {
        do {
            let attributes = try FileManager.default.attributesOfFileSystem(forPath: directory)
            return (attributes[.systemFreeSize] as? NSNumber)?.intValue
        } catch {
            return nil
        }
    }
}
