import Synchronization

/// A value that tasks share, behind a lock.
package final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    /// Begins with this value.
    package init(_ value: Value) {
        self.value = Mutex(value)
    }

    /// Reads or changes the value; nothing else does meanwhile.
    package func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try value.withLock { value in try body(&value) }
    }
}
