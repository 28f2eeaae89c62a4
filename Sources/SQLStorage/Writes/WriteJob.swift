import PushModel
import Store
import Synchronization

/// A write that waits for its transaction, or is in it.
protocol WriteJob: AnyObject, Sendable {
    /// What it looks up first, as far as its caller knows it.
    var lookUps: LookUps { get }

    /// Runs it in a transaction; it may run again in another one.
    ///
    /// - Parameter isAlone: in a savepoint. What failed without one leaves half of it in the transaction.
    /// - Returns: whether it did not fail.
    func run(_ transaction: WriteTransaction, isAlone: Bool) -> Bool

    /// Resumes the caller of a write that ran: with its own error, that of the commit, or its value.
    func finish(_ commitError: (any Error)?)

    /// Resumes the caller of a write that did not run.
    func fail(_ error: any Error)
}

/// A write that gives a value: the one object that is made for it.
final class ValueJob<Value: Sendable>: WriteJob {
    let lookUps: LookUps
    private let body: @Sendable (WriteTransaction) throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    /// What came of the last run.
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(
        lookingUp lookUps: LookUps, _ body: @escaping @Sendable (WriteTransaction) throws -> Value,
        _ continuation: CheckedContinuation<Value, any Error>
    ) {
        self.lookUps = lookUps
        self.body = body
        self.continuation = continuation
    }

    func run(_ transaction: WriteTransaction, isAlone: Bool) -> Bool {
        let new = Result { try isAlone ? inSavepoint(transaction) : body(transaction) }
        result.withLock { $0 = new }
        if case .success = new { return true }
        return false
    }

    func finish(_ commitError: (any Error)?) {
        switch (result.withLock { $0 }, commitError) {
        case (.failure(let error)?, _): continuation.resume(throwing: error)
        case (_, let error?): continuation.resume(throwing: error)
        case (.success(let value)?, nil): continuation.resume(returning: value)
        case (nil, nil): fail(StoreError(.failed, "A write did not run."))
        }
    }

    func fail(_ error: any Error) { continuation.resume(throwing: error) }

    private func inSavepoint(_ transaction: WriteTransaction) throws -> Value {
        var value: Value?
        // What it looked up goes with what it wrote.
        defer { if value == nil { transaction.takeBack() } }
        let new = try transaction.db.inSavepoint {
            try transaction.expect(lookUps)
            let value = try body(transaction)
            try transaction.insertMessages()
            return value
        }
        value = new
        return new
    }
}
