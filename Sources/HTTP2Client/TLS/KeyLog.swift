import Glibc

/// A file of TLS secrets in the format that Wireshark reads, for operators who must look into their own traffic.
///
/// Written from all loop threads: each line is one write to a file opened for appending, which the kernel keeps whole.
final class KeyLog: Sendable {
    private let descriptor: Int32

    /// Opens `path` for appending, or makes it for its owner only. A file that others may read is refused, and so is a
    /// symbolic link: neither was meant for secrets.
    init(path: String) throws(TransportFailure) {
        let mode = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW
        let made = unsafe open(path, mode | O_CREAT | O_EXCL, 0o600)
        descriptor = unsafe made < 0 && errno == EEXIST ? open(path, mode) : made
        guard descriptor >= 0 else { throw TransportFailure(.tlsFailed, "\(path): \(systemError())") }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw TransportFailure(.tlsFailed, "\(path): \(systemError())")
        }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        guard !isFile || status.st_mode & 0o077 == 0 else {
            throw TransportFailure(.tlsFailed, "\(path): others may read it; remove it, or chmod 600 it")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Appends `line`, without its end.
    func append(_ line: UnsafePointer<CChar>) {
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: line, count: strlen(line))) + [UInt8(ascii: "\n")]
        // A line that a full disk swallows is missing from the file; the traffic goes on.
        _ = unsafe write(descriptor, bytes, bytes.count)
    }
}
