import APNS
import Delivery
import FCMRelay
import Logging
import PushModel
import ServiceLifecycle
import Synchronization
import WebPush

/// The ways to the push services of all platforms, as the project files say.
///
/// Lifecycle: ``use(_:)`` as often as the configuration changes; ``all`` is shut down by who sends.
final class PushSenders: Sendable {
    private let apple: APNSSender
    private let web: WebPushSender
    private let android: FCMRelaySender

    /// All of them as one.
    let all: PushSwitch
    /// What was put in force last.
    private let inForce = Mutex<ProjectSet?>(nil)

    /// Prepares the ways; nothing is dialed before the first push.
    ///
    /// - Parameters:
    ///   - sharedTokens: where gateways leave provider tokens for each other; `nil`: there is one gateway.
    ///   - wallTime: the same for all of them: a token's age counts by it.
    init(
        _ configuration: GatewayConfiguration, sharedTokens: (any SharedProviderTokens)?, wallTime: @escaping WallTime,
        logger: Logger
    ) {
        apple = APNSSender(
            loopCount: configuration.limits.upstreamThreads,
            connectionLimit: configuration.limits.upstreamConnections, keyLogFile: configuration.keyLogFile,
            badDeviceTokens: configuration.badDeviceTokenLimits, sharedTokens: sharedTokens, wallTime: wallTime,
            logger: logger)
        web = WebPushSender(
            loopCount: configuration.limits.upstreamThreads,
            connectionLimit: configuration.limits.upstreamConnections,
            inFlightLimit: configuration.deliveryLimits.inFlight, wallTime: wallTime, logger: logger)
        android = FCMRelaySender(
            loopCount: configuration.limits.upstreamThreads,
            connectionLimit: configuration.limits.upstreamConnections * FCMRelaySender.connectionShare,
            keyLogFile: configuration.keyLogFile, doubtfulTokens: configuration.badDeviceTokenLimits,
            wallTime: wallTime, logger: logger)
        all = PushSwitch([.apple: apple, .web: web, .android: android])
    }

    /// Puts the apps of all platforms in force.
    ///
    /// - Throws: ``ConfigurationError`` with the field that can't be used; nothing changes then.
    func use(_ projects: ProjectSet) throws(ConfigurationError) {
        do {
            try android.use(projects.androids)
        } catch {
            throw ConfigurationError(problems: [projects.problem(of: error)])
        }
        do {
            try apple.use(projects.upstreams)
        } catch {
            // What was in force can be used: it was.
            try? android.use(inForce.withLock { $0?.androids ?? [] })
            throw ConfigurationError(problems: [projects.problem(of: error)])
        }
        web.use(projects.browsers)
        inForce.withLock { $0 = projects }
    }

    /// So many gateways share the limits of connections and pace from now on.
    func divide(among nodes: Int) {
        apple.divide(among: nodes)
        web.divide(among: nodes)
        android.divide(among: nodes)
    }

    /// Closes connections that are not used any more, once a minute.
    var cleaner: IdleConnectionCleaner { IdleConnectionCleaner(sender: web) }
}

/// Closes the connections to push services of browsers that nothing has been sent to for a while.
struct IdleConnectionCleaner: Service {
    private static let interval: Duration = .seconds(60)

    let sender: WebPushSender

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await ContinuousClock().sleep(for: Self.interval)
                } catch {
                    // Cancelled: the gateway stops, and closes them all.
                    return
                }
                sender.closeIdle()
            }
        }
    }
}
