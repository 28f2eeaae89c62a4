import PushModel
import Store
import Testing

extension Scene {
    private static let day: Int64 = 86_400_000

    /// Removes parts until nothing else is out of date at `day` days; how many of each.
    @discardableResult
    fileprivate func remove(
        _ parts: [RetentionPart], at day: Int64, by policy: RetentionPolicy = RetentionPolicy(), limit: Int = 1000
    ) async throws -> [Int] {
        var counts: [Int] = []
        for part in parts {
            var (count, isDone, steps) = (0, false, 0)
            while !isDone, steps < limit {
                let progress = try await store.remove(
                    part, by: RetentionRules(standard: policy), at: Timestamp(milliseconds: day * Self.day + 5000))
                (count, isDone, steps) = (count + progress.count, progress.isDone, steps + 1)
            }
            #expect(isDone, "\(part) comes to no end")
            counts.append(count)
        }
        return counts
    }

    /// What messages still say: `nil` for one that is gone.
    fileprivate func hasPayload(_ message: Message) async throws -> Bool? {
        try await store.message(message.id, in: project).map { !$0.body.isRemoved }
    }

    /// Sends to a registration and has it accepted.
    fileprivate mutating func delivered(
        to registration: Registration, at time: Int64, endedAt end: Int64? = nil
    ) async throws -> Message {
        let message = try await send(to: registration, at: time)
        try await settle(try await claimDue(.interactive, at: time).map { $0.ended(at: end ?? time + 2000) })
        return message
    }

    private func allRows() async throws -> [ExportRow] {
        try await store.export(
            project: project, from: nil, to: Timestamp(milliseconds: 400 * Self.day),
            at: Timestamp(milliseconds: 400 * Self.day), after: nil, limit: 1000
        ).elements
    }

    /// The messages of the ledger, each with how many rows it has.
    fileprivate func exported() async throws -> [MessageID: Int] {
        Dictionary(grouping: try await allRows(), by: \.message).mapValues(\.count)
    }

    /// Forgets all events, so that what is left of messages is not held against them.
    fileprivate func forgetEvents() async throws {
        while try await store.forgetEvents(before: Timestamp(milliseconds: 1000 * Self.day), limit: 1000) == 1000 {}
    }
}

extension ConformanceCase {
    private static let day: Int64 = 86_400_000

