import Dispatch
import PushModel
import Synchronization

/// An upstream that answers as the script says: from a thread of its own, in pieces, out of order, each push once.
/// Where the script says `nil` the answer is held until ``release(_:)``.
final class ScriptedSender: PushSender {
    /// What the n-th attempt (from 1) of a push gives.
    typealias Script = @Sendable (_ push: Push, _ attempt: Int) -> Outcome?

    private struct Held {
        var index: Int
        var report: @Sendable ([PushReport]) -> Void
    }

    private struct State {
        var attempts: [PushID: Int] = [:]
        var pushes: [Push] = []
        var held: [Held] = []
        var standing: Outcome?
        var heldRoutes: [PushRoute: HeldRoute] = [:]
        var onChange: (@Sendable () -> Void)?
        var onRead: (@Sendable () -> Void)?
        /// Hand-overs that are kept from returning.
        var shutdowns = 0
        var windDowns = 0
        var hung: [CheckedContinuation<Void, Never>] = []
        var watchers: [(sent: Int, CheckedContinuation<Void, Never>)] = []
    }

    /// What becomes of held pushes when the sender is shut down; `nil`: nothing ever.
    private let atShutdown: Outcome?
    /// What becomes of held pushes when it is to wind down; `nil`: nothing, they are on the wire.
    private let atWindDown: Outcome?
    /// Whether ``send(_:report:)`` takes pushes and never returns.
    private let hangs: Bool
    private let script: Script
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "scripted upstream")

    init(
        atShutdown: Outcome? = .unknown(.shutdown), atWindDown: Outcome? = nil, hangs: Bool = false,
        _ script: @escaping Script = { _, _ in .accepted }
    ) {
        self.atShutdown = atShutdown
        self.atWindDown = atWindDown
        self.hangs = hangs
        self.script = script
    }

    let upstreams: [UpstreamStatus] = []

    var heldRoutes: [PushRoute: HeldRoute] {
        let (routes, onRead) = state.withLock { state in
            defer { state.onRead = nil }
            return (state.heldRoutes, state.onRead)
        }
        onRead?()
        return routes
    }

    /// Runs `body` the next time that the held routes were read, before the reader goes on.
    func onNextRead(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onRead = body }
    }

    func onHeldRoutesChange(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = body }
    }

    /// Holds these routes and no others.
    func hold(_ routes: [PushRoute: HeldRoute]) {
        let onChange = state.withLock { state in
            state.heldRoutes = routes
            return state.onChange
        }
        onChange?()
    }

    /// Everything that was handed over, in order.
    var pushes: [Push] { state.withLock { $0.pushes } }

    /// Waits until `count` pushes were handed over.
    func untilSent(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.pushes.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func send(_ batch: [Push], report: @escaping @Sendable ([PushReport]) -> Void) async {
        var answers: [PushReport] = []
        let ready = state.withLock { state in
            for (index, push) in batch.enumerated() {
                state.attempts[push.id, default: 0] += 1
                if let outcome = script(push, state.attempts[push.id] ?? 0) ?? state.standing {
                    answers.append(PushReport(index: index, outcome: outcome, latency: .milliseconds(3)))
                } else {
                    state.held.append(Held(index: index, report: report))
                }
            }
            state.pushes += batch
            let ready = state.watchers.filter { $0.sent <= state.pushes.count }
            state.watchers.removeAll { $0.sent <= state.pushes.count }
            return ready
        }
        answers.shuffle()
        while !answers.isEmpty {
            let piece = Array(answers.prefix(Int.random(in: 1...200)))
            answers.removeFirst(piece.count)
            queue.async { report(piece) }
        }
        for (_, continuation) in ready { continuation.resume() }
        if hangs { await withCheckedContinuation { hung in state.withLock { $0.hung.append(hung) } } }
    }

    func shutdown(within limit: Duration) async {
        state.withLock { $0.shutdowns += 1 }
        if let atShutdown { release(atShutdown, isStanding: true) }
    }

    /// How often ``shutdown(within:)`` was called.
    var shutdowns: Int { state.withLock { $0.shutdowns } }

    /// Lets hand-overs return that hang.
    func unhang() {
        let hung = state.withLock { state in
            defer { state.hung = [] }
            return state.hung
        }
        for continuation in hung { continuation.resume() }
    }

    /// Gives all pushes that were held back, because another one is on its way as a probe.
    func holdBack(_ outcome: Outcome) {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for item in held {
            let report = PushReport(
                index: item.index, outcome: outcome, latency: .zero, isAttempt: false, isBeingProbed: true)
            queue.async { item.report([report]) }
        }
    }

    /// How often ``windDown()`` was called.
    var windDowns: Int { state.withLock { $0.windDowns } }

    func windDown() {
        state.withLock { $0.windDowns += 1 }
        if let atWindDown { release(atWindDown, isStanding: true) }
    }

    /// Answers all pushes that were held; `isStanding`: and all later ones that would be held, at once.
    func release(_ outcome: Outcome, isStanding: Bool = false) {
        let held = state.withLock { state in
            defer { state.held = [] }
            if isStanding { state.standing = outcome }
            return state.held
        }
        for item in held {
            queue.async { item.report([PushReport(index: item.index, outcome: outcome, latency: .zero)]) }
        }
    }
}
