package import Logging
package import PushModel
import ServiceLifecycle
package import Store

/// Clears away what is not needed any more, once an hour, a little at a time.
package struct Housekeeper: Service {
    /// Something that is cleared away.
    package struct Chore: Sendable {
        /// What it is, for logs.
        package var name: String
        /// Clears away some of what is out of date at the given time, in one transaction.
        package var run: @Sendable (_ now: Timestamp) async throws(StoreError) -> RetentionProgress
        /// The rest between two steps, so that other writes come in between.
        package var rest: Duration = .milliseconds(50)

        /// Things in one step: a transaction that others hardly notice.
        private static let step = 1000

        /// Describes a chore that clears away at most `limit` things in a step.
        ///
        /// - Parameter run: says how many; fewer than `limit`: nothing is left.
        package init(
            _ name: String, run: @escaping @Sendable (_ now: Timestamp, _ limit: Int) async throws(StoreError) -> Int
        ) {
            self.name = name
            self.run = { now throws(StoreError) in
                let count = try await run(now, Self.step)
                return RetentionProgress(count: count, isDone: count < Self.step)
            }
        }

        /// Describes a chore whose steps say themselves when nothing is left.
        init(
            _ name: String, rest: Duration,
            steps: @escaping @Sendable (_ now: Timestamp) async throws(StoreError) -> RetentionProgress
        ) {
            self.name = name
            self.rest = rest
            run = steps
        }

        /// Forgets idempotency keys that are counted long enough.
        package static func idempotencyKeys(of store: any MessageStore) -> Chore {
            Chore("idempotency keys") { now, limit throws(StoreError) in
                try await store.forgetIdempotencyKeys(expiredBefore: now, limit: limit)
            }
        }

        /// Forgets access tokens that are over.
        package static func accessTokens(of store: any ServiceAccountStore) -> Chore {
            Chore("access tokens") { now, limit throws(StoreError) in
                try await store.forgetAccessTokens(expiredBefore: now, limit: limit)
            }
        }

        /// Forgets sign-in links that are over, and sessions that began a week ago or were not used for a day.
        package static func signIns(of store: any OperatorStore) -> Chore {
            Chore("sign-ins") { now, limit throws(StoreError) in
                try await store.forgetSignIns(
                    linksBefore: now, sessionsBegunBefore: now + .seconds(-7 * 86_400),
                    usedBefore: now + .seconds(-86_400), limit: limit)
            }
        }

        /// How long an audit entry is kept: a year.
        package static let auditLifetime: Duration = .seconds(365 * 86_400)

        /// Forgets audit entries that are older than ``auditLifetime``.
        package static func auditEntries(of store: any AuditStore) -> Chore {
            Chore("audit entries") { now, limit throws(StoreError) in
                try await store.forgetAuditEntries(before: now + (.zero - auditLifetime), limit: limit)
            }
        }

        /// Forgets events that are older than `lifetime`.
        package static func events(of store: any EventStore, lifetime: Duration) -> Chore {
            Chore("events") { now, limit throws(StoreError) in
                try await store.forgetEvents(before: now + (.zero - lifetime), limit: limit)
            }
        }

        /// Forgets auth tokens of installations that expired.
        package static func installationTokens(of store: any InstallationStore) -> Chore {
            Chore("installation tokens") { now, limit throws(StoreError) in
                try await store.forgetInstallationTokens(before: now, limit: limit)
            }
        }

        /// How long an installation is kept that asks for no auth token, which an app does each week that it is used: as
        /// long as FCM takes an unused token for alive.
        package static let unusedInstallationLifetime: Duration = .seconds(270 * 86_400)

        /// Forgets installations that were not used for ``unusedInstallationLifetime``.
        package static func installations(of store: any InstallationStore) -> Chore {
            Chore("unused installations") { now, limit throws(StoreError) in
                try await store.forgetInstallations(
                    unusedSince: now + (.zero - unusedInstallationLifetime), limit: limit)
            }
        }

        /// How long the counters of a day of a link are kept.
        package static let linkCountLifetime: Duration = .seconds(400 * 86_400)

        /// Forgets counters of links that are older than ``linkCountLifetime``.
        package static func linkCounts(of store: any LinkStore) -> Chore {
            Chore("counters of links") { now, limit throws(StoreError) in
                let time = now + (.zero - linkCountLifetime)
                return try await store.forgetLinkCounts(before: Int(time.milliseconds / 86_400_000), limit: limit)
            }
        }

        /// Forgets figures of charts that are older than any chart.
        package static func traffic(of store: any TrafficStore) -> Chore {
            Chore("figures of charts") { now, limit throws(StoreError) in
                try await store.forgetTraffic(at: now, limit: limit)
            }
        }

        /// How long it is kept how many joined and left a topic on a day: longer by a day than the thirty days that are shown.
        package static let topicDayLifetime: Duration = .seconds(31 * 86_400)

        /// Forgets what topics gained and lost longer than ``topicDayLifetime`` ago.
        package static func topicDays(of store: any SubscriptionStore) -> Chore {
            Chore("days of topics") { now, limit throws(StoreError) in
                try await store.forgetTopicDays(
                    before: DeliveryDay.day(of: now + (.zero - topicDayLifetime)), limit: limit)
            }
        }

        /// How long a topic without subscribers is kept.
        package static let emptyTopicLifetime: Duration = .seconds(30 * 86_400)

        /// Purges topics that have been empty for longer than ``emptyTopicLifetime`` and that no message is of.
        package static func emptyTopics(of store: any SubscriptionStore) -> Chore {
            Chore("empty topics") { now, limit throws(StoreError) in
                try await store.purgeTopics(
                    emptySince: now + (.zero - emptyTopicLifetime), at: now, limit: limit)
            }
        }

        /// How long an ended registration is kept: until then reports can say of it what it was.
        package static let endedRegistrationLifetime: Duration = .seconds(30 * 86_400)

        /// Purges registrations that ended longer ago than ``endedRegistrationLifetime``.
        package static func endedRegistrations(of store: any RegistrationStore) -> Chore {
            Chore("ended registrations") { now, limit throws(StoreError) in
                try await store.purge(endedBefore: now + (.zero - endedRegistrationLifetime), limit: limit)
            }
        }
    }

    private static let interval: Duration = .seconds(3600)
    /// How often a gateway that is not the first one looks whether it is now.
    private static let othersInterval: Duration = .seconds(10)

    private let chores: [Chore]
    private let nodes: LiveNodes
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let logger: Logger

    /// Prepares a housekeeper.
    ///
    /// - Parameter nodes: the gateways that share the store, of which the first one works.
    package init(
        _ chores: [Chore], nodes: LiveNodes = LiveNodes(), clock: any Clock<Duration>, wallTime: @escaping WallTime,
        logger: Logger
    ) {
        self.chores = chores
        self.nodes = nodes
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
    }

    /// Works until graceful shutdown or cancellation; the first round begins at once.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                while true {
                    guard nodes.isFirst else {
                        try await clock.sleep(for: Self.othersInterval)
                        continue
                    }
                    for chore in chores { try await run(chore) }
                    try await clock.sleep(for: Self.interval)
                }
            } catch {
                // Cancelled: the gateway stops.
            }
        }
    }

    /// Runs a chore to its end; a failing store is left alone until the next round.
    private func run(_ chore: Chore) async throws(CancellationError) {
        var total = 0
        do {
            while true {
                let progress = try await chore.run(wallTime())
                total += progress.count
                if progress.isDone { break }
                try await clock.sleep(for: chore.rest)
            }
        } catch let error as StoreError {
            if Task.isCancelled { throw CancellationError() }
            logger.warning("housekeeping failed", metadata: ["chore": "\(chore.name)", "error": "\(error)"])
        } catch {
            throw CancellationError()
        }
        if total > 0 { logger.info("cleared away", metadata: ["chore": "\(chore.name)", "count": "\(total)"]) }
    }
}
