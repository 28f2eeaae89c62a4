import Glibc

/// What tells one state of a file from another, as far as `stat` does.
struct TrustFileState: Equatable {
    let device: UInt
    let inode: UInt
    let size: Int
    let changedSeconds: Int
    let changedNanoseconds: Int

    /// Follows links; `nil`: there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        changedSeconds = status.st_mtim.tv_sec
        changedNanoseconds = status.st_mtim.tv_nsec
    }
}
