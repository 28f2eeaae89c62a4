public import Foundation

/// What came of asking for the link that led to an install.
public struct PendingDynamicLink: Sendable {
    /// The three ways to nothing differ in what may be done afterwards.
    public enum Outcome: Sendable {
        /// There is a link.
        case matched(DynamicLink)
        /// There is none; the link object has no URL and says why.
        case unmatched(DynamicLink)
        /// The gateway answered JSON that says nothing, an error for instance.
        case dismissed
        /// There was no answer, or none in JSON: an overloaded gateway. Another try is in order.
        case unanswered(DynamicLinksError)
    }

    /// What came of it.
    public let outcome: Outcome
    /// Whether the clipboard held the preview page's link and has been used: the app should empty it.
    public let shouldClearClipboard: Bool
    /// The URL that Firebase's SDK opens in such a case, `<scheme>://google/link/?…`, for an app that handles its links in
    /// `application(_:open:options:)`; `nil` without a scheme.
    public let customSchemeURL: URL?

    /// The link, if there is one.
    public var dynamicLink: DynamicLink? {
        if case .matched(let link) = outcome { link } else { nil }
    }

    /// Whether asking again makes no sense.
    public var isFinal: Bool {
        if case .unanswered = outcome { false } else { true }
    }
}
