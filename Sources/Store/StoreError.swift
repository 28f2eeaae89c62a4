/// Why the store could not do what it was asked.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    public let code: Code
    /// A sentence for the operator: no tokens, no payloads.
    public let message: String
    /// The database library's error.
    public let underlying: (any Error)?

    /// The kinds of errors.
    public enum Code: Hashable, Sendable {
        /// The directory or file can't be opened, read or written, the store is closed, or too many writes wait.
        case unavailable
        /// Another gateway has the store open.
        case inUse
        /// The store was made by a newer version.
        case newerSchema
        /// No space, I/O error, corruption.
        case failed
        /// A registration has as many topics as it may have.
        case tooManyTopics
        /// The worker's lease was taken over: what it claimed belongs to others now.
        case fenced
        /// A page token or cursor is not one of ours.
        case badCursor
    }

    /// Describes an error.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// The message.
    public var description: String { message }
}
