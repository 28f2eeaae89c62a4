import PushModel
import Store
import Testing

extension ConformanceCase {
    /// A small gateway's day, run again and again with a fault at each of its calls in turn: the result is the same.
    static let faults: [ConformanceCase] = FaultyStore.Fault.allCases.filter { $0 != .slow }.map { fault in
        ConformanceCase("each call may end with \(fault): nothing is lost and nothing is recorded twice") { scene in
            let topic = Scene.topic("news")
            let audience = try await scene.audience(5, of: topic)
            var fired = 0
            for number in 0..<200 {
                let faulty = FaultyStore(scene.store, faults: [number: fault])
                let key = IdempotencyKey(key: "day \(number)", digest: Array(repeating: 1, count: 32))
                var new = try scene.newMessage(.topic(topic), at: 1000)
                new.idempotency = key
                try await Self.work(faulty, new, &scene)
                try await scene.check()
                guard faulty.calls.count > number else { break }
                fired += 1
                let id = try await Self.accepted(new, scene.store)
                let report = try #require(try await scene.store.report(id, in: scene.project))
                #expect(report.state == .complete, "fault at call \(number)")
                #expect(report.recipients == audience.count && report.ended[.accepted] == audience.count)
            }
            #expect(fired > 8)
        }
    }

    /// Sends and delivers one message; what fails is tried again, and after a crash a new process goes on.
    private static func work(_ faulty: FaultyStore, _ new: NewMessage, _ scene: inout Scene) async throws {
        var store: any MessageStore & DeliveryStore = faulty
        var worker: WorkerID?
        var isAccepted = false
        for _ in 0..<100 {
            do {
                let time = Timestamp(milliseconds: 2000)
                if worker == nil {
                    worker = try await store.enroll("day", for: scene.lease)
                    _ = try await store.takeOver(at: scene.timeOfRescue(2000))
                }
                guard let worker else { return }
                if !isAccepted {
                    _ = try await store.accept([new], claimedBy: worker)
                    isAccepted = true
                }
                let open = try await store.openFanOuts(limitPerProject: 9)
                for shard in open {
                    let claim = try await store.claimPage(of: shard.id, limit: 2, held: [], by: worker, at: time)
                    guard let page = claim.page else { continue }
                    var results = page.deliveries.map { $0.ended() }
                    results[0] = page.deliveries[0].retried(at: 1)
                    try await settle(results, store, worker)
                }
                let routes = try await store.dueRoutes(.bulk, at: time).routes
                for route in routes {
                    let due = try await store.claimDue(.bulk, route, limit: 9, by: worker, at: time)
                    try await settle(due.map { $0.ended() }, store, worker)
                }
                if open.isEmpty, routes.isEmpty { return }
            } catch let error as StoreError where error.code == .failed {
                // The caller tries again; claims of a call that failed wait for the end of the process.
                if faulty.isCrashed { throw error }
                // They may be there: as after the end of the process, another worker gets them.
                if error.isOutcomeUnknown {
                    worker = nil
                    scene.giveUp()
                }
            } catch let error as StoreError where error.code == .unavailable && faulty.isCrashed {
                try await scene.crash()
                store = scene.store
                worker = nil
            }
        }
        Issue.record("The day does not end.")
    }

    /// Answers that are there must not be lost: settling is tried again until it is done or the process is gone.
    private static func settle(
        _ settlements: [Settlement], _ store: any DeliveryStore, _ worker: WorkerID
    ) async throws {
        do {
            _ = try await store.settle(settlements, by: worker)
        } catch  where error.code == .failed {
            _ = try await store.settle(settlements, by: worker)
        }
    }

    /// The message that a request made, asked for with its key.
    private static func accepted(_ new: NewMessage, _ store: any MessageStore) async throws -> MessageID {
        guard case .repeated(let id)? = try await store.accept([new], claimedBy: nil).first else {
            throw StoreError(.failed, "The message was lost.")
        }
        return id
    }
}
