import PushModel
import Store
import Traces

/// Builds the pushes of claimed deliveries, a batch for each route; what needs no attempt gets its result at once.
///
/// Written for pages: project, app and finished push are looked up when message or app changes, not for each delivery.
struct PushBatchBuilder {
    /// Pushes of one route, with their deliveries in the same order.
    struct Batch {
        let route: PushRoute
        var deliveries: DeliveryList
        var pushes: [Push] = []
        /// The traced messages among them, each once.
        var traced: [MessageID] = []
    }

    /// What the deliveries of one message to one app have in common.
    private struct AppPlan {
        let key: AppKey
        let app: App?
        let push: (any ComposedPush)?
        let canProbe: Bool
        /// After this no attempt is started.
        let expiresAt: Timestamp
        /// Whether the push service is to try it once.
        let isOnce: Bool
        /// Whether what was sent and got no answer is sent again.
        let repeatsUnanswered: Bool
        /// The batches of its channels: an app has two at most.
        var first: (channel: Channel, slot: Int)?
        var second: (channel: Channel, slot: Int)?
    }

    private let claims: [ClaimedDelivery]
    private let lane: Lane
    private let now: Timestamp
    private let random: @Sendable () -> Double
    private let notesTraced: Bool
    private let mayLeave: (@Sendable () -> Bool)?
    private var slots: [PushRoute: Int] = [:]
    // Of the message that is open:
    private var opened: (message: Message, content: any MessageContent)?
    private var seed: UInt64 = 0
    private var ownID: PushID?
    private var isAwaited = false
    private var activityToken: DeviceToken?
    private var apps: [AppPlan] = []
    private var tracedID: MessageID?
    /// The traced messages that were opened, each once.
    private(set) var traced: [MessageID] = []
    /// What is to be sent.
    private(set) var batches: [Batch] = []
    /// What is clear without an attempt.
    private(set) var decided: [Settlement] = []

    /// - Parameters:
    ///   - notesTraced: whether traced messages are noted.
    ///   - mayLeave: whether what was claimed may still be sent.
    init(
        _ claims: [ClaimedDelivery], lane: Lane, now: Timestamp, random: @escaping @Sendable () -> Double,
        notesTraced: Bool = false, mayLeave: (@Sendable () -> Bool)? = nil
    ) {
        self.notesTraced = notesTraced
        self.mayLeave = mayLeave
        self.claims = claims
        self.lane = lane
        self.now = now
        self.random = random
    }

    /// The deliveries that are added next are of this message.
    ///
    /// - Parameter isAwaited: whether their sender waits for their end.
    mutating func open(_ message: Message, _ content: any MessageContent, isAwaited: Bool = false) {
        self.isAwaited = isAwaited
        opened = (message, content)
        seed = message.id.seed
        ownID = content.pushID
        activityToken = content.activityToken
        apps = []
        tracedID = notesTraced && message.id.isTraced ? message.id : nil
        if let tracedID, traced.last != tracedID { traced.append(tracedID) }
    }

    /// How many deliveries were claimed.
    var claimed: Int { claims.count }

    /// Adds the delivery at `place` of the claims, which is of the open message.
    ///
    /// - Parameter look: looks an app up, and what the message says to it; asked once for each app. `nil`: the app is
    ///   not there, or the message can't be built any more.
    mutating func add(_ place: Int, look: (AppKey) -> (app: App?, push: (any ComposedPush)?)) {
        let index = plan(for: claims[place].registration.appKey, look)
        let isOnce = apps[index].isOnce
        let traits = DeliveryTraits(
            pushID: ownID ?? PushID(seed: seed, registration: claims[place].registration.key), isOnce: isOnce,
            isForActivity: activityToken != nil, canProbe: apps[index].canProbe, expiresAt: apps[index].expiresAt,
            repeatsUnanswered: apps[index].repeatsUnanswered)
        if now < apps[index].expiresAt, claims[place].registration.isActive, claims[place].history.probingSince == nil,
            traits.mayRepeat || !claims[place].history.isInterrupted, let push = apps[index].push
        {
            let isSuspect = activityToken != nil || !claims[place].registration.isProven
            append(place, traits, push, claims[place].registration.channel, index, isSuspect: isSuspect)
            return
        }
        // Rare: the whole delivery is looked at.
        let delivery = OpenDelivery(claims[place], lane: lane, traits: traits)
        if let result = early(delivery, apps[index]) {
            decided.append(Settlement(delivery: claims[place], result: result))
        } else if let push = apps[index].push {
            append(place, traits, push, delivery.channel, index, isSuspect: delivery.isSuspect)
        }
    }

    /// The delivery at `place` has no message in the store.
    mutating func addMissing(_ place: Int) {
        let delivery = OpenDelivery(unknown: claims[place], lane: lane)
        decided.append(Settlement(delivery: claims[place], result: delivery.messageMissing(at: now)))
    }

    /// The store could not read the message: the delivery goes back until its time runs out, and does not hold up the
    /// lane.
    mutating func addUnreadable(_ place: Int) {
        let delivery = OpenDelivery(unknown: claims[place], lane: lane)
        let result = delivery.setBack(by: .messageUnreadable, at: now, random: random())
        decided.append(Settlement(delivery: claims[place], result: result))
    }

