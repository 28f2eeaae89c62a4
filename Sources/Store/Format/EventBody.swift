package import PushModel

/// What one step of the store did, packed into one value of a column: what of it are events.
///
/// The layout: a byte for the kind, then its numbers as ``PackedWriter`` has them. Messages, registrations, ledger blocks
/// and routes are named by their numbers in the store and looked up when events are read. Of deliveries there is no more
/// than which blocks hold them, so that an event of thousands of them takes a few bytes.
package enum EventBody: Hashable, Sendable {
    /// Messages were accepted.
    case accepted(messages: [Int64])
    /// Deliveries ended, registrations were found dead, and messages are complete with that.
    case settled(Settled)
    /// An operator changed where a message stands, or its pause ran out.
    case controlled(message: Int64, Control)
    /// A registration ended by something else than a delivery.
    case registrationEnded(key: Int64, Cause)
    /// A route was paused, or resumed; because of its credential, or of something else.
    case route(Int64, isPaused: Bool, isOfCredential: Bool = false)
    /// More deliveries of messages ended.
    case progress(messages: [Int64])
    /// Devices reported something.
    case receipts([Receipt])
    /// Links were tapped.
    case clicks([Click])
    /// An endpoint of webhooks fails for long, or is disabled.
    case webhook(WebhookNotice)
    /// A referral made a step. With the ids that it has outside: who is forgotten leaves no name here.
    case referral(ReferralStep)

    /// A step that settled.
    package struct Settled: Hashable, Sendable {
        /// The first and the last ledger block, of which those of the project count; of no meaning without deliveries.
        package var blocks: ClosedRange<Int64>
        /// How many deliveries they hold.
        package var deliveries: Int
        /// Registrations that ended as unregistered, in ascending order.
        package var unregistered: [Int64]
        /// Messages that are complete, in ascending order.
        package var complete: [Int64]

        /// Puts a step together.
        package init(
            blocks: ClosedRange<Int64> = 0...0, deliveries: Int = 0, unregistered: [Int64] = [], complete: [Int64] = []
        ) {
            self.blocks = blocks
            self.deliveries = deliveries
            self.unregistered = unregistered
            self.complete = complete
        }
    }

    /// What a device reported.
    package struct Receipt: Hashable, Sendable {
        /// The message.
        package var message: Int64
        /// The registration.
        package var key: Int64
        /// What.
        package var kind: ReceiptKind
        /// When, in milliseconds since 1970.
        package var time: Int64

        /// Puts a receipt together.
        package init(message: Int64, key: Int64, kind: ReceiptKind, time: Int64) {
            self.message = message
            self.key = key
            self.kind = kind
            self.time = time
        }
    }

    /// A tap on a link.
    package struct Click: Hashable, Sendable {
        /// The app.
        package var app: AppKey
        /// The short link's number; 0: it is none.
        package var link: Int64
        /// The invitation.
        package var invitation: InvitationID?

        /// Puts a click together.
        package init(app: AppKey, link: Int64, invitation: InvitationID?) {
            self.app = app
            self.link = link
            self.invitation = invitation
        }
    }

    /// What became of a message.
    package enum Control: UInt8, Sendable {
        case paused = 0, resumed, cancelled
    }

    /// Why a registration ended.
    package enum Cause: UInt8, Sendable {
        case deleted = 0, unregistered, replaced, superseded
    }

    private enum Kind: UInt8 {
        case accepted = 1, settled, controlled, registrationEnded, route, referral, progress, receipts, clicks, webhook
    }

    /// How many events it stands for.
    package var count: Int {
        switch self {
        case .accepted(let messages), .progress(let messages): messages.count
        case .receipts(let receipts): receipts.count
        case .clicks(let clicks): clicks.count
        case .settled(let settled): settled.deliveries + settled.unregistered.count + settled.complete.count
        case .controlled, .registrationEnded, .route, .referral, .webhook: 1
        }
    }
}

