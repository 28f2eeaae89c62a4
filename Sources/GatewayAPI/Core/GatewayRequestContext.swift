import HTTPListener
import Hummingbird
import Logging
import NIOCore
import Store
import Traces

/// What travels with a request through the router.
struct GatewayRequestContext: IdentifiedRequestContext {
    /// The router's own part.
    var coreContext: CoreRequestContextStorage
    /// The request's id.
    var id = ""
    /// The IP address of the peer; `nil` where there is none.
    let address: String?
    /// The connection, or of HTTP/2 the stream.
    let channel: any Channel
    /// The trace of the request, for what is made of it; `nil`: nothing is traced.
    var trace: RequestTrace?
    /// Whether the request is a part of a multipart batch.
    private(set) var isPart = false
    /// The operator in whose name the console asks; `nil`: the request came from outside. No request can say it.
    private(set) var operatorUse: OperatorUse?

    /// Starts an empty context.
    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        address = source.channel.remoteAddress?.ipAddress
    }

    /// Starts the context of a part of a batch: what is the router's own is new, the rest the batch's.
    init(partOf batch: GatewayRequestContext) {
        self = batch
        coreContext = CoreRequestContextStorage(source: batch)
        isPart = true
    }

    /// Starts the context of what the console asks in an operator's name.
    init(of use: OperatorUse, within page: GatewayRequestContext) {
        self = page
        coreContext = CoreRequestContextStorage(source: page)
        id = ""
        operatorUse = use
    }
}