    /// The result that needs no attempt; `nil`: there is to be one.
    private func early(_ delivery: OpenDelivery, _ plan: AppPlan) -> Settlement.Result? {
        if now >= delivery.expiresAt { return delivery.expired(at: now) }
        if !delivery.claim.registration.isActive { return delivery.unregistered(at: now) }
        if !delivery.mayRepeat, delivery.claim.history.isInterrupted { return delivery.spent(at: now) }
        if plan.app == nil { return delivery.setBack(by: .noRoute, at: now, random: random()) }
        if let app = plan.app, !app.isServed { return delivery.unserved(at: now) }
        if delivery.isProbe, !delivery.canProbe { return delivery.unprobed(at: now) }
        return plan.push == nil ? delivery.unbuildable(at: now) : nil
    }

    private mutating func append(
        _ place: Int, _ traits: DeliveryTraits, _ content: any ComposedPush, _ channel: Channel,
        _ index: Int, isSuspect: Bool
    ) {
        let slot = slot(of: index, channel, project: claims[place].project)
        var address = claims[place].registration.address
        if let activityToken, case .apns(let environment) = channel {
            address = .apple(activityToken, environment)
        } else if address.channel != channel {
            address = address.on(channel)
        }
        batches[slot].deliveries.append(place, traits)
        if let tracedID, batches[slot].traced.last != tracedID { batches[slot].traced.append(tracedID) }
        batches[slot].pushes.append(
            Push(
                route: batches[slot].route, lane: lane,
                address: address, isProven: !isSuspect, isAwaited: isAwaited, content: content,
                payload: content.isPersonal ? content.payload(for: claims[place].registration.id) : content.payload,
                id: traits.pushID, mayLeave: mayLeave))
    }

    private mutating func plan(for key: AppKey, _ look: (AppKey) -> (app: App?, push: (any ComposedPush)?)) -> Int {
        if let known = apps.firstIndex(where: { $0.key == key }) { return known }
        let (app, push) = look(key)
        let expiry = opened.map { $0.message.expiry(of: $0.content, on: key.platform) }
        apps.append(
            AppPlan(
                key: key, app: app, push: push, canProbe: app?.reachesBothEnvironments ?? false,
                expiresAt: expiry?.time ?? Timestamp(milliseconds: .max), isOnce: expiry?.isOnce ?? false,
                repeatsUnanswered: app?.repeatsUnanswered ?? true || push?.collapseID != nil))
        return apps.count - 1
    }

    private mutating func slot(of index: Int, _ channel: Channel, project: ProjectID) -> Int {
        if let known = apps[index].first, known.channel == channel { return known.slot }
        if let known = apps[index].second, known.channel == channel { return known.slot }
        let route = PushRoute(project: project, app: apps[index].key.id, channel: channel)
        let slot = slots[route] ?? batches.count
        if slot == batches.count {
            slots[route] = slot
            var batch = Batch(route: route, deliveries: DeliveryList(of: claims))
            batch.pushes.reserveCapacity(claims.count)
            batches.append(batch)
        }
        if apps[index].first == nil {
            apps[index].first = (channel, slot)
        } else {
            apps[index].second = (channel, slot)
        }
        return slot
    }
}

/// What a delivery's settlement needs to know of its message and app, beside the claim. No references in it: it is
/// copied for each push.
struct DeliveryTraits: Sendable {
    /// The `apns-id` of each of its attempts.
    var pushID: PushID
    /// Whether the push service gets one attempt only (`apns-expiration: 0`, a time to live of 0).
    var isOnce: Bool
    /// Whether it goes to the token of a Live Activity.
    var isForActivity: Bool
    /// Whether the app reaches the environment that the registration is not of.
    var canProbe: Bool
    /// After this no attempt is started.
    var expiresAt: Timestamp
    /// Whether what was sent and got no answer is sent again.
    var repeatsUnanswered = true

    /// Whether an attempt may be made after another that may have been.
    var mayRepeat: Bool { !isOnce && repeatsUnanswered }
}

/// Some of the deliveries that were claimed together, with their traits. The claims stay as the store gave them: a push
/// costs no copy of its claim before it is settled.
struct DeliveryList: Sendable {
    private let claims: [ClaimedDelivery]
    private var places: [Int32] = []
    private var traits: [DeliveryTraits] = []

    /// None of `claims` yet.
    init(of claims: [ClaimedDelivery]) {
        self.claims = claims
        places.reserveCapacity(claims.count)
        traits.reserveCapacity(claims.count)
    }

    /// How many there are.
    var count: Int { places.count }

    /// Whether they were claimed with a page of a fan-out.
    var isOfPage: Bool { claims.first?.page != nil }

    /// Adds the delivery at a place of the claims.
    mutating func append(_ place: Int, _ traits: DeliveryTraits) {
        places.append(Int32(truncatingIfNeeded: place))
        self.traits.append(traits)
    }

    /// The delivery number `index` of the list.
    func delivery(_ index: Int, lane: Lane) -> OpenDelivery {
        OpenDelivery(claims[Int(places[index])], lane: lane, traits: traits[index])
    }
}

extension OpenDelivery {
    /// Opens a claimed delivery.
    init(_ claim: ClaimedDelivery, lane: Lane, traits: DeliveryTraits) {
        self.init(
            claim: claim, lane: lane, isOnce: traits.isOnce, isForActivity: traits.isForActivity,
            pushID: traits.pushID, canProbe: traits.canProbe, endsAt: traits.expiresAt,
            repeatsUnanswered: traits.repeatsUnanswered)
    }

    /// Opens a claimed delivery whose message is not known.
    init(unknown claim: ClaimedDelivery, lane: Lane) {
        self.init(
            claim: claim, lane: lane, isOnce: false, isForActivity: false,
            pushID: PushID(message: claim.message, registration: claim.registration.key), canProbe: false)
    }
}
