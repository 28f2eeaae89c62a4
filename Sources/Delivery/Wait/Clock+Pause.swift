extension Clock<Duration> {
    /// Sleeps; returns early when the task is cancelled, which the caller looks for: what comes after a wait is the same
    /// whether the time is over or it is of no use any more.
    package func pause(_ duration: Duration) async {
        do {
            try await sleep(for: duration)
        } catch {
            // Cancelled.
        }
    }
}
