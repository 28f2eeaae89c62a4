import JSON
package import PushModel
package import Store
import Traces

/// What is sent to an endpoint in one request, and again until it is taken: one event, or a batch of what happened to
/// devices.
package struct WebhookDelivery: Hashable, Sendable {
    /// `webhook-id`: the same for each attempt, also after a restart.
    package var id: String
    /// The type that its body says.
    package var type: String
    /// What is sent.
    package var body: [UInt8]
    /// The first and the last event.
    package var first: EventNumber
    package var last: EventNumber
    /// How many.
    package var events: Int
    /// Whether it is one event, which may be given up.
    package var isDroppable: Bool
    /// Whether the batch was closed by time: that is written down before it is sent, so that it is made the same again.
    package var isClosedByTime = false
    /// Whether it comes from the dead letters.
    package var isRevival = false

    /// Whether it says something of messages.
    package var isOfMessages = false
    /// The messages of it that are traced, each once, as far as a span has links.
    package var traced: [MessageID] = []
    /// Whether it stands for events that are gone.
    package var isGap = false

    /// The type of a batch.
    package static let batchType = "delivery.batch"
    /// The type of a test.
    package static let testType = "webhook.test"

    /// One event.
    static func event(_ event: Event, report: DeliveryReport?, of endpoint: WebhookID) -> WebhookDelivery {
        var delivery = WebhookDelivery(
            id: "msg_\(endpoint)_\(event.number.rawValue)", type: event.type.rawValue,
            body: EventView.body(event, report: report).bytes, first: event.number, last: event.number, events: 1,
            isDroppable: true)
        delivery.isOfMessages = event.message != nil
        delivery.traced = event.message.map { $0.isTraced ? [$0] : [] } ?? []
        return delivery
    }

    /// Says that retention took events which the endpoint had not got. How many is not known: other projects had numbers
    /// between them.
    static func gap(_ first: EventNumber, _ last: EventNumber, at time: Timestamp, of endpoint: WebhookID)
        -> WebhookDelivery
    {
        let data: [JSONValue.Member] = [
            .init("firstSequence", .number(String(first.rawValue))),
            .init("lastSequence", .number(String(last.rawValue))),
        ]
        let members: [JSONValue.Member] = [
            .init("type", .string(EventType.deliveryGap.rawValue)), .init("timestamp", .string(time.rfc3339)),
            .init("data", .object(data)),
        ]
        var delivery = WebhookDelivery(
            id: "msg_\(endpoint)_gap_\(first.rawValue)_\(last.rawValue)", type: EventType.deliveryGap.rawValue,
            body: JSONValue.object(members).bytes, first: first, last: last, events: 1, isDroppable: true)
        delivery.isGap = true
        return delivery
    }

    /// What the owner asks for to see whether the receiver works.
    static func test(of endpoint: WebhookEndpoint, number: UInt64, at time: Timestamp) -> WebhookDelivery {
        let members: [JSONValue.Member] = [
            .init("type", .string(testType)), .init("timestamp", .string(time.rfc3339)),
            .init("data", .object([.init("webhook", .string(endpoint.name))])),
        ]
        return WebhookDelivery(
            id: "msg_\(endpoint.id)_test_\(String(number, radix: 36))", type: testType,
            body: JSONValue.object(members).bytes, first: .zero, last: .zero, events: 0, isDroppable: true)
    }

    /// An event that was given up before.
    static func revival(_ letter: WebhookDeadLetter) -> WebhookDelivery {
        WebhookDelivery(
            id: letter.delivery, type: letter.type, body: letter.body, first: letter.event, last: letter.event,
            events: 1,
            isDroppable: true, isRevival: true)
    }
}

/// Puts events of devices together until a batch is full.
struct DeliveryBatch {
    private let limits: WebhookBatching
    private var entries: [UInt8] = []
    private(set) var count = 0
    private var first = EventNumber.zero
    private(set) var last = EventNumber.zero
    private var time = Timestamp(milliseconds: 0)
    private var traced: [MessageID] = []
    /// When the first event was seen.
    private(set) var since: Timestamp?

    /// What stands around the entries.
    private static let frameBytes = 200

    init(_ limits: WebhookBatching) {
        self.limits = limits
        entries.reserveCapacity(4096)
    }

    var isEmpty: Bool { count == 0 }

    /// Whether nothing more goes in.
    var isFull: Bool { count >= limits.maxEvents }

    /// When the batch is closed at the latest.
    var end: Timestamp? { since.map { $0 + limits.maxDelay } }

    /// Adds an event; says whether there was room, which there is for the first one.
    mutating func add(_ event: Event, at now: Timestamp) -> Bool {
        let entry = EventView.entry(event).bytes
        guard isEmpty || entries.count + entry.count + Self.frameBytes <= limits.maxBytes else { return false }
        if isEmpty {
            (first, since) = (event.number, now)
        } else {
            entries.append(UInt8(ascii: ","))
        }
        entries += entry
        (last, time) = (event.number, event.time)
        count += 1
        note(event.message)
        return true
    }

    private mutating func note(_ message: MessageID?) {
        guard let message, message.isTraced, traced.count < StepTracer.linkLimit else { return }
        guard !traced.contains(message) else { return }
        traced.append(message)
    }

    /// The batch as it is sent.
    func delivery(to endpoint: WebhookID, isClosedByTime: Bool) -> WebhookDelivery {
        let head = #"{"type":"\#(WebhookDelivery.batchType)","timestamp":"\#(time.rfc3339)","data":{"events":["#
        let tail = #"],"firstSequence":\#(first.rawValue),"lastSequence":\#(last.rawValue)}}"#
        var delivery = WebhookDelivery(
            id: "msg_\(endpoint)_\(first.rawValue)_\(last.rawValue)", type: WebhookDelivery.batchType,
            body: Array(head.utf8) + entries + Array(tail.utf8), first: first, last: last, events: count,
            isDroppable: false, isClosedByTime: isClosedByTime)
        (delivery.isOfMessages, delivery.traced) = (true, traced)
        return delivery
    }
}

extension Event {
    /// The message that it is about.
    fileprivate var message: MessageID? {
        switch kind {
        case .message(let id, _): id
        case .delivery(let event): event.message
        case .receipt(let event): event.message
        case .registrationEnded, .route, .webhook, .click, .referral, .forgotten: nil
        }
    }
}
