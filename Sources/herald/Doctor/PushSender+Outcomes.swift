import PushModel

extension PushSender {
    /// The outcomes of pushes, `nil` where none came in time; the caller's shutdown ends what is still under way.
    func outcomes(of pushes: [Push], within limit: Duration) async -> [Outcome?] {
        let (reports, sink) = AsyncStream.makeStream(of: [PushReport].self)
        guard !pushes.isEmpty else { return [] }
        return await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.send(pushes) { sink.yield($0) } }
            tasks.addTask {
                do {
                    // The limit of a command that a person waits for, on the real clock: answers end the wait.
                    try await Task.sleep(for: limit)
                } catch {
                    // All answers are there.
                }
                sink.finish()
            }
            var outcomes = [Outcome?](repeating: nil, count: pushes.count)
            for await batch in reports {
                for report in batch { outcomes[report.index] = report.outcome }
                if !outcomes.contains(nil) { break }
            }
            tasks.cancelAll()
            return outcomes
        }
    }
}
