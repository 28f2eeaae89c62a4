extension Clock<Duration> {
    /// Sleeps; returns early when the task is cancelled, which the caller looks for.
    func pause(_ duration: Duration) async {
        do {
            try await sleep(for: duration)
        } catch {
            // Cancelled.
        }
    }
}
