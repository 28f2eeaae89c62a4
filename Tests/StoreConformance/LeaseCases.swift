import PushModel
import Store
import Testing

/// A store of messages and their deliveries, with one active registration.
struct LeaseSubject: Sendable {
    let store: any MessageStore & DeliveryStore
    /// By which it counts leases.
    let leaseTime: LeaseTime
    /// To which registration messages go.
    let registration: Registration

    private var route: PushRoute {
        PushRoute(
            project: registration.project, app: registration.app, channel: registration.channel)
    }

    fileprivate func accept() async throws -> MessageID {
        var message = NewMessage(
            sampleFor: .registration(registration.key), in: registration.project, at: 1000)
        message.lane = .interactive
        _ = try await store.accept([message], claimedBy: nil)
        return message.id
    }

    fileprivate func enroll(until time: Int64 = 1 << 50) async throws -> WorkerID {
        try await store.enroll("worker", for: leaseTime.remaining(to: time))
    }

    fileprivate func takeOver(at time: Int64) async throws -> Int {
        leaseTime.turn(to: Timestamp(milliseconds: time))
        return try await store.takeOver(at: Timestamp(milliseconds: time))
    }

    fileprivate func claim(by worker: WorkerID, at time: Int64 = 2000) async throws -> [ClaimedDelivery] {
        try await store.claimDue(
            .interactive, route, limit: 9, by: worker, at: Timestamp(milliseconds: time))
    }

    fileprivate func cancel(_ message: MessageID) async throws -> MessageState? {
        try await store.control(
            message, in: registration.project, .cancel, at: Timestamp(milliseconds: 2000), by: .gateway)
    }

    fileprivate func ends(_ outcome: LedgerOutcome, _ reason: String) -> [StoreEnds] {
        [StoreEnds(project: registration.project, outcome: outcome, reason: reason, count: 1)]
    }
}

extension ConformanceCase {
    private static func leasing(
        _ name: String, _ body: @escaping @Sendable (LeaseSubject) async throws -> Void
    ) -> ConformanceCase {
        ConformanceCase(name) { scene in
            let subject = try await scene.leaseSubject()
            // Nothing is left of a process before this one.
            _ = try await subject.takeOver(at: 0)
            try await body(subject)
        }
    }

    /// Who may settle what, and what the store ends by itself.
    static let leases: [ConformanceCase] = [
        leasing("what a worker claimed it settles, once, and no other worker does") { subject in
            let (one, other) = (try await subject.enroll(), try await subject.enroll())
            let message = try await subject.accept()
            let claimed = try await subject.claim(by: one)
            #expect(claimed.map(\.message) == [message])
            #expect(try await subject.claim(by: other).isEmpty)
            let result = try await subject.store.settle(claimed.map { $0.ended() }, by: one)
            #expect(result == SettleResult(complete: [message]))
            #expect(try await subject.claim(by: one).isEmpty)
            #expect(await subject.store.takeOwnEnds() == [])
        },
        leasing("whose lease ran out is fenced, and what it had is an interrupted attempt that is due at once") {
            subject in
            let late = try await subject.enroll(until: 3000)
            _ = try await subject.accept()
            let claimed = try await subject.claim(by: late)
            #expect(try await subject.takeOver(at: 2999) == 0)
            #expect(try await subject.takeOver(at: 3001) == 1)
            try await expectStoreError(.fenced) { _ = try await subject.claim(by: late) }
            try await expectStoreError(.fenced) {
                _ = try await subject.store.settle(claimed.map { $0.ended() }, by: late)
            }
            let next = try await subject.enroll()
            let again = try await subject.claim(by: next, at: 3001)
            let history = try #require(again.first?.history)
            #expect(history.attempts == 1 && history.unknownAttempts == 1 && history.interruptions == 1)
            #expect(history.lastCause == TransportCause.interrupted.rawValue)
        },
        leasing("a renewed lease goes on") { subject in
            let worker = try await subject.enroll(until: 3000)
            _ = try await subject.accept()
            let claimed = try await subject.claim(by: worker)
            try await subject.store.renew(worker, for: .milliseconds(5000))
            #expect(try await subject.takeOver(at: 4000) == 0)
            #expect(try await subject.store.settle(claimed.map { $0.ended() }, by: worker).complete.count == 1)
        },
        leasing("what is cancelled while it waits is booked, and told once") { subject in
            let message = try await subject.accept()
            #expect(try await subject.cancel(message) == .cancelled)
            #expect(try await subject.store.bookCancelled(limit: 9, at: Timestamp(milliseconds: 2000)) == 1)
            #expect(await subject.store.takeOwnEnds() == subject.ends(.cancelled, "Cancelled"))
            #expect(await subject.store.takeOwnEnds() == [])
        },
        leasing("a retry of a cancelled message ends with its settlement, and is told") { subject in
            let worker = try await subject.enroll()
            let message = try await subject.accept()
            let claimed = try await subject.claim(by: worker)
            #expect(try await subject.cancel(message) == .cancelled)
            let result = try await subject.store.settle(claimed.map { $0.retried(at: 9000) }, by: worker)
            #expect(result.complete == [message])
            #expect(await subject.store.takeOwnEnds() == subject.ends(.cancelled, "Cancelled"))
        },
        leasing("what no worker claims before its time runs out is booked as expired, and told") { subject in
            _ = try await subject.accept()
            let late = Timestamp(milliseconds: 1 << 45)
            #expect(try await subject.store.bookExpired(limit: 9, at: late) == 1)
            #expect(await subject.store.takeOwnEnds() == subject.ends(.expired, "Expired"))
        },
    ]
}
