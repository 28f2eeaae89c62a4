/// How long the path of a short link is.
public enum ShortDynamicLinkPathLength: Int, Sendable {
    /// The gateway's usual one, which is ``unguessable``.
    case `default` = 0
    /// Four characters or a few more: links that anybody may open.
    case short = 1
    /// 17 characters from 96 random bits.
    case unguessable = 2
}
