import Glibc

/// Puts a file with a secret in the place of another in one step.
package enum FileReplacement {
    /// rename(2): every reader, also after a crash, finds the old file or the new one.
    ///
    /// - Returns: what went wrong, as errno has it; `nil`: nothing.
    package static func move(_ path: String, over place: String) -> CInt? {
        unsafe rename(path, place) == 0 ? nil : errno
    }

    /// Opens a file with mode 0600 from its first moment, empties it and takes the rights of others from a file that was
    /// there. What is no regular file, as /dev/null, keeps its mode.
    ///
    /// - Returns: what went wrong, as errno has it; `nil`: nothing.
    package static func makeEmpty(_ path: String) -> CInt? {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return errno }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { return errno }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        return fchmod(file, 0o600) == 0 ? nil : errno
    }
}
