import PushModel
import Store

// What the calls of a store say about messages and their deliveries.
extension ObservedStore {
    func note(_ new: NewMessage, _ result: AcceptResult, by worker: WorkerID?) {
        guard case .accepted(let message, let claimed) = result else { return }
        // Others may have worked on it since the commit: what is known of it stays.
        books[message.id, default: Book()].message = message
        books[message.id]?.facts = new.facts
        if let worker { note(claimed, by: worker) }
        let recipients =
            switch new.recipient {
            case .registration(let key): [key]
            case .list(let keys), .user(_, let keys): keys.count <= NewMessage.smallListLimit ? keys : []
            case .topic, .condition: [RegistrationKey]()
            }
        for key in recipients.map({ Key(message: message.id, registration: $0) })
        where claims[key] == nil && ledger[key] == nil {
            waiting[key] = Waiting(history: AttemptHistory())
        }
    }

    func note(_ deliveries: [ClaimedDelivery], by worker: WorkerID) {
        for delivery in deliveries {
            let key = Key(delivery)
            waiting[key] = nil
            expect(claims[key] == nil, "claimed twice")
            claims[key] = Claim(delivery: delivery, worker: worker)
        }
    }

    func note(_ settlements: [Settlement], _ result: SettleResult) {
        for (place, settlement) in settlements.enumerated() {
            let key = Key(settlement.delivery)
            claims[key] = nil
            switch settlement.result {
            case .ended(let entry):
                if result.readdressed.contains(place) { wait(key, entry.history, until: entry.time) }
            case .retry(let history, let time): wait(key, history, until: time)
            }
        }
    }

    private func wait(_ key: Key, _ history: AttemptHistory, until time: Timestamp) {
        guard ledger[key] == nil else { return }
        waiting[key] = Waiting(history: history)
        retries[key, default: []].append(time)
    }

    /// Claims of workers that the store has ended wait again.
    func noteTakeover(in store: any DeliveryStore) async throws(StoreError) {
        for worker in Set(claims.values.map(\.worker)) {
            do throws(StoreError) {
                try await store.renew(worker, for: .zero)
            } catch {
                guard error.code == .fenced else { throw error }
                for (key, claim) in claims where claim.worker == worker {
                    claims[key] = nil
                    waiting[key] = Waiting(history: claim.delivery.history)
                }
            }
        }
    }

    /// Takes down what happened since the last time.
    func readEvents() async throws(StoreError) {
        var isAtEnd = false
        while !isAtEnd {
            let page = try await base.events(after: events.last?.number ?? .zero, EventFilter(), limit: 1000)
            // Another call may have read them meanwhile.
            for event in page.events where event.number > events.last?.number ?? .zero { note(event) }
            isAtEnd = page.isAtEnd
        }
    }

    private func note(_ event: Event) {
        events.append(event)
        switch event.kind {
        case .delivery(let ended): note(ended)
        case .message(let id, .complete): books[id, default: Book()].isComplete = true
        case .message, .receipt, .registrationEnded, .route, .webhook, .click, .referral, .forgotten: break
        }
    }

    private func note(_ ended: DeliveryEvent) {
        let record = ended.delivery
        guard let registration = key(of: record.registration), let outcome = record.outcome, let time = record.endedAt,
            let pushID = record.pushID
        else { return expect(false, "an event of a delivery that nothing is known of") }
        let key = Key(message: ended.message, registration: registration)
        expect(ledger[key] == nil, "ended twice")
        waiting[key] = nil
        claims[key] = nil
        books[ended.message, default: Book()].ended[outcome, default: 0] += 1
        ledger[key] = LedgerEntry(
            outcome: outcome, reason: record.reason, verdict: nil, history: record.history, time: time,
            latencyMilliseconds: record.latencyMilliseconds ?? 0, pushID: pushID)
    }
}

// What a store need not look at, and a runner must not do.
extension ObservedStore {
    func check(_ new: NewMessage) {
        switch new.recipient {
        case .list(let keys), .user(_, let keys):
            expect(keys == keys.sorted() && Set(keys).count == keys.count, "recipients out of order or named twice")
            expect(keys.count <= NewMessage.smallListLimit || new.lane == .bulk, "a fan-out in the interactive lane")
        case .topic, .condition: expect(new.lane == .bulk, "a fan-out in the interactive lane")
        case .registration: break
        }
    }

    func check(_ settlement: Settlement) {
        let sent = settlement.delivery
        switch settlement.result {
        case .ended(let entry):
            expect(entry.history.attempts >= sent.history.attempts, "attempts went back")
            switch entry.verdict {
            case .proven(let channel)?:
                expect(!sent.registration.isProven || sent.registration.channel != channel, "proven twice")
            case .doubtful?: expect(sent.registration.isProven, "doubted what was never proven")
            case .refused?:
                expect(
                    !sent.registration.isProven && !sent.registration.isQuarantined, "quarantined at once, or twice")
            case .dead?, nil: break
            }
        case .retry(_, let time): expect(time < sent.expiresAt, "a retry after the expiry")
        }
    }
}

extension ObservedStore.Key {
    init(_ delivery: ClaimedDelivery) {
        self.init(message: delivery.message, registration: delivery.registration.key)
    }
}
