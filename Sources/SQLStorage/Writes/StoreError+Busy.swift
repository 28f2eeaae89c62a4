import Store

extension StoreError {
    /// A queue of the store is full.
    static func busy(_ message: String) -> StoreError {
        StoreError(.busy, message, isOfWholeStore: true)
    }
}
