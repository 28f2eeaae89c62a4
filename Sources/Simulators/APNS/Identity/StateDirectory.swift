import Foundation

/// The files of a simulator's state directory.
///
/// A file is written under another name and then renamed, so that a file that exists is whole. Private files are
/// readable by their owner only from the first byte on.
struct StateDirectory {
    let path: String

    init(_ path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw SimulatorError("\(path): cannot be made a directory: \(error.localizedDescription)")
        }
    }

    func file(_ name: String) -> String {
        path.hasSuffix("/") ? path + name : path + "/" + name
    }

    func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: file(name))
    }

    /// The text of a file; `nil`: there is none.
    func read(_ name: String) throws -> String? {
        guard exists(name) else { return nil }
        do {
            return try String(contentsOfFile: file(name), encoding: .utf8)
        } catch {
            throw SimulatorError("\(file(name)): cannot be read; make it readable or delete it to have it made anew")
        }
    }

    func write(_ text: String, to name: String, isPrivate: Bool) throws {
        let temporary = file(".\(name).\(UInt32.random(in: .min ... .max)).tmp")
        do {
            let mode = isPrivate ? 0o600 : 0o644
            guard
                FileManager.default.createFile(
                    atPath: temporary, contents: nil, attributes: [.posixPermissions: mode]),
                let handle = FileHandle(forWritingAtPath: temporary)
            else { throw SimulatorError("\(file(name)): cannot be written") }
            try handle.write(contentsOf: Data(text.utf8))
            try handle.synchronize()
            try handle.close()
            if exists(name) { try FileManager.default.removeItem(atPath: file(name)) }
            try FileManager.default.moveItem(atPath: temporary, toPath: file(name))
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw SimulatorError("\(file(name)): cannot be written: \(error.localizedDescription)")
        }
    }
}
