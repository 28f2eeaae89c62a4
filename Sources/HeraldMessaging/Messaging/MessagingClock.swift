package import Foundation

/// The device's clock, and a way to wait.
package struct MessagingClock: Sendable {
    /// The time now.
    package var now: @Sendable () -> Date
    /// Waits for a number of seconds.
    package var sleep: @Sendable (_ seconds: TimeInterval) async throws -> Void
    /// A number from 0 to 1, for waits after failures.
    package var jitter: @Sendable () -> Double

    /// Puts a clock together.
    package init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (_ seconds: TimeInterval) async throws -> Void,
        jitter: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.sleep = sleep
        self.jitter = jitter
    }

    /// The system's.
    package static let system = MessagingClock(
        now: { Date() }, sleep: { try await Task.sleep(for: .seconds($0)) }, jitter: { .random(in: 0...1) })
}
