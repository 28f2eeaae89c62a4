import Foundation

/// What an app install is to the gateway, and what comes next: a value without I/O and without a clock.
///
/// Each event is a method. ``next(at:)`` gives one request, whose answer ``settle(_:serverTime:at:jitter:)`` takes, or
/// says until when there is nothing to do. The device's clock may be wrong and may jump: durations are measured by it,
/// and what the gateway reads is corrected by its own answers.
struct RegistrationState: Sendable {
    /// Where an install stands, in one word.
    enum Phase: String, Hashable, Sendable {
        case uninstalled, installing, waitingForAPNSToken, registering, registered, refreshing
    }

    /// What is to go.
    enum Deletion: Hashable, Sendable {
        case registration
        /// The installation too.
        case everything
    }

    /// A deletion that was asked for.
    private struct PendingDeletion: Hashable, Sendable {
        let extent: Deletion
        /// Topic changes below it, and this change of the user, go with the registration.
        let topicID: UInt64
        let user: UserChange?
        /// Whether the app has asked to be registered since.
        var isFollowed = false
    }

    private enum Work: Hashable, Sendable {
        case idle
        /// Next: idle.
        case sending(MessagingRequest)
    }

    /// Why nothing is asked for a time.
    private struct Hold: Hashable, Sendable {
        let since: Date
        let until: Date
        /// Whether an app that asks for something may end it.
        let isOfNetwork: Bool
        let error: MessagingError

        /// Whether it holds. It does not when the clock jumped back behind its begin; timers may be a little early.
        func holds(at now: Date) -> Bool {
            now < until.addingTimeInterval(-0.001) && now >= since.addingTimeInterval(-1)
        }
    }

    /// What has to be kept.
    private(set) var record: MessagingRecord
    private let appVersion: String
    /// By default, unless the app has set it.
    private let autoInit: Bool
    private let reportsByDefault: Bool
    private var work = Work.idle
    private var apns: (token: Data, environment: MessagingAPNSTokenType)?
    /// Whether the app shall be registered.
    private var isWanted: Bool
    /// Whether the app waits to be registered.
    private var isAsked = false
    /// What events have led to, until it is told.
    private var told: [MessagingEffect] = []
    /// Whether the gateway does not know the registration.
    private var isLost = false
    private var deletion: PendingDeletion?
    private var hold: Hold?
    private var failures = 0
    /// How often in a row a fresh auth token was refused.
    private var refusedAuth = 0
    /// How often in a row the gateway did not know whose receipts they were.
    private var missedReports = 0

    /// Begins with what was kept.
    init(_ record: MessagingRecord, appVersion: String, isAutoInitEnabled: Bool, isReceiptReportingEnabled: Bool) {
        self.record = record
        self.appVersion = appVersion
        autoInit = isAutoInitEnabled
        reportsByDefault = isReceiptReportingEnabled
        isWanted = record.isAutoInitEnabled ?? isAutoInitEnabled || record.isWanted
    }

    // MARK: What it is

    /// Where the install stands.
    var phase: Phase {
        switch record.stage {
        case .uninstalled: work == .sending(.install) ? .installing : .uninstalled
        case .installed: apns == nil ? .waitingForAPNSToken : .registering
        case .registered: if case .sending(.register) = work { .refreshing } else { .registered }
        }
    }

    /// The registration, if there is one.
    var registration: AppRegistration? {
        guard case .registered(_, let registration) = record.stage else { return nil }
        return registration
    }

    /// The device token that APNs gave in this launch, or before.
    var apnsToken: Data? { apns?.token ?? registration?.facts.apnsToken }

    var isAutoInitEnabled: Bool { record.isAutoInitEnabled ?? autoInit }
    var isReceiptReportingEnabled: Bool { record.isReceiptReportingEnabled ?? reportsByDefault }

    // MARK: Events of the app

    /// Has an event happen.
    mutating func apply(_ event: (inout RegistrationState) -> Void) { event(&self) }

    /// APNs gave a device token.
    mutating func setAPNSToken(_ token: Data, environment: MessagingAPNSTokenType) {
        apns = (token, environment)
    }