    static let retention: [ConformanceCase] = [
        ConformanceCase("payloads go after the end of their messages; reports and ledger stay") { scene in
            let registration = try await scene.register(1)
            let ended = try await scene.delivered(to: registration, at: 1000)
            let open = try await scene.send(to: registration, at: 2000)
            let before = try await scene.report(ended)
            let policy = RetentionPolicy(payloadDays: 2)
            #expect(try await scene.remove([.payloads], at: 1, by: policy) == [0])
            #expect(try await scene.remove([.payloads], at: 2, by: policy) == [1])
            #expect(try await scene.hasPayload(ended) == false)
            #expect(try await scene.hasPayload(open) == true, "it has not ended")
            let after = try await scene.report(ended)
            #expect(after.ended == before.ended && after.latency == before.latency && after.state == .complete)
            #expect(after.message.facts.label == before.message.facts.label)
            #expect(try await scene.exported()[ended.id] == 1)
            // Its time begins with its end, however late that is.
            try await scene.settle(
                try await scene.claimDue(.interactive, at: 3000).map { $0.ended(at: 3 * day) })
            let next = try await scene.delivered(to: registration, at: 3 * day)
            #expect(try await scene.remove([.payloads], at: 4, by: policy) == [0])
            #expect(try await scene.hasPayload(open) == true)
            #expect(try await scene.remove([.payloads], at: 6, by: policy) == [2])
            #expect(try await scene.hasPayload(open) == false)
            #expect(try await scene.hasPayload(next) == false)
            #expect(try await scene.remove([.payloads], at: 60, by: policy) == [0])
        },
        ConformanceCase("ended messages go with their ledger, and the rest still balances") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(9, of: topic)
            let old = try await scene.broadcast(topic)
            let page = try #require(try await scene.claimPage())
            for delivery in page.deliveries { try await scene.settle([delivery.ended()]) }
            let single = try await scene.delivered(to: audience[0], at: 2 * day)
            let paused = try await scene.send(to: audience[1], at: 2 * day + 1)
            let policy = RetentionPolicy(ledgerDays: 10)
            #expect(try await scene.remove([.messages, .days], at: 9, by: policy) == [0, 0])
            #expect(try await scene.remove([.messages, .days], at: 11, by: policy) == [1, 1])
            #expect(try await scene.store.report(old.id, in: scene.project) == nil)
            #expect(try await scene.store.message(old.id, in: scene.project) == nil)
            #expect(try await scene.exported() == [single.id: 1])
            #expect(try await scene.report(single).ended[.accepted] == 1)
            #expect(try await scene.remove([.messages], at: 300, by: policy) == [1], "what is open stays")
            #expect(try await scene.report(paused).inFlight == 1)
            scene.forget(old)
            scene.forget(single)
            try await scene.forgetEvents()
        },
        ConformanceCase("events of messages that are gone are passed over") { scene in
            let registration = try await scene.register(1)
            let old = try await scene.delivered(to: registration, at: 1000)
            try await scene.store.end(
                registration.key, RegistrationEnd(time: Timestamp(milliseconds: 5000), cause: .deleted))
            #expect(try await scene.store.purge(endedBefore: Timestamp(milliseconds: 9000), limit: 9) == 1)
            let other = try await scene.register(2)
            let next = try await scene.delivered(to: other, at: 100 * day)
            try await scene.remove([.messages, .formerRegistrations], at: 101)
            let page = try await scene.store.events(after: .zero, EventFilter(), limit: 100)
            #expect(page.isAtEnd)
            let messages = page.events.compactMap { event -> MessageID? in
                switch event.kind {
                case .message(let id, _): id
                case .delivery(let delivery): delivery.message
                case .receipt, .registrationEnded, .route, .webhook, .click, .referral, .forgotten: nil
                }
            }
            #expect(Set(messages) == [next.id])
            scene.forget(old)
            try await scene.forgetEvents()
        },
        ConformanceCase("receipts go by themselves, the sums of reports stay") { scene in
            let registration = try await scene.register(1)
            var messages: [Message] = []
            for time in [1000, 4 * day] {
                let message = try await scene.delivered(to: registration, at: time)
                let now = Timestamp(milliseconds: time + 3000)
                _ = try await scene.store.keep(
                    [Receipt(message: message.id, kind: .received, time: now)], of: registration.key,
                    in: scene.project, at: now)
                messages.append(message)
            }
            let (message, late) = (messages[0], messages[1])
            let policy = RetentionPolicy(receiptsDays: 3)
            #expect(try await scene.remove([.receipts], at: 5, by: policy) == [1])
            #expect(try await scene.exported() == [message.id: 1, late.id: 2])
            for message in [message, late] {
                #expect(try await scene.report(message).receipts == [.received: 1])
            }
            #expect(try await scene.remove([.receipts], at: 60, by: policy) == [1])
        },
        ConformanceCase("a purged registration is known as long as a message may name it") { scene in
            let registration = try await scene.register(1)
            let message = try await scene.delivered(to: registration, at: 1000)
            try await scene.store.end(
                registration.key, RegistrationEnd(time: Timestamp(milliseconds: 5000), cause: .deleted))
            #expect(try await scene.store.purge(endedBefore: Timestamp(milliseconds: 9000), limit: 9) == 1)
            let other = try await scene.register(2)
            let next = try await scene.delivered(to: other, at: 50 * day)
            #expect(try await scene.remove([.messages, .formerRegistrations], at: 60) == [0, 0])
            #expect(try await scene.exported() == [message.id: 1, next.id: 1])
            #expect(try await scene.remove([.messages, .formerRegistrations], at: 91) == [1, 1])
            #expect(try await scene.exported() == [next.id: 1])
            scene.forget(message)
            try await scene.forgetEvents()
        },
        ConformanceCase("an export of a window that was removed in part is refused") { scene in
            let registration = try await scene.register(1)
            var messages: [Message] = []
            for number in 0..<6 {
                messages.append(try await scene.delivered(to: registration, at: Int64(number) * day + 1000))
            }
            func export(from start: Int64?, after cursor: String? = nil, limit: Int = 9) async throws
                -> ResultPage<ExportRow>
            {
                try await scene.store.export(
                    project: scene.project, from: start.map { Timestamp(milliseconds: $0) },
                    to: Timestamp(milliseconds: 6 * day), at: Timestamp(milliseconds: 6 * day), after: cursor,
                    limit: limit)
            }
            let first = try await export(from: 0, limit: 2)
            let later = try await export(from: 0, after: first.nextCursor, limit: 2)
            #expect(first.elements.map(\.message) + later.elements.map(\.message) == messages.prefix(4).map(\.id))
            try await scene.remove([.messages], at: 12, by: RetentionPolicy(ledgerDays: 10))
            // The first three are gone, and the oldest moment is the one behind them.
            let oldest = 2 * day + 3001
            try await expectStoreError(.removed(oldest: Timestamp(milliseconds: oldest))) {
                _ = try await export(from: 0)
            }
            try await expectStoreError(.removed(oldest: Timestamp(milliseconds: oldest))) {
                _ = try await export(from: oldest - 1)
            }
            try await expectStoreError(.removed(oldest: Timestamp(milliseconds: oldest))) {
                _ = try await export(from: 0, after: first.nextCursor)
            }
            try await expectStoreError(.removed(oldest: Timestamp(milliseconds: oldest))) {
                _ = try await scene.store.export(
                    project: scene.project, from: nil, to: Timestamp(milliseconds: day),
                    at: Timestamp(milliseconds: 6 * day), after: nil, limit: 9)
            }
            #expect(
                try await export(from: 0, after: later.nextCursor).elements.map(\.message) == [
                    messages[4].id, messages[5].id,
                ])
            #expect(try await export(from: oldest).elements.map(\.message) == messages.suffix(3).map(\.id))
            #expect(try await export(from: nil).elements.map(\.message) == messages.suffix(3).map(\.id))
            for message in messages.prefix(3) { scene.forget(message) }
            try await scene.forgetEvents()
        },
        ConformanceCase("an export leaves nothing out after a page of which a row was removed") { scene in
            let registration = try await scene.register(1)
            let time = Timestamp(milliseconds: 5 * day)
            func export(after cursor: String?, limit: Int) async throws -> ResultPage<ExportRow> {
                try await scene.store.export(
                    project: scene.project, from: nil, to: time + .seconds(9), at: time + .seconds(9), after: cursor,
                    limit: limit)
            }
            // All that comes after it is recorded in the moment behind it.
            _ = try await scene.store.export(
                project: scene.project, from: nil, to: time, at: time, after: nil, limit: 1)
            var messages: [Message] = []
            for sent in [1000, 4 * day, 4 * day + 1] {
                messages.append(try await scene.delivered(to: registration, at: sent))
            }
            let page = try await export(after: nil, limit: 2)
            #expect(page.elements.map(\.message) == messages.prefix(2).map(\.id))
            #expect(try await scene.remove([.messages], at: 12, by: RetentionPolicy(ledgerDays: 10)) == [1])
            let rest = try await export(after: page.nextCursor, limit: 2)
            #expect(rest.elements.map(\.message) == [messages[2].id])
            scene.forget(messages[0])
            try await scene.forgetEvents()
        },
        ConformanceCase("each project has its own times") { scene in
            let registration = try await scene.register(1)
            let message = try await scene.delivered(to: registration, at: 1000)
            let rules = RetentionRules(
                standard: RetentionPolicy(ledgerDays: 1), byProject: [scene.project: RetentionPolicy(ledgerDays: 5)])
            for (days, isThere) in [(4, true), (6, false)] as [(Int64, Bool)] {
                var progress = RetentionProgress(count: 0, isDone: false)
                while !progress.isDone {
                    progress = try await scene.store.remove(
                        .messages, by: rules, at: Timestamp(milliseconds: days * day))
                }
                #expect(try await (scene.store.report(message.id, in: scene.project) != nil) == isThere)
            }
            scene.forget(message)
            try await scene.forgetEvents()
        },
    ]
}
