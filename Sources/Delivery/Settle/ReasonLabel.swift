import PushModel

/// The value of the metric label `reason` for a reason as the ledger has it.
enum ReasonLabel {
    /// Our own reasons and transport causes are a small set and stand for themselves; of Apple's, those that the table
    /// does not know share one label.
    static func of(_ reason: String) -> String {
        reason
    }
}
