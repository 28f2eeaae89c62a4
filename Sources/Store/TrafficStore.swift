package import PushModel

/// How deliveries ended, step by step, for charts. Beside the ledger: processes count for themselves and add what they
/// counted now and then, so a process that is killed takes its last counts with it.
package protocol TrafficStore: Sendable {
    /// Adds counts to those of the same project and step, all or nothing.
    func add(_ traffic: [TrafficCount]) async throws(StoreError)

    /// What all processes counted of a project, for steps of a span in their order; steps without a count are left out.
    func traffic(
        of project: ProjectID, _ span: TrafficSpan, steps: ClosedRange<Int64>
    ) async throws(StoreError) -> [TrafficCount]

    /// Forgets steps that no span shows at `now`: at most `limit`; says how many.
    func forgetTraffic(at now: Timestamp, limit: Int) async throws(StoreError) -> Int
}
