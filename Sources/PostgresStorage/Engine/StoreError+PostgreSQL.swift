import PostgreSQLClient
import Store

extension StoreError {
    /// What a database error means to the store's callers: the one place where PostgreSQL's codes are read.
    init(database error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as PostgreSQLError: self.init(postgreSQL: error)
        case is CancellationError:
            self.init(.failed, "The task that asked the store was cancelled.", underlying: error)
        default: self.init(.failed, "The store failed.", underlying: error)
        }
    }

    private init(postgreSQL error: PostgreSQLError) {
        switch error.kind {
        case .refused: self.init(refusal: error)
        case .busy: self.init(.busy, error.message, isOfWholeStore: true, underlying: error)
        case .closed: self.init(.unavailable, "The store is closed.", isOfWholeStore: true, underlying: error)
        case .disconnected, .timedOut:
            self.init(
                .unavailable, "The database of the store can't be reached: \(error).", isOfWholeStore: true,
                mayPass: error.mayPass, underlying: error)
        case .outcomeUnknown:
            self.init(
                .unavailable, error.description, isOfWholeStore: true, mayPass: true, isOutcomeUnknown: true,
                underlying: error)
        case .configuration: self.init(.unavailable, error.message, isOfWholeStore: true, underlying: error)
        case .misuse, .protocolViolation:
            self.init(.failed, "The store failed: \(error)", underlying: error)
        }
    }

    /// A statement that the server refused.
    private init(refusal error: PostgreSQLError) {
        switch error.state {
        case .diskFull?:
            self.init(
                .failed, "The disk of the database is full.", isOfWholeStore: true, mayPass: true, underlying: error)
        case .outOfMemory?, .tooManyConnections?:
            self.init(
                .unavailable, "The database of the store has no room: \(error).", isOfWholeStore: true, mayPass: true,
                underlying: error)
        case .readOnlyTransaction?:
            self.init(
                .unavailable, "The database of the store takes no writes: \(error).", isOfWholeStore: true,
                mayPass: true, underlying: error)
        case let state?
        where error.isPassing || state == .queryCancelled || state.code.hasPrefix("57P") || state.code.hasPrefix("08"):
            self.init(
                .unavailable, "The database of the store was in use for too long: \(error).", isOfWholeStore: true,
                mayPass: true, underlying: error)
        default: self.init(.failed, "The store failed with \(error).", underlying: error)
        }
    }
}

extension PostgreSQLError {
    /// Whether the database may be reached later without another configuration: not when the server refuses the user, the
    /// password or the name of the database.
    fileprivate var mayPass: Bool {
        guard let state else { return true }
        return !(state.code.hasPrefix("28") || state == .undefinedDatabase || state.code.hasPrefix("42"))
    }
}
