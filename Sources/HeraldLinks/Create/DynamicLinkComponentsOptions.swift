/// How short links are made.
public final class DynamicLinkComponentsOptions {
    /// How long their path is.
    public var pathLength: ShortDynamicLinkPathLength = .default

    /// Makes options with the gateway's usual path length.
    public init() {}
}
