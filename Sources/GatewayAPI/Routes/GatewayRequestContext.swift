import Hummingbird

/// What travels with a request through the router.
struct GatewayRequestContext: RequestContext {
    /// The router's own part.
    var coreContext: CoreRequestContextStorage

    /// Starts an empty context.
    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}