    /// The app asks for its registration, and is told what came of it.
    mutating func ask() {
        want()
        isAsked = true
    }

    private mutating func want() {
        isWanted = true
        record.isWanted = true
        deletion?.isFollowed = true
        retryNow()
    }

    /// The app came to the foreground, or there is a network again.
    mutating func retryNow() {
        if hold?.isOfNetwork == true { hold = nil }
    }

    mutating func setAutoInit(_ isEnabled: Bool) {
        record.isAutoInitEnabled = isEnabled
        if isEnabled { isWanted = true }
    }

    mutating func setReceiptReporting(_ isEnabled: Bool) {
        record.isReceiptReportingEnabled = isEnabled
        if !isEnabled { record.receipts = [] }
    }

    /// Queues a topic change; one that is the last of its topic already is not queued again.
    mutating func change(topic: String, isSubscription: Bool) {
        want()
        if let last = record.topics.last(where: { $0.topic == topic }), last.isSubscription == isSubscription { return }
        let change = TopicChange(id: record.nextTopicID, topic: topic, isSubscription: isSubscription)
        guard record.topics.count < MessagingRecord.topicLimit else {
            let error = MessagingError(.invalidRequest, "\(MessagingRecord.topicLimit) topic changes wait already.")
            told += [.failed(error), .topicSettled(change, error)]
            return
        }
        record.nextTopicID += 1
        record.topics.append(change)
    }

    /// Queues a receipt, unless the app wants none.
    mutating func add(_ receipt: MessagingReceipt) {
        guard isReceiptReportingEnabled, !record.receipts.contains(where: receipt.says) else { return }
        if record.receipts.count >= MessagingRecord.receiptLimit {
            record.receipts.removeFirst()
            record.droppedReceipts += 1
        }
        record.receipts.append(receipt)
    }

    /// Whether a message is seen for the first time.
    mutating func see(_ message: String) -> Bool {
        guard !record.seen.contains(message) else { return false }
        record.seen.append(message)
        if record.seen.count > MessagingRecord.seenLimit { record.seen.removeFirst() }
        return true
    }

    /// Queues a change of the user, in place of one that waits. What was asked for before goes out before it, to the
    /// registration of the user before; what was asked for for a user who never got one does not go to the next.
    mutating func setUser(_ change: UserChange) {
        if let replaced = record.user {
            let error = MessagingError(.invalidRequest, "The user changed before the gateway heard of the one before.")
            if replaced != change { told.append(.userSettled(replaced, error)) }
            if !replaced.isSameUser(as: change) { told += dropTopics(from: record.userTopicID, error) }
        } else {
            record.userTopicID = record.nextTopicID
        }
        record.user = change
        want()
    }

    /// Drops the topic changes that were asked for for a user whom the gateway does not hear of.
    private mutating func dropTopics(from id: UInt64, _ error: MessagingError) -> [MessagingEffect] {
        let dropped = record.topics.filter { $0.id >= id }
        record.topics.removeAll { $0.id >= id }
        return dropped.map { .topicSettled($0, error) }
    }

    /// Ends the registration, and with it topics; the next launch registers again if ``isAutoInitEnabled``. What waits goes
    /// once it has ended: if that does not come through, all stays as it was.
    mutating func delete(_ extent: Deletion) {
        deletion = PendingDeletion(
            extent: deletion?.extent == .everything ? .everything : extent, topicID: record.nextTopicID,
            user: record.user)
        retryNow()
    }

    /// Drops what was asked for before the deletion.
    private mutating func dropDeleted() {
        guard let deletion else { return }
        let error = MessagingError(.invalidRequest, "The registration was ended before.")
        told += record.topics.filter { $0.id < deletion.topicID }.map { .topicSettled($0, error) }
        record.topics.removeAll { $0.id < deletion.topicID }
        record.receipts = []
        if let user = deletion.user, record.user == user {
            told.append(.userSettled(user, error))
            record.user = nil
        }
        guard !deletion.isFollowed else { return }
        if isAsked { told.append(.registrationFailed(error)) }
        (isWanted, isAsked, record.isWanted) = (false, false, false)
    }

