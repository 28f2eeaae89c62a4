import Dispatch
import Logging
import PushModel
import Store
import StoreConformance
import TestSupport
import Testing

@testable import PostgresStorage
@testable import SQLStorage

/// Writes of one group ask the server together for what they look up, and share a transaction.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct GroupTests {
    private static let project = ProjectID(rawValue: "demo")!

    /// A store of a database of its own, with registrations.
    private static func with(
        registrations count: Int, _ body: (SQLStore, [Registration]) async throws -> Void
    ) async throws {
        let database = try await SampleDatabase.make()
        let store = try PostgresStore.open(url: database, role: .gateway, logger: Logger(label: "test"))
        var registrations: [Registration] = []
        for number in 0..<count {
            let token = try #require(DeviceToken(bytes: Array(repeating: UInt8(number), count: 32)))
            let request = RegistrationRequest(
                project: project, app: try #require(AppID(rawValue: "com.example.app")),
                address: .apple(token, .production), appVersion: nil)
            registrations.append(try await store.register(request, at: Timestamp(milliseconds: 1)).registration)
        }
        try await body(store, registrations)
        #expect(try await store.check() == [])
        try store.close()
        try await PostgreSQLServer.shared().dropDatabase(database)
    }

    /// A write, and whose places in the queue it takes.
    private struct Write<Value: Sendable>: Sendable {
        let kind: WriteKind
        let run: @Sendable () async throws -> Value

        init(_ kind: WriteKind, _ run: @escaping @Sendable () async throws -> Value) {
            self.kind = kind
            self.run = run
        }
    }

    /// Runs writes that share a group: the writer is occupied until all of them wait.
    private static func together<Value: Sendable>(
        _ store: SQLStore, _ writes: [Write<Value>]
    ) async throws -> [Result<Value, any Error>] {
        let gate = DispatchSemaphore(value: 0)
        let (running, isRunning) = AsyncStream.makeStream(of: Never.self)
        async let occupied: Void = store.write { _ in
            isRunning.finish()
            gate.wait()
        }
        for await _ in running {}
        let results = await withTaskGroup(of: (Int, Result<Value, any Error>).self) { group in
            let kinds = Array(Set(writes.map(\.kind)))
            for (place, write) in writes.enumerated() {
                group.addTask {
                    do { return (place, .success(try await write.run())) } catch { return (place, .failure(error)) }
                }
                // One after the other, so that they stand in this order.
                while store.committer.waiting(kinds) <= place { await Task.yield() }
            }
            gate.signal()
            var results = [(Int, Result<Value, any Error>)]()
            for await result in group { results.append(result) }
            return results.sorted { $0.0 < $1.0 }.map(\.1)
        }
        try await occupied
        return results
    }

    private static func message(
        to registration: Registration, _ number: UInt64, key: String? = nil
    ) -> NewMessage {
        var message = NewMessage(
            sampleFor: .registration(registration.key), in: project, at: 1000 + Int64(number), number: number)
        if let key { message.idempotency = IdempotencyKey(key: key, digest: Array(repeating: 1, count: 32)) }
        return message
    }

    /// A server that took over may lack the last commits and give their numbers again: what the database says on another
    /// connection counts, not what it said before.
    @Test func afterAReconnectNothingThatWasToldCounts() async throws {
        try await Self.with(registrations: 2) { store, registrations in
            let messages = registrations.enumerated().map { Self.message(to: $1, UInt64($0)) }
            _ = try await store.accept(messages, claimedBy: nil)
            #expect(store.load.total.messages == 2)
            let (server, database) = (try await PostgreSQLServer.shared(), try await Self.database(of: store))
            // As if the second commit had been lost.
            try await server.execute(
                """
                UPDATE project SET messages = 1, change = 0;
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid();
                """, in: database)
            #expect(store.load.total.messages == 2)
            _ = try await store.enroll("test", for: .seconds(3600))
            #expect(store.load.total.messages == 1)
            #expect(store.load.byProject[Self.project]?.messages == 1)
            try await server.execute("UPDATE project SET messages = 2", in: database)
        }
    }

    /// The server did commit, and its answer went with the connection, with all that is told after a commit.
    @Test func aCommitWhoseAnswersWereLostCounts() async throws {
        let (server, database) = (try await PostgreSQLServer.shared(), try await SampleDatabase.make())
        let loses = Shared(false)
        let proxy = try WireProxy(to: server) { _ in
            loses.withLock { loses in
                defer { loses = false }
                return loses ? .loseCommit(isForwarded: true) : .pass
            }
        }
        let url = server.url(database, at: proxy.host, port: proxy.port)
        let store = try PostgresStore.open(url: url, role: .gateway, logger: Logger(label: "test"))
        let request = RegistrationRequest(
            project: Self.project, app: try #require(AppID(rawValue: "com.example.app")),
            address: .apple(try #require(DeviceToken(bytes: Array(repeating: 7, count: 32))), .production),
            appVersion: nil)
        let connections = proxy.connections
        // The first connection to write begins and ends with this.
        loses.withLock { $0 = true }
        let registration = try await store.register(request, at: Timestamp(milliseconds: 1)).registration
        #expect(proxy.connections == connections + 2, "one whose answer was lost, and one that asked what became of it")
        _ = try await store.accept([Self.message(to: registration, 1)], claimedBy: nil)
        #expect(store.load.total.messages == 1)
        #expect(try await server.execute("SELECT count(*) FROM message", in: database) == ["1"])
        #expect(try await server.execute("SELECT count(*) FROM registration", in: database) == ["1"])
        #expect(try await store.check() == [])
        try store.close()
        proxy.close()
        try await server.dropDatabase(database)
    }

    /// What was posted by the last of a group fails with COMMIT, as nothing behind it is waited for: it is left out, and the
    /// others are written.
    @Test func whatFailsWithTheCommitFailsAlone() async throws {
        try await Self.with(registrations: 1) { store, registrations in
            let worker = try await store.enroll("test", for: .seconds(3600))
            // What is asked for the first time is waited for until it is prepared.
            _ = try await store.accept([Self.message(to: registrations[0], 1)], claimedBy: worker)
            let messages = [UInt64(2), 3].map { Self.message(to: registrations[0], $0) }
            let accepts = messages.map { message in
                Write(.accept) { _ = try await store.accept([message], claimedBy: worker) }
            }
            let failing = Write(.accept) {
                try await store.write(.accept) { db in
                    try db.post("INSERT INTO topic (project, name) VALUES (NULL, 'news')")
                }
            }
            let results = try await Self.together(store, accepts + [failing])
            for result in results.prefix(2) { #expect(throws: Never.self) { try result.get() } }
            #expect(throws: StoreError.self) { try results[2].get() }
            #expect(store.load.total.messages == 3)
            for message in messages {
                #expect(try await store.report(message.id, in: Self.project)?.recipients == 1)
            }
        }
    }

    private static func database(of store: SQLStore) async throws -> String {
        let name = try store.engine.readAtOnce { db in
            let statement = try db.statement("SELECT CAST(current_database() AS text)")
            defer { statement.reset() }
            return try statement.next() ? statement.text(0) : ""
        }
        return try await PostgreSQLServer.shared().url(of: name)
    }

    /// One of a group fails, so that each runs by itself; one of them is a repeat, which reads nothing of what was asked for.
    @Test func aSendBesideAFailureAndARepeatIsAccepted() async throws {
        try await Self.with(registrations: 3) { store, registrations in
            let worker = try await store.enroll("test", for: .seconds(3600))
            let first = Self.message(to: registrations[0], 1, key: "once")
            _ = try await store.accept([first], claimedBy: worker)
            let repeated = Self.message(to: registrations[0], 2, key: "once")
            let sends = [Self.message(to: registrations[1], 3), Self.message(to: registrations[2], 4)]
            let results = try await Self.together(
                store,
                [
                    Write(.accept) { _ = try await store.accept([repeated], claimedBy: worker) },
                    Write(.accept) { _ = try await store.accept([sends[0]], claimedBy: worker) },
                    Write(.accept) { _ = try await store.accept([repeated], claimedBy: worker) },
                    Write(.accept) { _ = try await store.accept([sends[1]], claimedBy: worker) },
                    Write(.accept) { try await store.write(.accept) { _ in throw StoreError(.failed, "planned") } },
                ])
            for result in results.prefix(4) { #expect(throws: Never.self) { try result.get() } }
            let error = #expect(throws: StoreError.self) { try results[4].get() }
            #expect(error?.message == "planned")
            for message in sends {
                #expect(try await store.report(message.id, in: Self.project)?.recipients == 1)
            }
        }
    }

    /// A registration ends by a settlement that shares the group of a send to it: the send sees the end.
    @Test func aSendSeesWhatASettlementOfItsGroupEnded() async throws {
        try await Self.with(registrations: 2) { store, registrations in
            let worker = try await store.enroll("test", for: .seconds(3600))
            let first = try await store.accept([Self.message(to: registrations[0], 1)], claimedBy: worker)
            guard case .accepted(_, let claims)? = first.first, let claim = claims.first else {
                Issue.record("it was not claimed")
                return
            }
            let end = Settlement(
                delivery: claim,
                result: .ended(
                    LedgerEntry(
                        outcome: .rejected, reason: "Unregistered",
                        verdict: .dead(since: Timestamp(milliseconds: 5000)), history: AttemptHistory(attempts: 1),
                        time: Timestamp(milliseconds: 5000), latencyMilliseconds: 4,
                        pushID: PushID(message: claim.message, registration: claim.registration.key))))
            let next = Self.message(to: registrations[0], 2)
            let other = Self.message(to: registrations[1], 3)
            let results = try await Self.together(
                store,
                [
                    Write(.settlement) {
                        _ = try await store.settle([end], by: worker)
                        return []
                    },
                    Write(.accept) { try await store.accept([next, other], claimedBy: worker) },
                ])
            #expect(throws: Never.self) { try results[0].get() }
            let states = try results[1].get().map { answer -> Bool? in
                guard case .accepted(_, let claims) = answer else { return false }
                return claims.first?.registration.isActive
            }
            #expect(states == [false, true])
        }
    }

    /// Both read the same recipients, as two nodes do: the page is one's, and the other says that it was overtaken.
    @Test func aPageIsClaimedOnceAndTheOtherSaysThatItWasOvertaken() async throws {
        try await Self.with(registrations: 3) { store, registrations in
            let topic = try #require(Topic(rawValue: "news"))
            let now = Timestamp(milliseconds: 2000)
            _ = try await store.subscribe(registrations.map(\.key), to: topic, at: Timestamp(milliseconds: 1))
            let message = NewMessage(sampleFor: .topic(topic), in: Self.project, at: 1000)
            _ = try await store.accept([message], claimedBy: nil)
            let shard = try #require(try await store.openFanOuts(limitPerProject: 1).first).id
            var workers: [WorkerID] = []
            for name in ["a", "b"] { workers.append(try await store.enroll(name, for: .seconds(3600))) }
            let claims = try await Self.together(
                store,
                workers.map { worker in
                    Write(.claim) { try await store.claimPage(of: shard, limit: 2, held: [], by: worker, at: now) }
                }
            ).map { try $0.get() }
            #expect(claims.map(\.isOvertaken) == [false, true])
            #expect(claims.map { $0.page?.deliveries.count } == [2, nil])
            let rest = try await store.claimPage(of: shard, limit: 2, held: [], by: workers[1], at: now)
            #expect(rest.page?.deliveries.count == 1 && rest.isDone && !rest.isOvertaken)
            let claimed = (claims[0].page?.deliveries ?? []) + (rest.page?.deliveries ?? [])
            #expect(Set(claimed.map(\.registration.key)) == Set(registrations.map(\.key)))
        }
    }
}
