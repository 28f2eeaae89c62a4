import PushModel

/// A page of results and where the next one begins.
package struct ResultPage<Element: Sendable>: Sendable {
    /// The results.
    package var elements: [Element]
    /// The cursor for the next page; `nil` at the end.
    package var nextCursor: String?

    /// Puts a page together.
    package init(elements: [Element], nextCursor: String?) {
        self.elements = elements
        self.nextCursor = nextCursor
    }
}