    // MARK: What comes next

    /// The one thing to do now.
    mutating func next(at now: Date) -> MessagingAction {
        guard work == .idle else { return .wait(until: nil) }
        settleDeletion(at: now)
        settleQuestion(at: now)
        guard told.isEmpty else {
            defer { told = [] }
            return .tell(told)
        }
        if let hold, hold.holds(at: now) { return .wait(until: hold.until) }
        hold = nil
        guard let request = request(at: now) else { return .wait(until: nextRefresh) }
        work = .sending(request)
        return .send(request)
    }

    /// A deletion of what is not there is done; one that can't be asked for soon is the app's own to repeat.
    private mutating func settleDeletion(at now: Date) {
        switch (record.stage, deletion?.extent) {
        case (_, nil): break
        case (.uninstalled, .some), (.installed, .registration):
            dropDeleted()
            deletion = nil
            told.append(.deletionSettled(nil))
        case (.installed, .everything), (.registered, .some):
            guard let hold, hold.holds(at: now) else { return }
            deletion = nil
            told.append(.deletionSettled(hold.error))
        }
    }

    /// The app waits for what is there, or for what will not be there soon. A token that stays good while the app says
    /// that it is still there is not waited for.
    private mutating func settleQuestion(at now: Date) {
        guard isAsked else { return }
        if let registration, !isLost, record.user == nil {
            told.append(.registered(registration))
        } else if let hold, hold.holds(at: now) {
            told.append(.registrationFailed(hold.error))
        } else {
            return
        }
        isAsked = false
    }

    private var nextRefresh: Date? {
        guard isWanted, let registration else { return nil }
        return registration.refreshedAt.addingTimeInterval(AppRegistration.refreshInterval)
    }

    private func request(at now: Date) -> MessagingRequest? {
        guard let request = wish(at: now) else { return nil }
        guard let installation = request.prover, !installation.auth.isUsable(at: now) else { return request }
        return .renew(installation)
    }

    /// The first of what is wished for, whether the auth token is still good or not.
    private func wish(at now: Date) -> MessagingRequest? {
        switch record.stage {
        case .uninstalled:
            return isWanted ? .install : nil
        case .installed(let installation):
            if deletion?.extent == .everything { return .uninstall(installation) }
            guard isWanted, let facts else { return nil }
            return .register(installation, facts, hasEarlierTopics ? nil : record.user)
        case .registered(let installation, let registration):
            if deletion != nil { return .unregister(installation, registration: registration.id) }
            return wish(installation, registration, at: now)
        }
    }

    /// The same of an app that is registered. A change of the user stands among the rest in its order: another user gets
    /// another registration, and what was queued before is none of theirs.
    private func wish(
        _ installation: Installation, _ registration: AppRegistration, at now: Date
    ) -> MessagingRequest? {
        if let facts, needsRegistering(registration, at: now) {
            return .register(installation, facts, hasEarlier ? nil : record.user)
        }
        guard !isLost else { return nil }
        let isUserNext = record.user != nil && !hasEarlierTopics
        if let change = record.topics.first, !isUserNext {
            return .changeTopic(installation, registration: registration.id, change)
        }
        if !record.receipts.isEmpty {
            return .report(installation, Array(record.receipts.prefix(100)), clockOffset: record.clockOffset)
        }
        guard isUserNext, let facts else { return nil }
        return .register(installation, facts, record.user)
    }

    private func needsRegistering(_ registration: AppRegistration, at now: Date) -> Bool {
        guard isWanted else { return false }
        return isLost || facts != registration.facts || registration.isDue(at: now)
    }

    /// Whether topic changes wait that were asked for before the change of the user.
    private var hasEarlierTopics: Bool {
        record.user != nil && record.topics.first.map { $0.id < record.userTopicID } ?? false
    }

    /// The same, or receipts, which are always of the user before.
    private var hasEarlier: Bool { hasEarlierTopics || (record.user != nil && !record.receipts.isEmpty) }