extension EventBody {
    /// The packed bytes. Lists of numbers ascend.
    package var data: [UInt8] {
        var writer = PackedWriter(reserving: 24)
        switch self {
        case .accepted(let messages):
            writer.put(byte: Kind.accepted.rawValue)
            writer.put(ascending: messages)
        case .settled(let settled):
            writer.put(byte: Kind.settled.rawValue)
            writer.put(UInt64(settled.deliveries))
            writer.put(signed: settled.blocks.lowerBound)
            writer.put(signed: settled.blocks.upperBound - settled.blocks.lowerBound)
            writer.put(ascending: settled.unregistered)
            writer.put(ascending: settled.complete)
        case .controlled(let message, let control):
            writer.put(byte: Kind.controlled.rawValue)
            writer.put(signed: message)
            writer.put(byte: control.rawValue)
        case .registrationEnded(let key, let cause):
            writer.put(byte: Kind.registrationEnded.rawValue)
            writer.put(signed: key)
            writer.put(byte: cause.rawValue)
        case .route(let route, let isPaused, let isOfCredential):
            writer.put(byte: Kind.route.rawValue)
            writer.put(signed: route)
            writer.put(byte: (isPaused ? 1 : 0) | (isOfCredential ? 2 : 0))
        case .progress(let messages):
            writer.put(byte: Kind.progress.rawValue)
            writer.put(ascending: messages)
        case .receipts(let receipts):
            writer.put(byte: Kind.receipts.rawValue)
            writer.put(UInt64(receipts.count))
            for receipt in receipts { writer.put(receipt) }
        case .clicks(let clicks):
            writer.put(byte: Kind.clicks.rawValue)
            writer.put(UInt64(clicks.count))
            for click in clicks { writer.put(click) }
        case .webhook(let notice):
            writer.put(byte: Kind.webhook.rawValue)
            for byte in notice.endpoint.value.bytes { writer.put(byte: byte) }
            writer.put(byte: UInt8(clamping: notice.percent))
            writer.put(byte: notice.isGone ? 1 : 0)
        case .referral(let step):
            writer.put(byte: Kind.referral.rawValue)
            writer.put(step)
        }
        return writer.bytes
    }

    /// Reads what ``data`` gave.
    ///
    /// - Throws: ``PackedReader/Damage`` for any other bytes.
    package init(decoding bytes: [UInt8]) throws(PackedReader.Damage) {
        var reader = PackedReader(bytes, upTo: bytes.count)
        guard let kind = Kind(rawValue: try reader.byte()) else { throw PackedReader.Damage() }
        switch kind {
        case .accepted: self = .accepted(messages: try reader.ascending())
        case .settled: self = .settled(try Settled(&reader))
        case .controlled:
            let message = try reader.signed()
            guard let control = Control(rawValue: try reader.byte()) else { throw PackedReader.Damage() }
            self = .controlled(message: message, control)
        case .registrationEnded:
            let key = try reader.signed()
            guard let cause = Cause(rawValue: try reader.byte()) else { throw PackedReader.Damage() }
            self = .registrationEnded(key: key, cause)
        case .route:
            let route = try reader.signed()
            let flags = try reader.byte()
            guard flags < 4 else { throw PackedReader.Damage() }
            self = .route(route, isPaused: flags & 1 != 0, isOfCredential: flags & 2 != 0)
        case .progress: self = .progress(messages: try reader.ascending())
        case .receipts: self = .receipts(try reader.receipts())
        case .clicks: self = .clicks(try reader.clicks())
        case .webhook:
            let endpoint = WebhookID(try reader.sixteenBytes())
            let (percent, isGone) = (try reader.byte(), try reader.byte())
            guard isGone < 2 else { throw PackedReader.Damage() }
            self = .webhook(WebhookNotice(endpoint: endpoint, percent: Int(percent), isGone: isGone == 1))
        case .referral: self = .referral(try reader.referralStep())
        }
        guard reader.remaining == 0 else { throw PackedReader.Damage() }
    }
}

extension EventBody.Settled {
    fileprivate init(_ reader: inout PackedReader) throws(PackedReader.Damage) {
        guard let deliveries = Int(exactly: try reader.number()) else { throw PackedReader.Damage() }
        let first = try reader.signed()
        let (last, isTooLarge) = first.addingReportingOverflow(try reader.signed())
        guard !isTooLarge, first <= last else { throw PackedReader.Damage() }
        self.init(
            blocks: first...last, deliveries: deliveries, unregistered: try reader.ascending(),
            complete: try reader.ascending())
    }
}

