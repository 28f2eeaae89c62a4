package import PushModel
package import Store
import Synchronization

/// Clicks that wait for an app's first opening, in memory: by id, and by app and address for the heuristic.
///
/// Safe to share. A look-up costs what the clicks of one address and app cost, however many others wait. What is older than
/// the window, or too much, goes, the oldest first.
package final class ClickIndex: Sendable {
    /// How much is kept.
    package struct Limits: Hashable, Sendable {
        /// How long a click waits: up to ``ClickWindows/longestHeuristic``.
        package var window = ClickWindows().heuristic
        /// The most clicks.
        package var clicks = 1_000_000
        /// The most bytes of their URLs.
        package var bytes = 256 << 20
        /// The most of one address and app: behind it may be a whole network, and a look-up compares them all.
        package var clicksOfAddress = 64

        /// The defaults.
        package init() {}
    }

    /// What the heuristic looks up.
    fileprivate struct Place: Hashable {
        let project: ProjectID
        let app: AppKey
        let address: KeyedDigest
    }

    fileprivate struct State {
        var clicks: [ClickID: LinkClick] = [:]
        var places: [Place: [ClickID]] = [:]
        /// Ids in the order they came; some are gone.
        var order: [ClickID] = []
        /// Where in ``order`` the oldest is.
        var head = 0
        var bytes = 0
        /// How long a click waits.
        var window: Duration

        init(window: Duration) {
            self.window = min(max(window, .zero), ClickWindows.longestHeuristic)
        }
    }

    private let state: Mutex<State>
    private let limits: Limits
    /// How long a click waits, whatever its project.
    package var window: Duration { state.withLock { $0.window } }

    /// An empty index.
    package init(_ limits: Limits = Limits()) {
        state = Mutex(State(window: limits.window))
        self.limits = limits
    }

    /// Keeps clicks for the longest window of these projects. One that is longer than before holds for the clicks that are
    /// still here.
    package func keepWindows(of projects: [Project]) {
        let windows = projects.compactMap { $0.links?.windows.heuristic }
        let longest = min(windows.max() ?? ClickWindows().heuristic, ClickWindows.longestHeuristic)
        state.withLock { $0.window = longest }
    }

    /// How many clicks wait.
    package var count: Int { state.withLock { $0.clicks.count } }

    /// Takes a click in; one that is there takes its place.
    package func insert(_ click: LinkClick, at now: Timestamp) {
        state.withLock { state in
            state.remove(click.id)
            state.add(click, limit: limits.clicksOfAddress)
            state.trim(limits, now)
        }
    }

    /// Puts more traits into a click that still waits.
    ///
    /// - Returns: whether it does.
    package func replace(_ click: LinkClick) -> Bool {
        state.withLock { state in
            guard let old = state.clicks[click.id], old.traits.address == click.traits.address, old.url == click.url
            else {
                return false
            }
            state.clicks[click.id] = click
            return true
        }
    }

    /// A click by its id, which stays.
    package func click(_ id: ClickID) -> LinkClick? { state.withLock { $0.clicks[id] } }

    /// Takes a click out; `nil`: another caller has it, or it was never there.
    package func take(_ id: ClickID) -> LinkClick? { state.withLock { $0.remove(id) } }

    /// Takes out the one click that a first opening can come from.
    ///
    /// - Parameter window: how far back it may lie; no longer than ``window``.
    package func takeMatch(_ opening: FirstOpening, within window: Duration = ClickWindows().heuristic) -> ClickMatch? {
        guard let address = opening.traits.address else { return nil }
        let place = Place(project: opening.project, app: opening.app, address: address)
        return state.withLock { state in
            let clicks = (state.places[place] ?? []).compactMap { state.clicks[$0] }
            guard let match = ClickMatch(of: opening, among: clicks, window: window) else { return nil }
            state.remove(match.click.id)
            return match
        }
    }

    /// Takes out the newest click of an opening's device on a link, which the opening shows.
    package func take(of url: String, for opening: FirstOpening) -> LinkClick? {
        guard let address = opening.traits.address else { return nil }
        let place = Place(project: opening.project, app: opening.app, address: address)
        return state.withLock { state in
            let click = (state.places[place] ?? []).compactMap { state.clicks[$0] }
                .last {
                    $0.url == url && $0.expiresAt > opening.time && $0.traits.likeness(to: opening.traits) > .none
                }
            return click.flatMap { state.remove($0.id) }
        }
    }
}

extension ClickIndex.State {
    fileprivate mutating func add(_ click: LinkClick, limit: Int) {
        clicks[click.id] = click
        order.append(click.id)
        bytes += click.url.utf8.count
        guard let address = click.traits.address else { return }
        let place = ClickIndex.Place(project: click.project, app: click.app, address: address)
        places[place, default: []].append(click.id)
        if let count = places[place]?.count, count > limit, let oldest = places[place]?.first { remove(oldest) }
    }

    @discardableResult
    fileprivate mutating func remove(_ id: ClickID) -> LinkClick? {
        guard let click = clicks.removeValue(forKey: id) else { return nil }
        bytes -= click.url.utf8.count
        guard let address = click.traits.address else { return click }
        let place = ClickIndex.Place(project: click.project, app: click.app, address: address)
        places[place]?.removeAll { $0 == id }
        if places[place]?.isEmpty == true { places[place] = nil }
        return click
    }

    /// Drops what is too old or too much, and forgets the ids of those that are gone.
    fileprivate mutating func trim(_ limits: ClickIndex.Limits, _ now: Timestamp) {
        while head < order.count {
            let id = order[head]
            if let click = clicks[id] {
                let isOld = now - click.time > window
                guard isOld || clicks.count > limits.clicks || bytes > limits.bytes else { break }
                remove(id)
            }
            head += 1
        }
        if head > order.count / 2 {
            order.removeFirst(head)
            head = 0
        }
        // Clicks that were taken leave their ids: no more of these than of the others.
        if order.count - head > 2 * clicks.count + 1024 {
            order = order[head...].filter { clicks[$0] != nil }
            head = 0
        }
    }
}
