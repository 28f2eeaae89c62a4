import HTTPListener
import HTTPTypes
import HummingbirdCore
import PushModel
import Store
import Synchronization

/// How often clients may ask. Their keys are in every app and so in everybody's hands: what is used with them is limited
/// by the address it comes from, by the registration it is about, and by the project.
///
/// Token buckets: a party may use ten seconds' worth of its rate at once. Where several gateways share a store, each keeps
/// to its part of every rate, so that they hold for all of them together as long as requests are spread evenly.
package final class ClientRateLimits: Sendable {
    /// Requests a second; 0: any number.
    package struct Rates: Hashable, Sendable {
        /// From one address.
        package var address: Int
        /// Of one registration.
        package var registration: Int
        /// Of one project.
        package var project: Int
        /// New registrations from one address.
        package var newRegistrationAddress: Int
        /// New registrations in one project.
        package var newRegistrationProject: Int
        /// New topics from one address in an hour; 0: any number.
        package var hourlyNewTopics = 0
        /// New links from one address.
        package var newLinkAddress = 0
        /// New links in one project.
        package var newLinkProject = 0
        /// Failed authentications from one address, with credentials of any kind.
        package var failures: Int
        /// Proxies in front, each of which adds whom it asks for to `X-Forwarded-For`. The address that the first of
        /// them saw is limited, whatever the client itself wrote there.
        package var proxies: Int

        /// Puts rates together.
        package init(
            address: Int, registration: Int, project: Int, newRegistrationAddress: Int = 0,
            newRegistrationProject: Int = 0, failures: Int = 0, proxies: Int = 0
        ) {
            self.failures = failures
            self.address = address
            self.registration = registration
            self.project = project
            self.newRegistrationAddress = newRegistrationAddress
            self.newRegistrationProject = newRegistrationProject
            self.proxies = proxies
        }

        /// No limits.
        package static let none = Rates(address: 0, registration: 0, project: 0)
    }

    /// Who asks.
    enum Party: Hashable {
        case address(ClientAddress)
        /// Where credentials came from that do not work.
        case failures(ClientAddress)
        case registration(RegistrationID)
        case project(ProjectID)
        case newRegistrationAddress(ClientAddress)
        case newRegistrationProject(ProjectID)
        case newTopicAddress(ClientAddress)
        case newLinkAddress(ClientAddress)
        case newLinkProject(ProjectID)

        /// Whether there are as many as are configured.
        var isProject: Bool {
            switch self {
            case .project, .newRegistrationProject, .newLinkProject: true
            case .address, .failures, .registration, .newRegistrationAddress, .newTopicAddress, .newLinkAddress: false
            }
        }
    }

    private struct Bucket {
        var tokens: Double
        var filledAt: ContinuousClock.Instant
    }

    private struct Buckets {
        /// As many as are configured. Kept apart, so that however many addresses ask, no project's bucket is forgotten.
        var projects: [Party: Bucket] = [:]
        var others: [Party: Bucket] = [:]

        subscript(party: Party) -> Bucket? {
            get { party.isProject ? projects[party] : others[party] }
            set { if party.isProject { projects[party] = newValue } else { others[party] = newValue } }
        }
    }

    /// Seconds' worth of a rate that may come at once.
    static let burstSeconds = 10.0
    /// So many new registrations may come at once from one address, or ten seconds' worth if that is more: a network of
    /// many devices may get an app at the same time.
    static let newRegistrationBurst = 200.0
    /// As many addresses and registrations are kept in mind at most.
    static let partyLimit = 100_000

    let rates: Rates
    /// Lock order: this one, then what ``nodes`` takes.
    private let buckets = Mutex(Buckets())
    private let nodes: @Sendable () -> Int
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Full buckets.
    ///
    /// - Parameters:
    ///   - nodes: how many gateways share the rates, at least 1.
    ///   - now: the time, which never steps back.
    package init(
        _ rates: Rates, nodes: @escaping @Sendable () -> Int = { 1 },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.rates = rates
        self.nodes = nodes
        self.now = now
    }

    /// Counts requests of a party, or the items of one that stand for as many.
    ///
    /// - Throws: RESOURCE_EXHAUSTED with the time until the next is taken.
    func take(_ party: Party, _ count: Int = 1) throws(FCMError) {
        try use(count, of: party, counts: true)
    }

    /// Looks whether requests of a party would be taken, and does not count them.
    ///
    /// - Throws: as ``take(_:_:)``.
    func check(_ party: Party, _ count: Int = 1) throws(FCMError) {
        try use(count, of: party, counts: false)
    }

    /// Takes back what ``take(_:_:)`` counted.
    func giveBack(_ party: Party) {
        buckets.withLock { $0[party]?.tokens += 1 }
    }

    /// More than a full bucket is taken when it is full, and paid back before the next.
    private func use(_ count: Int, of party: Party, counts: Bool) throws(FCMError) {
        let rate = rate(of: party)
        guard rate > 0, count > 0 else { return }
        let time = now()
        let burst = burst(of: party)
        let missing = buckets.withLock { buckets in
            if buckets.others.count >= Self.partyLimit, buckets[party] == nil { forget(&buckets.others, at: time) }
            var bucket = buckets[party] ?? Bucket(tokens: burst, filledAt: time)
            bucket.tokens = tokens(in: bucket, of: party, at: time)
            bucket.filledAt = time
            let missing = max(0, min(Double(count), burst) - bucket.tokens)
            if missing == 0, counts { bucket.tokens -= Double(count) }
            buckets[party] = bucket
            return missing
        }
        guard missing > 0 else { return }
        throw refusal(of: party, retryAfterSeconds: max(1, Int((missing / rate).rounded(.up))))
    }

    private func tokens(in bucket: Bucket, of party: Party, at time: ContinuousClock.Instant) -> Double {
        let passed = (time - bucket.filledAt) / .seconds(1)
        return min(burst(of: party), bucket.tokens + max(0, passed) * rate(of: party))
    }

    private func burst(of party: Party) -> Double {
        let usual = rate(of: party) * Self.burstSeconds
        return switch party {
        case .newRegistrationAddress: max(usual, Self.newRegistrationBurst / Double(nodes()))
        // What an hour brings, at once: a new version of an app may come with topics of its own.
        case .newTopicAddress: Double(rates.hourlyNewTopics) / Double(nodes())
        case .address, .failures, .registration, .project, .newRegistrationProject, .newLinkAddress, .newLinkProject:
            usual
        }
    }

    /// How many parties are kept in mind beside projects.
    var partyCount: Int { buckets.withLock { $0.others.count } }

    /// Makes room: those that have full buckets again are as good as unknown. When all are in use, all are forgotten.
    private func forget(_ buckets: inout [Party: Bucket], at time: ContinuousClock.Instant) {
        buckets = buckets.filter { tokens(in: $0.value, of: $0.key, at: time) < burst(of: $0.key) }
        if buckets.count > Self.partyLimit / 2 { buckets = [:] }
    }

    /// This gateway's part.
    private func rate(of party: Party) -> Double { configuredRate(of: party) / Double(nodes()) }

    private func configuredRate(of party: Party) -> Double {
        switch party {
        case .address: Double(rates.address)
        case .failures: Double(rates.failures)
        case .registration: Double(rates.registration)
        case .project: Double(rates.project)
        case .newRegistrationAddress: Double(rates.newRegistrationAddress)
        case .newRegistrationProject: Double(rates.newRegistrationProject)
        case .newTopicAddress: Double(rates.hourlyNewTopics) / 3600
        case .newLinkAddress: Double(rates.newLinkAddress)
        case .newLinkProject: Double(rates.newLinkProject)
        }
    }

    private func refusal(of party: Party, retryAfterSeconds: Int) -> FCMError {
        var error: FCMError
        switch party {
        case .address:
            error = FCMError(.resourceExhausted, "Too many requests from this address (limits.clientAddressRate).")
            error.quotaSubject = "client address"
        case .failures:
            error = FCMError(
                .resourceExhausted,
                "Too many failed authentications from this address (limits.failedAuthenticationRate).")
            error.quotaSubject = "client address"
        case .registration(let id):
            error = FCMError(
                .resourceExhausted, "Too many requests of this registration (limits.clientRegistrationRate).")
            error.quotaSubject = "registration:\(id)"
        case .project(let id):
            error = FCMError(
                .resourceExhausted, "Too many requests by clients of this project (limits.clientProjectRate).")
            error.quotaSubject = "project:\(id)"
        case .newRegistrationAddress:
            error = FCMError(
                .resourceExhausted,
                "Too many new registrations from this address (limits.newRegistrationAddressRate).")
            error.quotaSubject = "client address"
        case .newTopicAddress:
            error = FCMError(
                .resourceExhausted,
                "Too many new topics from this address: apps make \(rates.hourlyNewTopics) an hour. Topics that are there "
                    + "are not counted, and neither are those that a backend makes.")
            error.quotaSubject = "client address"
        case .newLinkAddress:
            error = FCMError(.resourceExhausted, "Too many new links from this address (limits.newLinkAddressRate).")
            error.quotaSubject = "client address"
        case .newLinkProject(let id):
            error = FCMError(.resourceExhausted, "Too many new links in this project (limits.newLinkProjectRate).")
            error.quotaSubject = "project:\(id)"
        case .newRegistrationProject(let id):
            error = FCMError(
                .resourceExhausted, "Too many new registrations in this project (limits.newRegistrationProjectRate).")
            error.quotaSubject = "project:\(id)"
        }
        error.retryAfterSeconds = retryAfterSeconds
        return error
    }
}
