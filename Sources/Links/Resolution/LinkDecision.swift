/// What a request for a link is answered with.
package enum LinkDecision: Hashable, Sendable {
    /// 302 to a target, a fallback or a store.
    case redirect(String)
    /// 302 to an `intent:` URL, which opens the app or, without it, the fallback inside.
    case intent(String)
    /// The preview page, on its own host.
    case preview
    /// A page that asks the browser whether it is an iPad: one goes on as ``LinkClient/Kind/iPad``, a Mac to `desktop`.
    case ipadCheck(desktop: String)
    /// A page with what social networks show; no click is counted.
    case socialPage
    /// The debug page; no click is counted.
    case debugPage
}
