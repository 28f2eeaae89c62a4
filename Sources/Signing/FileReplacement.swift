import Glibc

/// Puts a file with a secret in the place of another in one step.
public enum FileReplacement {
    /// rename(2): whoever looks, and whatever crashes, finds the old file or the new one.
    ///
    /// - Returns: what went wrong, as errno has it; `nil`: nothing.
    public static func move(_ path: String, over place: String) -> CInt? {
        unsafe rename(path, place) == 0 ? nil : errno
    }
}
