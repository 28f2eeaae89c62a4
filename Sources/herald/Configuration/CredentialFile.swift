import Foundation
import PushModel

/// A file with a credential, as it was when it was read.
struct CredentialFile: Hashable, Sendable {
    /// Its path, as the project file names it.
    let path: String
    /// When it was written last; `nil`: not known, as of a file that was stored with its project.
    let modified: Timestamp?

    /// Looks at the file behind links to it, when it is on the disk.
    init(path: String, in files: FileSource) {
        self.path = path
        guard files.isOnDisk else {
            modified = nil
            return
        }
        let target = URL(filePath: path).resolvingSymlinksInPath().path
        do {
            let date = try FileManager.default.attributesOfItem(atPath: target)[.modificationDate] as? Date
            modified = date.map { Timestamp(milliseconds: Int64($0.timeIntervalSince1970 * 1000)) }
        } catch {
            // It was read a moment ago, and is not worth an error now.
            modified = nil
        }
    }
}
