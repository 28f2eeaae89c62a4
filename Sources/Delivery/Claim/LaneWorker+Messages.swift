import Logging
import PushModel
import Store
import Synchronization

// The messages of claimed deliveries.
extension LaneWorker {
    /// Reads the messages of single deliveries that are not at hand, in one read; each is wanted once, and not kept. What can't
    /// be read so is read by itself, and told of then.
    func loadSingles(of claims: [ClaimedDelivery]) async -> [MessageID: MessageCache.Entry] {
        var missing: [MessageID] = []
        for claim in claims where claim.page == nil && claim.message != missing.last {
            if !cache.contains(claim.message) { missing.append(claim.message) }
        }
        // What fails is read again by itself, and its error told.
        guard missing.count > 1, let project = claims.first?.project,
            let messages = try? await store.messages(missing, in: project)
        else { return [:] }
        var entries: [MessageID: MessageCache.Entry] = [:]
        for message in messages {
            // As above: one that can't be read is told when it is read by itself.
            guard let content = try? content(of: message) else { continue }
            entries[message.id] = MessageCache.Entry(once: message, content)
        }
        return entries
    }

    /// Reads a message, and says so in the log when it can't be read or is not there.
    func loadOrTell(
        _ id: MessageID, in project: ProjectID, for worker: WorkerID
    ) async -> (entry: MessageCache.Entry?, isReadable: Bool) {
        do throws(StoreError) {
            let entry = try await load(id, in: project, for: worker)
            if entry == nil { logger.error("a delivery has no message", metadata: ["message.id": "\(id)"]) }
            return (entry, true)
        } catch {
            logger.error("a message can't be read", metadata: ["message.id": "\(id)", "error": "\(error)"])
            return (nil, false)
        }
    }

    /// Reads a message. A store that answers nothing just now is asked again, as long as the lane works and the claim is
    /// its own: that says nothing about the message.
    private func load(
        _ id: MessageID, in project: ProjectID, for worker: WorkerID
    ) async throws(StoreError) -> MessageCache.Entry? {
        if let entry = cache.entry(id) { return entry }
        while true {
            do throws(StoreError) {
                let message = try await store.message(id, in: project)
                failures.store(0, ordering: .relaxed)
                return try message.map(keep)
            } catch {
                let isWaiting = error.isOfWholeStore && lease.maySettle(worker) && !gate.read { $0.isStopped }
                guard isWaiting, !Task.isCancelled else { throw error }
                let delay = StoreBackoff.delay(
                    failures: failures.add(1, ordering: .relaxed).newValue, random: random())
                logger.warning(
                    "the store can't read a message now",
                    metadata: ["message.id": "\(id)", "error": "\(error)", "retry": "\(delay)"])
                do {
                    try await clock.sleep(for: delay)
                } catch {
                    // Cancelled: the next failure ends it.
                }
            }
        }
    }

    /// Reads what a message says, and keeps both.
    private func keep(_ message: Message) throws(StoreError) -> MessageCache.Entry {
        cache.insert(message, try content(of: message))
    }

    private func content(of message: Message) throws(StoreError) -> any MessageContent {
        switch message.body {
        case .decoded(let decoded): return decoded
        case .stored(let bytes):
            do throws(UnreadableContent) {
                return try composer.content(stored: bytes)
            } catch {
                throw StoreError(.failed, "The store's content of a message is damaged.")
            }
        }
    }
}
