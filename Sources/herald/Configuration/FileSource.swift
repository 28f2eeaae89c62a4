import Foundation
import Synchronization

/// Where the files are that a project file names: on the disk of this machine, or stored with the project in a database.
///
/// Safe to share.
struct FileSource: Sendable {
    private enum Place {
        /// Paths are those of this machine.
        case disk
        /// As ``disk``; what was read is kept.
        case recorded(FileRecord)
        /// Paths are names of what is stored. Files that a library opens itself are written out.
        case stored([String: [UInt8]], AuthorityFiles)
    }

    private let place: Place

    /// The disk of this machine.
    static let disk = FileSource(place: .disk)

    private init(place: Place) {
        self.place = place
    }

    /// The disk of this machine; all files that are read are put into `record`.
    init(recordingIn record: FileRecord) {
        place = .recorded(record)
    }

    /// Files that were stored, by the paths that they had.
    ///
    /// - Parameter authorities: where certificates of authorities are written.
    init(stored files: [String: [UInt8]], authorities: AuthorityFiles) {
        place = .stored(files, authorities)
    }

    /// Whether files have an owner and a mode here.
    var isOnDisk: Bool {
        switch place {
        case .disk, .recorded: true
        case .stored: false
        }
    }

    /// The text of a file that must be UTF-8.
    ///
    /// - Parameter name: how the message begins; `nil` when the place of the problem names the file already.
    func text(of path: String, in name: String?) throws(ConfigurationProblem.Unreadable) -> String {
        guard let text = String(data: try data(of: path, in: name), encoding: .utf8) else {
            throw ConfigurationProblem.Unreadable(text: (name.map { $0 + ": " } ?? "") + "is not UTF-8 text")
        }
        return text
    }

    /// The bytes of a file.
    ///
    /// - Parameter name: as for ``text(of:in:)``.
    func data(of path: String, in name: String?) throws(ConfigurationProblem.Unreadable) -> Data {
        switch place {
        case .disk: return try ConfigurationFile.data(of: path, in: name)
        case .recorded(let record):
            let data = try ConfigurationFile.data(of: path, in: name)
            record.add(data, path)
            return data
        case .stored(let files, _):
            guard let bytes = files[path] else {
                throw ConfigurationProblem.Unreadable(
                    text: (name.map { $0 + ": " } ?? "") + "was not stored with the project")
            }
            return Data(bytes)
        }
    }

    /// The path at which a library finds the certificates of authorities that have been read from `path`.
    func authorities(at path: String, _ text: String) throws(ConfigurationProblem.Unreadable) -> String {
        switch place {
        case .disk, .recorded: path
        case .stored(_, let authorities): try authorities.write(text)
        }
    }
}

/// The files that were read for a project.
final class FileRecord: Sendable {
    private let content = Mutex<[String: [UInt8]]>([:])

    /// What was read, by path.
    var files: [String: [UInt8]] { content.withLock { $0 } }

    fileprivate func add(_ data: Data, _ path: String) {
        content.withLock { $0[path] = Array(data) }
    }
}
