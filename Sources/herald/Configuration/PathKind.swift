import Foundation

/// What a path leads to, symbolic links followed.
enum PathKind: Hashable, Sendable {
    /// Nothing, or nothing this user can see.
    case missing
    /// A directory.
    case directory
    /// A file or something that reads like one.
    case file

    /// Looks at a path.
    init(of path: String) {
        let target = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        do {
            let type = try FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
            self = type == .typeDirectory ? .directory : .file
        } catch {
            self = .missing
        }
    }
}
