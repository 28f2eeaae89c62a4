import Delivery
import Logging
import PushModel
import ServiceLifecycle
import Store
import Synchronization

/// Keeps this gateway among the nodes of a store that several share: enters it, says every few seconds that it lives, and
/// removes it at the end.
///
/// How many nodes live, and which of them this one is, goes to ``LiveNodes``, what time it is to ``SharedTime``. When the store
/// can't be asked, the last answer counts for a while.
struct NodeHeartbeat: Service {
    /// Where the gateway listens; empty before it does.
    final class Address: Sendable {
        private let text = Mutex<String?>(nil)

        /// The URL.
        var url: String? {
            get { text.withLock { $0 } }
            set { text.withLock { $0 = newValue } }
        }
    }

    /// Whether the gateway was told to stop: others take over what it gives back while it winds down.
    final class Departure: Sendable {
        let changed = AutoResetEvent()
        private let flag = Atomic(false)

        /// Whether it was.
        var hasBegun: Bool { flag.load(ordering: .acquiring) }

        /// It is told to.
        func begin() {
            flag.store(true, ordering: .releasing)
            wake()
        }

        /// There is something to say or to learn before the next word is due.
        func wake() { changed.raise() }
    }

    let store: any NodeStore
    /// Host and process.
    let name: String
    let address: Address
    let departure: Departure
    let live: LiveNodes
    /// The store's clock, which is read with each word.
    let time: SharedTime
    /// The projects that the nodes share, of which others are told too; `nil`: they are files.
    let projects: StoredProjectSource?
    let logger: Logger

    /// How often others are told while the gateway hands over.
    private static let leavingInterval: Duration = .milliseconds(250)

    /// Works until graceful shutdown or cancellation, which come when nothing is left to hand over.
    func run() async {
        await cancelWhenGracefulShutdown {
            var number: Int64?
            while !Task.isCancelled {
                let (entered, isAnswered) = await beat(number)
                number = entered
                let interval = departure.hasBegun && isAnswered ? Self.leavingInterval : StoreNode.interval
                await departure.changed.wait(atMost: interval, on: ContinuousClock())
            }
            // Without a parent: this task is cancelled already.
            if let number { await Task { await leave(number) }.value }
        }
    }

    /// - Returns: the node's number, `nil`: it is not entered; and whether the store answered.
    private func beat(_ number: Int64?) async -> (number: Int64?, isAnswered: Bool) {
        do throws(StoreError) {
            let entered: Int64
            if let number {
                entered = number
            } else {
                entered = try await store.enter(name, version: HeraldVersion.current, address: address.url)
                logger.info("this gateway is a node of its store", metadata: ["node": "\(entered)"])
            }
            let asked = ContinuousClock.now
            live.update(
                to: try await store.beat(entered, address: address.url, isLeaving: departure.hasBegun),
                asked: asked)
            let askedTime = ContinuousClock.now
            time.update(to: try await store.time(), asked: askedTime)
            try await projects?.tell(of: entered)
            return (entered, true)
        } catch {
            // Forgotten by the others: it is entered anew.
            if error.isConflict { return (nil, true) }
            if !Task.isCancelled {
                logger.warning("the store's nodes can't be asked", metadata: ["error": "\(error)"])
            }
            return (number, false)
        }
    }

    private func leave(_ number: Int64) async {
        do throws(StoreError) {
            try await store.leave(number)
        } catch {
            logger.debug("the node is forgotten after a while", metadata: ["error": "\(error)"])
        }
    }
}

/// Looks at what other gateways committed: they say so, and a question now and then finds what they could not say.
struct OtherNodesWatch: Service {
    let store: any NodeStore
    let runner: DeliveryRunner
    /// Wakes the heartbeat, whose answer tells this gateway its place.
    let departure: NodeHeartbeat.Departure
    /// Is raised when there is a newer version of the stored projects; `nil`: they are files.
    var maybeNewerProjects: AutoResetEvent?
    let logger: Logger

    /// How long it may take until another gateway's commit is seen.
    private static let interval: Duration = .milliseconds(250)
    /// As long as the store can't be asked.
    private static let rest: Duration = .seconds(2)

    /// Which commits of other nodes are to be looked at for ends that callers wait for.
    private struct Looks {
        /// Whether another node committed something since the last look, or callers wait that were not looked for.
        var isDue = false
        var last = ContinuousClock.now

        /// Whether to look now: not at each of many commits.
        mutating func take(at now: ContinuousClock.Instant) -> Bool {
            guard isDue, now - last >= OtherNodesWatch.interval else { return false }
            (isDue, last) = (false, now)
            return true
        }
    }

    /// Works until graceful shutdown or cancellation.
    func run() async {
        await cancelWhenGracefulShutdown {
            async let telling: Void = store.tellOthers()
            var looks = Looks()
            while !Task.isCancelled {
                await store.otherCommit(atMost: Self.interval)
                do throws(StoreError) {
                    let change = try await store.catchUp()
                    for lane in [Lane.interactive, .bulk] where change.contains(.work(lane)) { runner.wake(lane) }
                    // Each learns at once which shards are its own now.
                    if change.contains(.nodes) { departure.wake() }
                    if change.contains(.storedProjects) { maybeNewerProjects?.raise() }
                    if !change.isEmpty { looks.isDue = true }
                    if looks.take(at: .now) {
                        looks.isDue = try await runner.lookForEnds { messages throws(StoreError) in
                            try await store.ends(of: messages)
                        }
                    }
                } catch {
                    guard !Task.isCancelled else { break }
                    // What was to be looked at was not, perhaps.
                    looks.isDue = true
                    logger.debug("the commits of other nodes can't be read", metadata: ["error": "\(error)"])
                    // Cancelled: the loop sees it.
                    try? await ContinuousClock().sleep(for: Self.rest)
                }
            }
            await telling
        }
    }
}
