/// Every metric that Herald exposes, by its name in Prometheus' text format.
///
/// Labels come from small sets (outcome, reason, lane, upstream, status); never tokens or message ids. Of topics, senders' labels
/// and apps the most frequent have series of their own, the others one together.
package enum MetricName: String, Sendable, CaseIterable {
    /// Counter: messages committed.
    case messagesAccepted = "herald_messages_accepted_total"
    /// Counter by `reason`: messages refused before accept.
    case messagesRefused = "herald_messages_refused_total"
    /// Gauge: free bytes on the store's disk.
    case diskFree = "herald_disk_free_bytes"
    /// Gauge: below so many free bytes new messages are refused.
    case diskFreeLimit = "herald_disk_free_bytes_limit"
    /// Gauge: days until the limit at the rate of the last day.
    case diskDaysLeft = "herald_disk_days_left"
    /// Counter by `platform`, `outcome` and `reason`: deliveries that ended.
    case deliveries = "herald_deliveries_total"
    /// Counter by `project`, `app` and `outcome`: deliveries that ended, of the most frequent apps.
    case appDeliveries = "herald_app_deliveries_total"
    /// Counter by `project`, `topic` and `outcome`: deliveries that ended, of the most frequent topics.
    case topicDeliveries = "herald_topic_deliveries_total"
    /// Counter by `project`, `label` and `outcome`: deliveries that ended, of the senders' most frequent labels.
    case labelDeliveries = "herald_label_deliveries_total"
    /// Counter by `platform`, `outcome` and `reason`: attempts that ended.
    case attempts = "herald_attempts_total"
    /// Counter: registrations whose device token APNs accepted in the other environment than theirs.
    case correctedEnvironments = "herald_corrected_environments_total"
    /// Counter: registrations that were quarantined.
    case quarantines = "herald_quarantines_total"
    /// Histogram in seconds: from accept to APNs' answer, accepted deliveries.
    case deliveryLatency = "herald_delivery_latency_seconds"
    /// Gauge by `lane`: deliveries in the store that have not ended.
    case backlog = "herald_backlog"
    /// Gauge by `lane`: pushes handed to the upstream and not settled.
    case inFlight = "herald_in_flight"
    /// Gauge by `lane`: the most that may be in flight.
    case inFlightLimit = "herald_in_flight_limit"
    /// Gauge: messages that are not complete.
    case activeMessages = "herald_active_messages"
    /// Gauge: requests that wait for the outcome of their message.
    case waitingSends = "herald_waiting_sends"
    /// Gauge: the most messages that may be active.
    case activeMessagesLimit = "herald_active_messages_limit"
    /// Gauge by `kind`: writes that wait for a commit of the store, and look-ups that wait for a reader.
    case storeQueue = "herald_store_queue"
    /// Gauge by `kind`: the most of them that may wait.
    case storeQueueLimit = "herald_store_queue_limit"
    /// Gauge by `upstream`: open connections.
    case upstreamConnections = "herald_upstream_connections"
    /// Gauge by `upstream`: streams in use.
    case upstreamStreams = "herald_upstream_streams_in_use"
    /// Gauge by `upstream`: streams that the peer allows.
    case upstreamStreamLimit = "herald_upstream_stream_limit"
    /// Gauge by `upstream`: pushes waiting for a stream.
    case upstreamQueued = "herald_upstream_queued"
    /// Gauge by `upstream`: the most pushes that may wait.
    case upstreamQueueLimit = "herald_upstream_queue_limit"
    /// Gauge by `upstream`: 1 while pushes are given back at once because connecting failed several times in a row.
    case upstreamCircuitOpen = "herald_upstream_circuit_open"
    /// Gauge by `upstream`: attempts to connect that failed since the start.
    case upstreamFailedDials = "herald_upstream_failed_dials"
    /// Gauge by `upstream` and `reason`: GOAWAY frames since the start.
    case upstreamGoAways = "herald_upstream_goaways"
    /// Gauge by `upstream`: 1 while all its pushes are held back because APNs refuses the credential, otherwise 0.
    case upstreamPaused = "herald_upstream_paused"
    /// Gauge by `upstream`: topics and apps of it whose pushes are held back.
    case upstreamPausedParts = "herald_upstream_paused_parts"
    /// Gauge by `upstream`: pushes that may be in flight, while APNs is overloaded.
    case upstreamPaceLimit = "herald_upstream_pace_limit"
    /// Gauge in seconds by `upstream`: how far the gateway's clock is ahead of APNs', once that is known.
    case upstreamClockSkew = "herald_upstream_clock_skew_seconds"
    /// Gauge by `project` and `app`, seconds since 1970: when the app's client certificate ends.
    case certificateExpiry = "herald_certificate_expiry_timestamp_seconds"
    /// Gauge, seconds since 1970: when the listener's certificate ends.
    case listenerCertificateExpiry = "herald_listener_certificate_expiry_timestamp_seconds"
    /// Gauge by `listener`: open connections.
    case httpConnections = "herald_http_connections"
    /// Gauge by `listener`: the most connections that may be open.
    case httpConnectionLimit = "herald_http_connection_limit"
    /// Counter by `listener` and `reason`: connections that were not taken, or had to make room.
    case httpConnectionsRefused = "herald_http_connections_refused_total"
    /// Gauge: spans that wait for the collector.
    case traceQueue = "herald_trace_queue"
    /// Gauge: the most spans that may wait.
    case traceQueueLimit = "herald_trace_queue_limit"
    /// Counter: spans that the collector took.
    case traceSpansExported = "herald_trace_spans_exported_total"
    /// Counter by `reason`: spans that did not reach the collector.
    case traceSpansDropped = "herald_trace_spans_dropped_total"
    /// Counter by `result`: requests to endpoints of webhooks.
    case webhookAttempts = "herald_webhook_attempts_total"
    /// Gauge: requests to endpoints of webhooks under way.
    case webhookInFlight = "herald_webhook_in_flight"
    /// Gauge: the most of them.
    case webhookInFlightLimit = "herald_webhook_in_flight_limit"
    /// Gauge: requests that wait for their turn.
    case webhookWaiting = "herald_webhook_waiting"
    /// Gauge by `state`: endpoints of webhooks.
    case webhookEndpoints = "herald_webhook_endpoints"
    /// Gauge: events that the endpoint which is furthest behind has not got.
    case webhookLag = "herald_webhook_lag_events"
    /// Gauge: gateways that work on the store now, this one among them.
    case nodes = "herald_nodes"
    /// Gauge: the version of the stored projects that is in force here; 0: there is none yet.
    case projectsVersion = "herald_projects_version"
    /// Gauge: the newest version of the stored projects when this gateway can't take it, otherwise 0.
    case projectsRefused = "herald_projects_refused_version"
    /// Gauge by `version`: 1.
    case buildInfo = "herald_build_info"
    /// Counter by `route` and `status`: HTTP requests answered.
    case httpRequests = "herald_http_requests_total"
    /// Histogram in seconds by `route`: time to answer.
    case httpDuration = "herald_http_request_duration_seconds"

    /// One sentence for `# HELP`.
    package var help: String {
        switch self {
        case .messagesAccepted: "Messages committed."
        case .messagesRefused: "Messages refused before accept, by reason."
        case .deliveries: "Deliveries that ended, by platform, outcome and reason."
        case .appDeliveries:
            "Deliveries that ended, by app and outcome; the 50 most frequent apps, the others together."
        case .topicDeliveries:
            "Deliveries that ended, by topic and outcome; the 50 most frequent topics, the others together."
        case .labelDeliveries:
            "Deliveries that ended, by sender's label and outcome; the 50 most frequent labels, the others together."
        case .traceQueue: "Spans that wait for the collector."
        case .traceQueueLimit: "The most spans that may wait for the collector."
        case .traceSpansExported: "Spans that the collector took."
        case .traceSpansDropped: "Spans that did not reach the collector, by reason."
        case .attempts: "Attempts that ended, by platform, outcome and reason."
        case .correctedEnvironments: "Registrations whose device token APNs accepted in the other environment."
        case .quarantines: "Registrations that were quarantined."
        case .deliveryLatency: "Seconds from accept to APNs' answer, accepted deliveries."
        case .waitingSends: "Requests that wait for the outcome of their message."
        case .backlog: "Deliveries in the store that have not ended, by lane."
        case .inFlight: "Pushes handed to the upstream and not settled, by lane."
        case .inFlightLimit: "The most pushes that may be in flight, by lane."
        case .diskFree: "Free bytes on the disk of the store."
        case .diskFreeLimit: "Below so many free bytes new messages are refused."
        case .diskDaysLeft: "Days until that limit is reached at the rate of the last day."
        case .activeMessages: "Messages that are not complete."
        case .activeMessagesLimit: "The most messages that may be active."
        case .storeQueue: "Writes that wait for a commit of the store, and look-ups that wait for a reader, by kind."
        case .storeQueueLimit: "The most writes or look-ups that may wait for the store, by kind."
        case .upstreamConnections: "Open connections, by upstream."
        case .upstreamStreams: "Streams in use, by upstream."
        case .upstreamStreamLimit: "Streams that the peer allows, by upstream."
        case .upstreamQueued: "Pushes waiting for a stream, by upstream."
        case .upstreamQueueLimit: "The most pushes that may wait for a stream, by upstream."
        case .upstreamCircuitOpen: "1 while pushes are given back at once because connecting failed, by upstream."
        case .upstreamFailedDials: "Attempts to connect that failed since the start, by upstream."
        case .upstreamGoAways: "GOAWAY frames of APNs since the start, by upstream and reason."
        case .upstreamPaused: "1 while all pushes are held back because APNs refuses the credential, by upstream."
        case .upstreamPausedParts: "Topics and apps whose pushes are held back, by upstream."
        case .upstreamPaceLimit: "The most pushes in flight while APNs is overloaded, by upstream."
        case .upstreamClockSkew: "Seconds by which the clock is ahead of APNs', by upstream."
        case .certificateExpiry: "When the client certificate of an app ends, in seconds since 1970."
        case .listenerCertificateExpiry: "When the listener's certificate ends, in seconds since 1970."
        case .httpConnections: "Open connections, by listener."
        case .httpConnectionLimit: "The most connections that may be open, by listener."
        case .httpConnectionsRefused: "Connections that were not taken, or had to make room, by listener and reason."
        case .webhookAttempts: "Requests to endpoints of webhooks, by result."
        case .webhookInFlight: "Requests to endpoints of webhooks under way."
        case .webhookInFlightLimit: "The most requests to endpoints of webhooks under way."
        case .webhookWaiting: "Requests to endpoints of webhooks that wait for their turn."
        case .webhookEndpoints: "Endpoints of webhooks, by state."
        case .webhookLag: "Events that the endpoint of webhooks which is furthest behind has not got."
        case .nodes: "Gateways that work on the store now."
        case .projectsVersion: "The version of the stored projects that is in force."
        case .projectsRefused: "The version of the stored projects that this gateway can't take; 0: none."
        case .buildInfo: "1; the label says which version runs."
        case .httpRequests: "HTTP requests answered, by route and status."
        case .httpDuration: "Seconds to answer an HTTP request, by route."
        }
    }
}
