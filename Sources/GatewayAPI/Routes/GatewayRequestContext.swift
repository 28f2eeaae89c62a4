import Hummingbird
import Logging

/// What travels with a request through the router.
struct GatewayRequestContext: RequestContext {
    /// The router's own part.
    var coreContext: CoreRequestContextStorage
    /// What the request is called.
    private(set) var id = ""

    /// Starts an empty context.
    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// Calls the request by an id, in its log lines too.
    mutating func name(_ id: RequestID) {
        self.id = id.text
        // The server's own number would stand beside it.
        logger[metadataKey: "hb.request.id"] = nil
        logger[metadataKey: "request.id"] = "\(id.text)"
    }
}