extension PackedWriter {
    /// Numbers that ascend from 1 or more, with their count before them.
    fileprivate mutating func put(ascending numbers: [Int64]) {
        put(UInt64(numbers.count))
        var last: Int64 = 0
        for number in numbers {
            put(UInt64(number - last))
            last = number
        }
    }
}

extension PackedReader {
    fileprivate mutating func ascending() throws(Damage) -> [Int64] {
        var last: Int64 = 0
        var numbers: [Int64] = []
        for _ in 0..<(try count(ofAtLeast: 1)) {
            last = try key(after: last)
            numbers.append(last)
        }
        return numbers
    }
}

extension PackedWriter {
    fileprivate mutating func put(_ step: ReferralStep) {
        put(byte: UInt8(step.state.rawValue))
        put(byte: UInt8(step.rejection?.rawValue ?? 0))
        for byte in step.invitation.value.bytes { put(byte: byte) }
        // An invitation that was made has no referral, and every other step has one.
        guard step.state != .invited else { return }
        for byte in step.referral?.value.bytes ?? [] { put(byte: byte) }
    }
}

extension PackedReader {
    fileprivate mutating func referralStep() throws(Damage) -> ReferralStep {
        let (state, rejection) = (try byte(), try byte())
        guard let state = ReferralState(rawValue: Int(state)) else { throw Damage() }
        let invitation = InvitationID(try sixteenBytes())
        return ReferralStep(
            invitation: invitation, referral: state == .invited ? nil : ReferralID(try sixteenBytes()), state: state,
            rejection: ReferralRejection(rawValue: Int(rejection)))
    }

    fileprivate mutating func sixteenBytes() throws(Damage) -> SixteenBytes {
        var bytes: [UInt8] = []
        for _ in 0..<16 { bytes.append(try byte()) }
        guard let value = SixteenBytes(bytes) else { throw Damage() }
        return value
    }
}

extension PackedWriter {
    fileprivate mutating func put(_ receipt: EventBody.Receipt) {
        put(signed: receipt.message)
        put(signed: receipt.key)
        put(byte: receipt.kind.packed)
        put(signed: receipt.time)
    }

    fileprivate mutating func put(_ click: EventBody.Click) {
        put(byte: click.app.platform.packed)
        put(text: click.app.id.rawValue)
        put(signed: click.link)
        put(byte: click.invitation == nil ? 0 : 1)
        for byte in click.invitation?.value.bytes ?? [] { put(byte: byte) }
    }
}

extension PackedReader {
    fileprivate mutating func receipts() throws(Damage) -> [EventBody.Receipt] {
        var receipts: [EventBody.Receipt] = []
        for _ in 0..<(try count(ofAtLeast: 4)) {
            let (message, key) = (try signed(), try signed())
            let byte = try byte()
            guard let kind = ReceiptKind.allCases.first(where: { $0.packed == byte }) else { throw Damage() }
            receipts.append(EventBody.Receipt(message: message, key: key, kind: kind, time: try signed()))
        }
        return receipts
    }

    fileprivate mutating func clicks() throws(Damage) -> [EventBody.Click] {
        var clicks: [EventBody.Click] = []
        for _ in 0..<(try count(ofAtLeast: 4)) {
            let byte = try byte()
            guard let platform = Platform.allCases.first(where: { $0.packed == byte }),
                let id = AppID(rawValue: try text())
            else { throw Damage() }
            let link = try signed()
            let hasInvitation = try self.byte()
            guard hasInvitation < 2 else { throw Damage() }
            let invitation = hasInvitation == 1 ? InvitationID(try sixteenBytes()) : nil
            clicks.append(EventBody.Click(app: AppKey(platform, id), link: link, invitation: invitation))
        }
        return clicks
    }
}

extension ReceiptKind {
    fileprivate var packed: UInt8 {
        switch self {
        case .received: 0
        case .opened: 1
        case .impression: 2
        case .dismissed: 3
        }
    }
}

extension Platform {
    fileprivate var packed: UInt8 {
        switch self {
        case .apple: 0
        case .android: 1
        case .web: 2
        }
    }
}
