/// How long a click on a link waits for the first opening of the app.
package struct ClickWindows: Hashable, Sendable {
    /// For a device that is alike and proves nothing: up to ``longestHeuristic``, since addresses go from one to the next.
    package var heuristic: Duration = .seconds(3600)
    /// For a device that has the click's id in the clipboard.
    package var clipboard: Duration = .seconds(86_400)
    /// For a device that has the click's id in the install referrer of its store.
    package var referrer: Duration = .seconds(30 * 86_400)

    /// The longest window without proof: a day.
    package static let longestHeuristic: Duration = .seconds(86_400)

    /// The defaults.
    package init() {}

    /// How long a click is kept.
    ///
    /// - Parameter hasReferrer: whether the device's store hands the click's id over.
    package func lifetime(hasReferrer: Bool) -> Duration { max(hasReferrer ? referrer : clipboard, heuristic) }
}
