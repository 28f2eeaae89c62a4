import PushModel
import Store

/// What a write looks up first, as far as its caller knows it.
struct LookUps: Sendable {
    var registrations: [RegistrationKey] = []
    /// Messages to one registration each.
    var messages: [MessageID] = []
    /// Who claims or settles.
    var worker: WorkerID?
    /// Whether it records what became of deliveries.
    var readsClock = false

    /// What several writes look up.
    init(together all: some Sequence<LookUps>) {
        for one in all {
            registrations += one.registrations
            messages += one.messages
            worker = worker ?? one.worker
            readsClock = readsClock || one.readsClock
        }
    }

    init() {}

    /// What accepting messages looks up.
    init(accepting new: [NewMessage], worker: WorkerID?) {
        registrations = new.compactMap { message in
            if case .registration(let key) = message.recipient { key } else { nil }
        }
        self.worker = worker
    }

    /// What settling looks up.
    init(settling settlements: [Settlement], worker: WorkerID) {
        // By index: a copy of a settlement would retain all that it has.
        for place in settlements.indices where settlements[place].delivery.page == nil {
            messages.append(settlements[place].delivery.message)
        }
        self.worker = worker
        readsClock = true
    }
}
