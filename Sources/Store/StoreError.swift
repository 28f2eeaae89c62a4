package import PushModel

/// Why the store could not do what it was asked.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    package let code: Code
    /// A sentence for the operator: no tokens, no payloads.
    package let message: String
    /// Whether any call of its kind would fail for the same reason: the disk is full, failing or read-only, another
    /// process holds the store, the store is closed, or too much waits for it. It says nothing about what was to be
    /// written, so that may be written again as it is.
    package let isOfWholeStore: Bool
    /// Whether the same store may be opened later without another configuration: the disk is full, read-only, failing or
    /// damaged. Everything else (a wrong path, missing rights, a newer schema) lasts until an operator changes it.
    package let mayPass: Bool
    /// Whether what was asked for may have been done all the same: the answer to its commit was lost. Who claimed
    /// deliveries may own some that it knows nothing of.
    package let isOutcomeUnknown: Bool
    /// The database library's error.
    package let underlying: (any Error)?

    /// Whether another process owns what was asked for: it took over the worker's lease, or has the store open.
    package var isConflict: Bool { code == .fenced || code == .inUse }
    /// Whether too much waits for the store: nothing was done, and a moment later there may be room.
    package var isFull: Bool { code == .busy }

    /// The kinds of errors.
    package enum Code: Hashable, Sendable {
        /// The directory or file can't be opened, read or written, or the store is closed.
        case unavailable
        /// Too many writes of a kind, or look-ups, wait already: nothing was done, and a moment later there may be room.
        case busy
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
        /// Retention took some of what is asked for; from `oldest` on there is everything.
        case removed(oldest: Timestamp)
    }

    /// Describes an error.
    package init(
        _ code: Code, _ message: String, isOfWholeStore: Bool = false, mayPass: Bool = false,
        isOutcomeUnknown: Bool = false, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.isOfWholeStore = isOfWholeStore
        self.mayPass = mayPass
        self.isOutcomeUnknown = isOutcomeUnknown
        self.underlying = underlying
    }

    /// The message.
    package var description: String { message }
}

extension StoreError {
    /// A stored value that no version of the store writes: the file was changed by something else, or is damaged.
    package static func invalid(_ what: String) -> StoreError {
        StoreError(
            .failed, "The store holds \(what) that is not valid; run the integrity check of the database on it.")
    }
}
