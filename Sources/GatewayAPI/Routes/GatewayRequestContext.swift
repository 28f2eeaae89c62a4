import Hummingbird
import Logging
import NIOCore

/// What travels with a request through the router.
struct GatewayRequestContext: RequestContext {
    /// The router's own part.
    var coreContext: CoreRequestContextStorage
    /// What the request is called.
    private(set) var id = ""
    /// The IP address of the peer; `nil` where there is none.
    let address: String?

    /// Starts an empty context.
    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        address = source.channel.remoteAddress?.ipAddress
    }

    /// Calls the request by an id, in its log lines too.
    mutating func name(_ id: RequestID) {
        self.id = id.text
        // The server's own number would stand beside it.
        logger[metadataKey: "hb.request.id"] = nil
        logger[metadataKey: "request.id"] = "\(id.text)"
    }

    /// Starts the context of a part of a batch: what is the router's own is new, the rest the batch's.
    init(partOf batch: GatewayRequestContext) {
        self = batch
        coreContext = CoreRequestContextStorage(source: batch)
    }
}