    /// What a registration would say now; `nil`: APNs has given no token yet.
    private var facts: RegistrationFacts? {
        if let apns {
            return RegistrationFacts(apnsToken: apns.token, environment: apns.environment, appVersion: appVersion)
        }
        return registration.map {
            RegistrationFacts(
                apnsToken: $0.facts.apnsToken, environment: $0.facts.environment, appVersion: appVersion)
        }
    }

    // MARK: What came of it

    /// Takes the answer to the request that ``next(at:)`` gave.
    ///
    /// - Parameters:
    ///   - serverTime: when the gateway answered, by its own clock; `nil`: it did not say.
    ///   - jitter: from 0 to 1, for the wait after a failure.
    mutating func settle(
        _ answer: MessagingAnswer, serverTime: Date?, at now: Date, jitter: Double
    ) -> [MessagingEffect] {
        guard case .sending(let request) = work else { preconditionFailure("an answer without a request") }
        work = .idle
        if let serverTime { record.clockOffset = serverTime.timeIntervalSince(now).rounded() }
        switch answer {
        case .unanswered(let error):
            return postpone(request, error, retryAfter: nil, at: now, jitter: jitter)
        case .refused(let refusal) where refusal.remedy == .later:
            return postpone(request, refusal.error, retryAfter: refusal.retryAfter, at: now, jitter: jitter)
        case .refused(let refusal):
            return [.failed(refusal.error)] + refused(request, refusal, at: now)
        case .installed, .renewed, .registered, .done:
            failures = 0
            return succeeded(request, answer, at: now)
        }
    }

    private mutating func succeeded(
        _ request: MessagingRequest, _ answer: MessagingAnswer, at now: Date
    ) -> [MessagingEffect] {
        switch (request, answer) {
        case (.install, .installed(let id, let refreshToken, let auth, let lifetime)):
            let token = AuthToken(text: auth, obtainedAt: now, expiresAt: now.addingTimeInterval(lifetime))
            record.stage = .installed(Installation(id: id, refreshToken: refreshToken, auth: token))
            return []
        case (.renew, .renewed(let auth, let lifetime)):
            setAuth(AuthToken(text: auth, obtainedAt: now, expiresAt: now.addingTimeInterval(lifetime)))
            return []
        case (.register(let installation, let facts, let user), .registered(let id, let token)):
            let registration = AppRegistration(id: id, token: token, facts: facts, refreshedAt: now)
            record.stage = .registered(installation, registration)
            record.isWanted = true
            (isLost, isAsked, refusedAuth) = (false, false, 0)
            guard let user else { return [.registered(registration)] }
            // What came in meanwhile was for the user before, whose registration has ended.
            record.receipts = []
            guard record.user == user else { return [.registered(registration)] }
            record.user = nil
            return [.registered(registration), .userSettled(user, nil)]
        case (.changeTopic(_, _, let change), .done):
            refusedAuth = 0
            return drop(change, nil)
        case (.report(_, let receipts, _), .done):
            (refusedAuth, missedReports) = (0, 0)
            drop(receipts)
            return []
        case (.unregister, .done): return unregistered()
        case (.uninstall, .done): return uninstalled()
        case (_, _): preconditionFailure("an answer to another request")
        }
    }

    private mutating func unregistered() -> [MessagingEffect] {
        guard case .registered(let installation, let registration) = record.stage else { return [] }
        record.stage = .installed(installation)
        isLost = false
        dropDeleted()
        return [.unregistered(registration)]
    }

    private mutating func uninstalled() -> [MessagingEffect] {
        record.stage = .uninstalled
        refusedAuth = 0
        return []
    }

    private mutating func setAuth(_ auth: AuthToken) {
        switch record.stage {
        case .uninstalled: break
        case .installed(var installation):
            installation.auth = auth
            record.stage = .installed(installation)
        case .registered(var installation, let registration):
            installation.auth = auth
            record.stage = .registered(installation, registration)
        }
    }

