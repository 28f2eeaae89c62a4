/// The connections to one endpoint with one credential, and the queue in front of them.
///
/// Lifecycle: opened by ``HTTP2Engine/openPool(_:)``; its owner calls ``close(within:)``.
package final class ConnectionPool: Sendable {
    private let id: PoolID
    /// Of the loop that it lives on.
    let mailbox: Mailbox
    private let gate: PoolGate

    init(id: PoolID, mailbox: Mailbox, gate: PoolGate) {
        self.id = id
        self.mailbox = mailbox
        self.gate = gate
    }

    /// Hands over a batch; suspends while the queue is full. `completion` is called on the pool's loop thread (or on the
    /// caller's, when the pool is closed), in batches, each index of `requests` exactly once over all calls. It must not
    /// block.
    ///
    /// Urgent requests have a queue of their own, but those of one batch go in order: urgent ones that must not wait do
    /// not belong in a batch with others.
    ///
    /// Cancelling the task does not cut the wait for room short: room comes within the queue time limit at the latest.
    ///
    /// - Parameter isWanted: asked on the loop thread by ``reconsider()`` about what waits for a stream, and before a stream opens for
    ///   what has waited for ``PoolConfiguration/wantedTime``, by its place in the batch. It must not block. `nil`: everything
    ///   is wanted.
    package func submit(
        _ requests: [Request], isWanted: (@Sendable (_ index: Int) -> Bool)? = nil,
        completion: @escaping @Sendable ([RequestCompletion]) -> Void
    ) async {
        let requestBatch = RequestBatch(requests: requests, isWanted: isWanted, completion: completion)
        var next = 0
        while next < requests.count {
            let isUrgent = requests[next].isUrgent
            var end = next + 1
            while end < requests.count, requests[end].isUrgent == isUrgent { end += 1 }
            let granted = await gate.enter(end - next, isUrgent: isUrgent)
            let range = next..<next + granted
            guard granted > 0, mailbox.post(.submit(id, requestBatch, range)) else {
                let failure = TransportFailure(.shutdown, "the pool is closed")
                return requestBatch.fail(next..<requests.count, failure)
            }
            next = range.upperBound
        }
    }

    /// Stops taking requests, ends queued ones as `notSent(shutdown)`, lets streams in flight finish within `limit`,
    /// ends the rest as `unanswered(shutdown)`, closes the connections. Idempotent.
    package func close(within limit: Duration) async {
        gate.close()
        let latch = Latch()
        if mailbox.post(.closePool(id, within: limit, latch)) { await latch.wait() }
    }

    /// Closes each connection once its streams are done and opens new ones as needed: for a credential that the peer
    /// holds against the connection.
    package func recycleConnections() {
        // A loop that has ended has no connections.
        _ = mailbox.post(.recycle(id))
    }

    /// Sets header fields that every request carries beside its own, from now on: they are attached when its stream is
    /// opened. So a value that changes while requests wait goes out in order: on no connection is an earlier one sent
    /// after a later one. In order with ``recycleConnections()`` too: connections that were told to go before see
    /// nothing of the new fields.
    package func setFields(_ fields: [HeaderField]) {
        let head = RequestHead(method: "", fields: fields)
        // A loop that has ended opens no streams.
        _ = mailbox.post(.setFields(id, head))
    }

    /// Stops dialing, and gives up dials that are under way. From now on a request waits only while there is a connection
    /// that it can wait for; otherwise it ends as `notSent(shutdown)`, at once. ``close(within:)`` follows.
    package func windDown() {
        // In a loop that has ended nothing waits.
        _ = mailbox.post(.windDown(id))
    }

    /// Asks the submitters about everything that waits for a stream, and for a second about what comes to wait; what is
    /// not wanted any more ends as `notSent(withdrawn)`.
    package func reconsider() {
        // In a loop that has ended nothing waits.
        _ = mailbox.post(.reconsider(id))
    }

    /// Changes how many connections the pool may have, from now on; 0: one, as soon as there is a request. A surplus of
    /// connections, those with the fewest streams first, takes no more requests and closes once its streams are done.
    package func setConnectionLimit(_ limit: Int) {
        // A loop that has ended has no connections.
        _ = mailbox.post(.limitConnections(id, limit))
    }

    /// What the pool is doing right now.
    package var statistics: PoolStatistics {
        var statistics = gate.statistics
        statistics.wakeUps = mailbox.wakeUps
        return statistics
    }
}
