/// Who opens a store.
package enum StoreRole: Sendable {
    /// A gateway. A store that only one process can have open refuses a second one.
    case gateway
    /// A command, beside a running gateway or alone.
    case command
}
