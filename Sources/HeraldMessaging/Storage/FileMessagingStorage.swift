public import Foundation

/// Keeps it in files: in the app's Application Support, or in the container of an app group.
public struct FileMessagingStorage: MessagingStorage {
    /// The directory, made at the first writing.
    public let directory: URL

    /// Keeps files in a directory of their own.
    public init(directory: URL) { self.directory = directory }

    /// Keeps files in a directory of the project, the app and its name: apps of one group, and those without a container of
    /// their own, have the same place around it. It is in the container of the options' app group; without one, or with one
    /// that the app is not of, in Application Support.
    ///
    /// - Parameter name: the name of the ``HeraldApp``.
    public init(name: String, options: HeraldOptions) {
        #if canImport(Darwin)
            let container = options.appGroup.flatMap {
                FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: $0)
            }
        #else
            let container: URL? = nil
        #endif
        let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        self.init(
            directory: (container ?? support ?? FileManager.default.temporaryDirectory)
                .appending(path: Self.path(name, options)))
    }

    /// The directory, with what makes it this app's own.
    static func path(_ name: String, _ options: HeraldOptions) -> String {
        (["HeraldMessaging"] + [options.project, options.appID, name].map(FileName.of)).joined(separator: "/")
    }

    private var file: URL { directory.appending(path: "state.json") }
    private var receipts: URL { directory.appending(path: "receipts") }

    /// Reads the file.
    public func read() throws -> Data? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try Data(contentsOf: file)
    }

    /// Replaces the file.
    public func write(_ data: Data) throws { try write(data, to: file) }

    /// Writes a file among the receipts.
    public func lay(_ receipt: Data, named name: String) throws {
        try write(receipt, to: receipts.appending(path: name))
    }

    /// Reads the files among the receipts.
    public func laidReceipts() throws -> [String: Data] {
        guard FileManager.default.fileExists(atPath: receipts.path) else { return [:] }
        var found: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: receipts.path) where !name.hasPrefix(".") {
            // One that the other process removes meanwhile is no receipt any more.
            found[name] = FileManager.default.contents(atPath: receipts.appending(path: name).path)
        }
        return found
    }

    /// Removes a file among the receipts.
    public func removeReceipt(named name: String) throws {
        let file = receipts.appending(path: name)
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        try FileManager.default.removeItem(at: file)
    }

    private func write(_ data: Data, to file: URL) throws {
        try makeDirectory(file.deletingLastPathComponent())
        #if canImport(Darwin)
            // Pushes come while the device is locked.
            try data.write(to: file, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
        #else
            try data.write(to: file, options: .atomic)
        #endif
        // Secrets are in it, and not each directory that an app names is its own alone.
        try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o600)], ofItemAtPath: file.path)
    }

    private func makeDirectory(_ url: URL) throws {
        guard !FileManager.default.fileExists(atPath: url.path) else { return }
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: NSNumber(value: 0o700)])
        #if canImport(Darwin)
            // On a device that is set up from a backup of another the same installation would stand twice.
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            var directory = directory
            try directory.setResourceValues(values)
        #endif
    }
}
