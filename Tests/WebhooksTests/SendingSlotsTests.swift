import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// How many requests are under way, and who waits.
@Suite(.timeLimit(.minutes(1)))
struct SendingSlotsTests {
    /// Requests that go on until they are let go.
    private final class Requests: Sendable {
        private struct State {
            var running = 0
            var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
            var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        }

        private let state = Mutex(State())

        var running: Int { state.withLock { $0.running } }

        func hang(on host: String) async {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state in
                    state.running += 1
                    state.waiting[host, default: []].append(continuation)
                    defer { state.watchers.removeAll { $0.count <= state.running } }
                    return state.watchers.filter { $0.count <= state.running }.map(\.continuation)
                }
                for watcher in ready { watcher.resume() }
            }
        }

        func untilRunning(_ count: Int) async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.running >= count { return true }
                    state.watchers.append((count, continuation))
                    return false
                }
                if isThere { continuation.resume() }
            }
        }

        func release(_ host: String) {
            let waiting = state.withLock { state in
                defer {
                    state.running -= state.waiting[host]?.count ?? 0
                    state.waiting[host] = nil
                }
                return state.waiting[host] ?? []
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Ten endpoints of a host that hangs, and fifty of hosts that hang and failed before: the good ones go at once.
    @Test func receiversThatHangLeaveRoomForTheOthers() async {
        let (slots, requests) = (SendingSlots(), Requests())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    _ = await slots.run(host: "hangs", isFailing: false) { await requests.hang(on: "hangs") }
                }
            }
            for index in 0..<50 {
                group.addTask {
                    _ = await slots.run(host: "dead\(index)", isFailing: true) { await requests.hang(on: "dead") }
                }
            }
            await requests.untilRunning(8 + 32)
            #expect(slots.inUse == 40)
            for index in 0..<20 {
                let done: Bool? = await slots.run(host: "good\(index)", isFailing: false) { true }
                #expect(done == true)
            }
            // What waits begins when the others end; then all are through.
            group.addTask {
                while !Task.isCancelled, slots.inUse + slots.waiting > 0 {
                    requests.release("hangs")
                    requests.release("dead")
                    await Task.yield()
                }
            }
            await group.waitForAll()
        }
        #expect(slots.inUse == 0 && slots.waiting == 0)
    }

    @Test func whoIsCancelledTakesNoSlot() async {
        var limits = SendingSlots.Limits()
        limits.total = 1
        let (slots, requests) = (SendingSlots(limits: limits), Requests())
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await slots.run(host: "a", isFailing: false) { await requests.hang(on: "a") } != nil }
            await requests.untilRunning(1)
            let waiter = Task { await slots.run(host: "b", isFailing: false) { true } ?? false }
            waiter.cancel()
            #expect(await waiter.value == false)
            requests.release("a")
            #expect(await group.next() == true)
        }
        #expect(slots.inUse == 0 && slots.waiting == 0)
    }
}
