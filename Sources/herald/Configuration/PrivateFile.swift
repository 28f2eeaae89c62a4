import Foundation
import Signing

/// A file that only its owner should read.
struct PrivateFile {
    /// Its path.
    let path: String

    /// Whether every user of the machine can read it.
    var isReadableByOthers: Bool { mode & 0o004 != 0 }

    /// Whether its group can read it.
    var isReadableByGroup: Bool { mode & 0o040 != 0 }

    /// The permissions of the file itself, behind links to it; 0 when it can't be looked at, which its reader reports
    /// better.
    private var mode: Int {
        let target = URL(filePath: path).resolvingSymlinksInPath().path
        do {
            let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? NSNumber
            return mode?.intValue ?? 0
        } catch {
            return 0
        }
    }

    /// Refuses the file when every user can read it, and warns when its group can. One that is stored has no mode.
    func check(
        _ key: String, of section: ConfigurationSection, problems: inout [ConfigurationProblem],
        warnings: inout [ConfigurationProblem]
    ) {
        guard section.files.isOnDisk else { return }
        if isReadableByOthers {
            problems.append(
                section.problem(
                    key, "\(path) is readable by every user, so what is in it is no secret; chmod 600 \(path)"))
        } else if isReadableByGroup {
            warnings.append(section.problem(key, "\(path) is readable by its group; chmod 600 \(path)"))
        }
    }

    /// Empties the file, or makes it, so that only its owner can read what is written into it.
    func makeEmpty() throws {
        guard let code = FileReplacement.makeEmpty(path) else { return }
        throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }

    /// Replaces the file's content in one step.
    ///
    /// The mode is set after the file is there, so the directory must be its owner's alone
    /// (``makeDirectory(_:)``).
    func write(_ data: Data) throws {
        try data.write(to: URL(filePath: path), options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: path)
    }

    /// Writes a file that only its owner may read from its first byte on, whatever the directory's mode.
    ///
    /// It is written in a private directory beside its place, and put in its place in one step when `body` has returned;
    /// if that throws, nothing changes.
    ///
    /// - Parameters:
    ///   - replaces: whether a file that is there gives way; otherwise that is an error.
    ///   - failure: what to throw for an error of the file system.
    func write<Failure: Error>(
        _ data: Data, replaces: Bool, failure: (any Error) -> Failure,
        after body: () async throws(Failure) -> Void
    ) async throws(Failure) {
        let files = FileManager.default
        let place = URL(filePath: path)
        let nook = place.deletingLastPathComponent().appending(path: ".herald-\(UUID().uuidString)")
        // Cleaning up: the result stands without it.
        defer { try? files.removeItem(at: nook) }
        let draft = PrivateFile(path: nook.appending(path: "draft").path)
        do {
            if !replaces && files.fileExists(atPath: path) { throw CocoaError(.fileWriteFileExists) }
            try files.createDirectory(
                at: nook, withIntermediateDirectories: false, attributes: [.posixPermissions: NSNumber(value: 0o700)])
            try draft.write(data)
        } catch {
            throw failure(error)
        }
        try await body()
        do {
            if replaces {
                try draft.move(over: path)
            } else {
                try files.moveItem(atPath: draft.path, toPath: path)
            }
        } catch {
            throw failure(error)
        }
    }

    /// Moves it to `place` in one step: what was there is there until then. Foundation would have to remove it first.
    func move(over place: String) throws {
        guard let code = FileReplacement.move(path, over: place) else { return }
        throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }

    /// Makes a directory that only its owner enters, with those above it; one that exists stays as it is.
    static func makeDirectory(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: NSNumber(value: 0o700)])
    }
}
