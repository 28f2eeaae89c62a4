/// Batches of single messages from many callers at once, one after the other each, until it is enough.
actor BackgroundBatches {
    private let client: GatewayClient
    private let body: String
    private let callers: Int
    private var messages = 0
    private var work: Task<Void, any Error>?

    /// Makes the batch that all callers send: `size` messages to registrations in turn.
    init(client: GatewayClient, tokens: [String], size: Int, callers: Int) {
        self.client = client
        self.callers = callers
        let items = (0..<size).map { number in
            #"{"message":{"token":"\#(tokens[number % tokens.count])","notification":{"title":"Hello","body":"All"}}}"#
        }
        body = #"{"messages":[\#(items.joined(separator: ","))]}"#
    }

    /// Lets all callers send, and waits until one of them has its first answer.
    func begin() async throws {
        messages += try await client.sendBatch(body)
        // Ended by ``end()``.
        work = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<callers { group.addTask { try await self.continueUntilCancelled() } }
                try await group.waitForAll()
            }
        }
    }

    private func continueUntilCancelled() async throws {
        while !Task.isCancelled { messages += try await client.sendBatch(body) }
    }

    /// Sends no more.
    ///
    /// - Returns: how many messages were taken.
    func end() async throws -> Int {
        work?.cancel()
        do {
            try await work?.value
        } catch {
            // The requests that were under way.
            if work?.isCancelled != true { throw error }
        }
        return messages
    }
}
