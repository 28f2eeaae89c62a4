package import Synchronization

/// A value that tasks share.
package final class Shared<Value: Sendable>: Sendable {
    /// The value behind its lock.
    package let value: Mutex<Value>

    /// Begins with this value.
    package init(_ value: Value) {
        self.value = Mutex(value)
    }
}
