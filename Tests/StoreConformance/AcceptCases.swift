import PushModel
import Store
import Testing

/// A store to accept messages, with one active registration.
private struct AcceptSubject: Sendable {
    let store: any MessageStore & EventStore
    let project: ProjectID
    /// To which registration messages go.
    let registration: RegistrationKey

    init(_ scene: Scene) async throws {
        store = scene.store
        project = scene.project
        registration = try await scene.register(1).key
    }

    /// A message with an idempotency key.
    func message(
        _ key: String, _ digest: UInt8, at time: Int64 = 1000, batch: String? = nil
    ) throws -> NewMessage {
        var message = NewMessage(sampleFor: .registration(registration), in: project, at: time)
        message.idempotency = IdempotencyKey(key: key, digest: Array(repeating: digest, count: 32), batch: batch)
        return message
    }

    func accept(_ messages: [NewMessage]) async throws -> [String] {
        try await store.accept(messages, claimedBy: nil).map(\.kind)
    }

    func accept(_ message: NewMessage) async throws -> String {
        try await accept([message])[0]
    }
}

extension ConformanceCase {
    private static func accepting(
        _ name: String, _ body: @escaping @Sendable (AcceptSubject) async throws -> Void
    ) -> ConformanceCase {
        ConformanceCase(name) { scene in try await body(try await AcceptSubject(scene)) }
    }

    private static let day = IdempotencyKey.standardLifetime.wholeMilliseconds

    static let accepts: [ConformanceCase] = [
        accepting("an accepted message has one event, and a repeat or a conflict has none") { subject in
            var changes = subject.store.changes.makeAsyncIterator()
            let new = try subject.message("a", 1)
            #expect(try await subject.accept([new, subject.message("a", 1), subject.message("a", 2)]).count == 3)
            #expect(await changes.next()?.isEmpty == false)
            let page = try await subject.store.events(after: .zero, EventFilter(project: subject.project), limit: 10)
            #expect(page.isAtEnd && page.newest == page.last)
            #expect(page.events.map(\.number.rawValue) == [page.last.rawValue])
            guard case .message(let id, .accepted)? = page.events.first?.kind else {
                Issue.record("no event of the message")
                return
            }
            #expect(id == new.id)
            #expect(page.events.first?.time == new.acceptedAt)
        },
        accepting("what is known of keys is read in their order, and ends with their lifetime") { subject in
            let new = try subject.message("a", 1)
            #expect(try await subject.accept(new) == "accepted")
            let keys = [("b", 1), ("a", 1), ("a", 2)].map { name, digest in
                IdempotencyKey(key: name, digest: Array(repeating: digest, count: 32))
            }
            let store = subject.store
            func uses(at time: Int64, in project: ProjectID) async throws -> [IdempotencyUse] {
                try await store.uses(of: keys, in: project, at: Timestamp(milliseconds: time))
            }
            #expect(try await uses(at: 1000 + day, in: subject.project) == [.unused, .same(new.id), .other])
            #expect(try await uses(at: 1001 + day, in: subject.project) == [.unused, .unused, .unused])
            let other = try #require(ProjectID(rawValue: "other"))
            #expect(try await uses(at: 1000 + day, in: other) == [.unused, .unused, .unused])
        },
        accepting("the same key and body is the same message, another body a conflict, for a day") { subject in
            let first = try subject.message("a", 1)
            #expect(
                try await subject.accept([
                    first, subject.message("a", 1), subject.message("a", 2), subject.message("b", 1),
                ]) == ["accepted", "repeated \(first.id)", "conflict", "accepted"])
            var foreign = try subject.message("a", 1)
            foreign.project = try #require(ProjectID(rawValue: "other"))
            #expect(try await subject.accept(foreign) == "accepted")

            // Whether forgotten or not, a key counts for a day.
            #expect(try await subject.accept(subject.message("a", 2, at: 1000 + day)) == "conflict")
            #expect(try await subject.accept(subject.message("a", 2, at: 1001 + day)) == "accepted")
            let store = subject.store
            func forget(_ time: Int64, _ limit: Int = 10) async throws -> Int {
                try await store.forgetIdempotencyKeys(expiredBefore: Timestamp(milliseconds: time + day), limit: limit)
            }
            #expect(try await forget(1000) == 0)
            #expect(try await forget(1001, 1) == 1)
            #expect(try await forget(1001) == 1)
            #expect(try await subject.accept(subject.message("b", 2)) == "accepted")
        },
        accepting("the key of a batch is used up with its first item") { subject in
            let items = try (0..<2).map { try subject.message("k:\($0)", 1, batch: "k") }
            #expect(try await subject.accept(items) == ["accepted", "accepted"])
            let again = try (0..<3).map { try subject.message("k:\($0)", 1, batch: "k") }
            #expect(
                try await subject.accept(again)
                    == ["repeated \(items[0].id)", "repeated \(items[1].id)", "accepted"], "the rest of the batch")
            let other = try (0..<4).map { try subject.message("k:\($0)", 2, batch: "k") }
            #expect(try await subject.accept(other) == ["conflict", "conflict", "conflict", "conflict"])
            let batch = IdempotencyKey(key: "k", digest: Array(repeating: 1, count: 32))
            let uses = try await subject.store.uses(
                of: [batch], in: subject.project, at: Timestamp(milliseconds: 1000))
            #expect(uses == [.same(items[0].id)])
            let next = try subject.message("k:0", 2, at: 1001 + day, batch: "k")
            #expect(try await subject.accept(next) == "accepted", "a day later")
        },
        accepting("of requests with one key that race, one is accepted") { subject in
            let messages = try (0..<40).map { try subject.message("k\($0 % 4)", UInt8($0 % 8 / 4)) }
            let results = try await withThrowingTaskGroup(of: (Int, String).self) { group in
                for (number, message) in messages.enumerated() {
                    group.addTask { (number, try await subject.accept(message)) }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            for key in 0..<4 {
                let mine = (0..<40).filter { $0 % 4 == key }
                let winners = mine.filter { results[$0] == "accepted" }
                #expect(winners.count == 1)
                guard let winner = winners.first else { continue }
                for number in mine where number != winner {
                    let isSame = number % 8 / 4 == winner % 8 / 4
                    #expect(results[number] == (isSame ? "repeated \(messages[winner].id)" : "conflict"))
                }
            }
            #expect(subject.store.load.total.messages == 4)
        },
    ]
}

extension AcceptResult {
    /// The result in words.
    var kind: String {
        switch self {
        case .accepted: "accepted"
        case .repeated(let id): "repeated \(id)"
        case .conflict: "conflict"
        case .noRegistration: "no registration"
        }
    }
}
