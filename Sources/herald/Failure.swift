/// Why a command ends: one line for people and an exit code for scripts (sysexits.h).
struct Failure: Error, Hashable, CustomStringConvertible {
    /// What kind of failure it is.
    let code: Code
    /// The mistake, without the `herald: ` in front; more than one line when there is more than one problem.
    let message: String
    /// Whether it may go away by itself, as a full disk does.
    var mayPass = false

    /// Exit codes of `sysexits.h`, so that a supervisor can tell a wrong file from a busy port.
    enum Code: Int32, Hashable, Sendable {
        /// A gateway said no, or the command could not do what it was asked.
        case refused = 1
        /// Wrong arguments (EX_USAGE).
        case usage = 64
        /// A port or store in use, or a gateway that can't be reached (EX_UNAVAILABLE).
        case unavailable = 69
        /// Something that should not happen (EX_SOFTWARE).
        case software = 70
        /// A file or disk that can't be read or written (EX_IOERR).
        case inputOutput = 74
        /// What others may mend, so that it is worth another try (EX_TEMPFAIL).
        case temporary = 75
        /// A wrong configuration (EX_CONFIG).
        case configuration = 78
    }

    /// Describes a failure.
    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message, each line as it goes to standard error.
    var description: String {
        message.split(separator: "\n").map { "herald: \($0)" }.joined(separator: "\n")
    }
}
