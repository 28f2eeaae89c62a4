import HTTPTypes
import HummingbirdCore
import PushModel
import Store
import Synchronization

/// How often clients may ask. Their keys are in every app and so in everybody's hands: what is used with them is limited
/// by the address it comes from, by the registration it is about, and by the project.
///
/// Token buckets: a party may use ten seconds' worth of its rate at once.
public final class ClientRateLimits: Sendable {
    /// Requests a second; 0: any number.
    public struct Rates: Hashable, Sendable {
        /// From one address.
        public var address: Int
        /// Of one registration.
        public var registration: Int
        /// Of one project.
        public var project: Int
        /// Proxies in front, each of which adds whom it asks for to `X-Forwarded-For`. The address that the first of
        /// them saw is limited, whatever the client itself wrote there.
        public var proxies: Int

        /// Puts rates together.
        public init(address: Int, registration: Int, project: Int, proxies: Int = 0) {
            self.address = address
            self.registration = registration
            self.project = project
            self.proxies = proxies
        }

        /// No limits.
        public static let none = Rates(address: 0, registration: 0, project: 0)
    }

    /// Who asks.
    enum Party: Hashable {
        case address(ClientAddress)
        case registration(RegistrationID)
        case project(ProjectID)
    }

    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    private struct Buckets {
        /// As many as are configured. Kept apart, so that however many addresses ask, no project's bucket is forgotten.
        var projects: [ProjectID: Bucket] = [:]
        var others: [Party: Bucket] = [:]

        subscript(party: Party) -> Bucket? {
            get { if case .project(let id) = party { projects[id] } else { others[party] } }
            set { if case .project(let id) = party { projects[id] = newValue } else { others[party] = newValue } }
        }
    }

    /// Seconds' worth of a rate that may come at once.
    static let burstSeconds = 10.0
    /// As many addresses and registrations are kept in mind at most.
    static let partyLimit = 100_000

    let rates: Rates
    private let buckets = Mutex(Buckets())
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Full buckets.
    ///
    /// - Parameter now: the time, which never steps back.
    public init(_ rates: Rates, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.rates = rates
        self.now = now
    }

    /// Counts a request of a party.
    ///
    /// - Throws: RESOURCE_EXHAUSTED with the time until the next is taken.
    func take(_ party: Party) throws(FCMError) {
        try use(1, of: party)
    }

    /// Looks whether a request of a party would be taken, and does not count it.
    ///
    /// - Throws: as ``take(_:)``.
    func check(_ party: Party) throws(FCMError) {
        try use(0, of: party)
    }

    private func use(_ count: Double, of party: Party) throws(FCMError) {
        let rate = Double(rate(of: party))
        guard rate > 0 else { return }
        let time = now()
        let missing = buckets.withLock { buckets in
            if buckets.others.count >= Self.partyLimit, buckets[party] == nil { Self.forget(&buckets.others, at: time) }
            var bucket = buckets[party] ?? Bucket(tokens: rate * Self.burstSeconds, filledAt: time)
            let passed = (time - bucket.filledAt) / .seconds(1)
            bucket.tokens = min(rate * Self.burstSeconds, bucket.tokens + max(0, passed) * rate)
            bucket.filledAt = time
            let missing = max(0, 1 - bucket.tokens)
            if missing == 0 { bucket.tokens -= count }
            buckets[party] = bucket
            return missing
        }
        guard missing > 0 else { return }
        throw refusal(of: party, retryAfterSeconds: max(1, Int((missing / rate).rounded(.up))))
    }

    /// How many parties are kept in mind beside projects.
    var partyCount: Int { buckets.withLock { $0.others.count } }

    /// Makes room: those that have been quiet for long enough to have full buckets again are as good as unknown. When
    /// nobody is, all are forgotten.
    private static func forget(_ buckets: inout [Party: Bucket], at time: ContinuousClock.Instant) {
        buckets = buckets.filter { time - $0.value.filledAt < .seconds(burstSeconds) }
        if buckets.count > partyLimit / 2 { buckets = [:] }
    }

    private func rate(of party: Party) -> Int {
        switch party {
        case .address: rates.address
        case .registration: rates.registration
        case .project: rates.project
        }
    }

    private func refusal(of party: Party, retryAfterSeconds: Int) -> FCMError {
        var error: FCMError
        switch party {
        case .address:
            error = FCMError(.resourceExhausted, "Too many requests from this address (limits.clientAddressRate).")
            error.quotaSubject = "client address"
        case .registration(let id):
            error = FCMError(
                .resourceExhausted, "Too many requests of this registration (limits.clientRegistrationRate).")
            error.quotaSubject = "registration:\(id)"
        case .project(let id):
            error = FCMError(
                .resourceExhausted, "Too many requests by clients of this project (limits.clientProjectRate).")
            error.quotaSubject = "project:\(id)"
        }
        error.retryAfterSeconds = retryAfterSeconds
        return error
    }
}

extension Call {
    /// Counts a client's request against the limits of its address and its project; other callers have none.
    func checkRate(of caller: Caller) throws(FCMError) {
        guard caller.role == .client else { return }
        // Looked at first, so that what the project refuses leaves no address behind; counted last, so that what one
        // address asks too often is not the project's loss.
        try services.clientLimits.check(.project(caller.project))
        if let address = clientAddress { try services.clientLimits.take(.address(address)) }
        try services.clientLimits.take(.project(caller.project))
    }

    /// Where the request comes from, as the outermost proxy of ours saw it.
    private var clientAddress: ClientAddress? {
        forwardedAddress.map { ClientAddress($0) }
    }

    private var forwardedAddress: String? {
        let proxies = services.clientLimits.rates.proxies
        guard proxies > 0 else { return context.address }
        let hops = request.headers[values: .forwardedFor]
            .flatMap { $0.split(separator: ",") }.map { String($0.trimmingBlanks) }
        return hops.count >= proxies ? hops[hops.count - proxies] : context.address
    }
}

extension ProjectCall {
    /// Counts a client's request against the limit of the registration that it is about.
    func checkRate(of registration: RegistrationID) throws(FCMError) {
        guard caller.role == .client else { return }
        try services.clientLimits.take(.registration(registration))
    }
}
