import Hummingbird
import JSON

/// The routes of the gateway's listeners.
struct RouteTable: Sendable {
    private let state: GatewayState
    private let batches: BatchGate

    /// A table of routes that tell a state, and whose batches share the room of a gate.
    init(state: GatewayState, batches: BatchGate) {
        self.state = state
        self.batches = batches
    }

    /// The routes of a listener.
    ///
    /// - Parameter parts: answers the parts of multipart batches.
    func routes(
        on listener: GatewayListener.Routes, parts: RouterResponder<GatewayRequestContext>?
    ) -> [Route] {
        let operations = OperationsRoutes.all(on: listener, state)
        return listener == .operations ? operations : api(parts: parts) + operations
    }

    /// The routes that parts of multipart batches may use: their requests and answers are small.
    var partRoutes: [Route] {
        let routes =
            SendRoutes.all(batches: batches) + RegistrationRoutes.all + TopicRoutes.all + InstanceIDRoutes.all
            + ReportRoutes.all + ControlRoutes.all
        return routes.filter { !$0.isBatch }
    }

    private func api(parts: RouterResponder<GatewayRequestContext>?) -> [Route] {
        SendRoutes.all(batches: batches) + MultipartBatch.all(batches: batches, parts: parts) + LegacySend.all
            + DeviceGroupRoutes.all
            + RegistrationRoutes.all + UserRoutes.all + TopicRoutes.all + TopicListRoutes.all + InstanceIDRoutes.all
            + InstallationRoutes.all + ReceiptRoutes.all + ChannelRoutes.all
            + ReportRoutes.all + EventRoutes.all + WebhookRoutes.all + WhyRoutes.all(state) + DeliveryDataRoutes.all
            + AuditRoutes.all
            + StatusRoutes.all(state)
            + ControlRoutes.all + ExportRoutes.all + TokenRoutes.all
            + LinkRoutes.all + AttributionRoutes.all + ReferralRoutes.all
            + OpenAPI.routes { Self.description }
    }

    /// Every route of the gateway, for its description; no part of a multipart batch is answered.
    static let described = RouteTable(state: GatewayState(), batches: BatchGate(limitBytes: 0)).routes(
        on: .api(withOperations: true), parts: nil)

    // Made once: it depends on nothing but the program.
    private static let description = Response(
        json: OpenAPIDocument(routes: described, areas: OpenAPI.areas).json)
}