    private mutating func drop(_ change: TopicChange, _ error: MessagingError?) -> [MessagingEffect] {
        let before = record.topics.count
        record.topics.removeAll { $0.id == change.id }
        return record.topics.count == before ? [] : [.topicSettled(change, error)]
    }

    private mutating func drop(_ receipts: [MessagingReceipt]) {
        record.receipts.removeAll { receipts.contains($0) }
    }

    /// What did not come through is asked again after a while; only deletions are the app's own to repeat.
    private mutating func postpone(
        _ request: MessagingRequest, _ error: MessagingError, retryAfter: TimeInterval?, at now: Date, jitter: Double
    ) -> [MessagingEffect] {
        failures += 1
        let delay = RetryDelay.seconds(failures: failures, jitter: jitter, retryAfter: retryAfter)
        hold = Hold(
            since: now, until: now.addingTimeInterval(delay), isOfNetwork: retryAfter == nil, error: error)
        return [.failed(error)] + failed(request, error)
    }

    /// Whom a failure concerns at once: those who wait for a token or a deletion.
    private mutating func failed(_ request: MessagingRequest, _ error: MessagingError) -> [MessagingEffect] {
        if deletion != nil {
            deletion = nil
            return [.deletionSettled(error)]
        }
        switch request {
        case .install, .renew, .register:
            isAsked = false
            return [.registrationFailed(error)]
        case .changeTopic, .report, .unregister, .uninstall: return []
        }
    }

    private mutating func refused(
        _ request: MessagingRequest, _ refusal: GatewayRefusal, at now: Date
    ) -> [MessagingEffect] {
        switch (request, refusal.remedy) {
        case (.uninstall, .renewal), (.uninstall, .registration): return uninstalled()
        case (.unregister, .registration): return unregistered()
        case (.renew, .renewal), (.renew, .registration): return forgetInstallation()
        case (_, .renewal): return renewAuth(at: now)
        case (.register(_, _, let user?), .userProof):
            guard record.user == user else { return [.userSettled(user, refusal.error)] }
            record.user = nil
            // What was asked for as this user is not for the one before, whose registration stays.
            return [.userSettled(user, refusal.error)] + dropTopics(from: record.userTopicID, refusal.error)
        case (.changeTopic(_, _, let change), .registration): return missed(change, refusal.error)
        case (.report(_, let receipts, _), .registration):
            missedReports += 1
            isLost = missedReports == 1
            if missedReports > 1 { drop(receipts) }
            return []
        case (.changeTopic(_, _, let change), .none), (.changeTopic(_, _, let change), .userProof):
            return drop(change, refusal.error)
        case (.report(_, let receipts, _), .none), (.report(_, let receipts, _), .userProof):
            drop(receipts)
            return []
        case (.install, _), (.renew, _), (.register, _), (.unregister, _), (.uninstall, _), (.changeTopic, .credential),
            (.report, .credential), (.changeTopic, .later), (.report, .later):
            hold = Hold(
                since: now, until: now.addingTimeInterval(RetryDelay.afterRefusal), isOfNetwork: false,
                error: refusal.error)
            return failed(request, refusal.error)
        }
    }

    /// The gateway does not know the registration of a topic change: the app registers again, and asks once more.
    private mutating func missed(_ change: TopicChange, _ error: MessagingError) -> [MessagingEffect] {
        isLost = true
        guard let place = record.topics.firstIndex(where: { $0.id == change.id }) else { return [] }
        record.topics[place].misses += 1
        return record.topics[place].misses > 1 ? drop(record.topics[place], error) : []
    }

    /// The auth token is not known, though its time is not over: once another one may help, then another installation.
    private mutating func renewAuth(at now: Date) -> [MessagingEffect] {
        refusedAuth += 1
        guard refusedAuth == 1 else { return forgetInstallation() }
        setAuth(AuthToken(text: "", obtainedAt: now, expiresAt: .distantPast))
        return []
    }

    /// The gateway has lost the installation, as one that was restored from an older copy has.
    private mutating func forgetInstallation() -> [MessagingEffect] {
        record.stage = .uninstalled
        (isLost, refusedAuth) = (false, 0)
        return []
    }
}
