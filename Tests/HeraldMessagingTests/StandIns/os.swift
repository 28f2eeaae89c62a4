// swift-format-ignore-file
// What HeraldMessaging uses of os, by Apple's documentation. It is type-checked and never run.

public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
    public init(uncheckedState initialState: State) {}
    public init(initialState: State) where State: Sendable {}

    public func withLock<R: Sendable>(_ body: @Sendable (inout State) throws -> R) rethrows -> R {
        fatalError("a stand-in")
    }
    public func withLockUnchecked<R>(_ body: (inout State) throws -> R) rethrows -> R { fatalError("a stand-in") }
}
