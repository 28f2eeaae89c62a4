import HTTPListener
package import Logging
package import PushModel
import ServiceLifecycle
package import Store
import Synchronization

/// Takes clicks in: at once for those who ask, and into the store once a second, so that loss of power costs a second of
/// clicks at most. While it starts it reads the clicks that wait for their apps.
///
/// Safe to share. Writes until graceful shutdown, and once more at the end.
package final class ClickRecorder: Service {
    /// The time between two writes.
    package static let interval: Duration = .seconds(1)
    /// Clicks that may wait for a write; more are kept in memory only.
    package static let pendingLimit = 100_000
    /// Clicks in one transaction.
    static let batch = 2000

    /// The clicks that wait.
    package let index: ClickIndex
    private let key: DigestKey
    private let store: any ClickStore
    private let pending = Mutex<[LinkClick]>([])
    private let clock: any Clock<Duration>
    private let wallTime: WallTime
    private let logger: Logger

    /// Prepares a recorder; nothing is read or written before ``run()``.
    ///
    /// - Parameter key: of ``ClickStore/digestKey()``.
    package init(
        store: any ClickStore, key: DigestKey, limits: ClickIndex.Limits = ClickIndex.Limits(),
        clock: any Clock<Duration> = ContinuousClock(), wallTime: @escaping WallTime, logger: Logger
    ) {
        index = ClickIndex(limits)
        self.store = store
        self.key = key
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
    }

    /// Takes a tap in. Not for crawlers, prefetches and HEAD.
    package func record(_ tap: TappedLink, of project: ProjectID) {
        let now = wallTime()
        let lifetime = tap.windows.lifetime(hasReferrer: tap.app.platform == .android)
        let click = LinkClick(
            id: tap.id, project: project, app: tap.app, url: tap.url, link: tap.link, invitation: tap.invitation,
            time: now, expiresAt: now + lifetime,
            traits: DeviceTraits(
                address: tap.address.flatMap(key.address), languages: [tap.languages], system: tap.system,
                device: tap.device))
        index.insert(click, at: now)
        enqueue(click)
    }

    /// Adds what a page says of the device of a click, as long as the click waits.
    package func describe(_ id: ClickID, _ page: PageTraits) {
        guard var click = index.click(id) else { return }
        let traits = DeviceTraits(
            address: nil, width: page.width, height: page.height, languages: [page.language], timeZone: page.timeZone)
        click.traits.screen = traits.screen ?? click.traits.screen
        click.traits.language = traits.language ?? click.traits.language
        click.traits.timeZone = traits.timeZone ?? click.traits.timeZone
        guard index.replace(click) else { return }
        enqueue(click)
    }

    /// Reads the clicks that wait, then writes what comes.
    package func run() async {
        await cancelWhenGracefulShutdown {
            do {
                await self.load()
                while true {
                    try await self.clock.sleep(for: Self.interval)
                    await self.write()
                }
            } catch {
                // Cancelled: the gateway stops.
            }
        }
        await write()
    }

    /// Reads the clicks of the window that are not used up.
    package func load() async {
        let now = wallTime()
        var last: LinkClick?
        do throws(StoreError) {
            while true {
                let clicks = try await store.openClicks(
                    since: now + (.zero - index.window), after: last, limit: Self.batch)
                for click in clicks { index.insert(click, at: now) }
                guard clicks.count == Self.batch else { return }
                last = clicks.last
            }
        } catch {
            // The gateway stops before it has begun.
            guard !Task.isCancelled else { return }
            logger.warning("Open clicks not read", metadata: ["error": "\(error.message)"])
        }
    }

    /// Writes what came since the last time. What can't be written now stays for the next, as far as there is room.
    package func write() async {
        var clicks = pending.withLock { pending in
            defer { pending = [] }
            return pending[...]
        }
        while !clicks.isEmpty {
            do throws(StoreError) {
                try await store.add(Array(clicks.prefix(Self.batch)))
            } catch {
                logger.warning(
                    "Clicks not written", metadata: ["count": "\(clicks.count)", "error": "\(error.message)"])
                return pending.withLock { $0 = Array((Array(clicks) + $0).prefix(Self.pendingLimit)) }
            }
            clicks = clicks.dropFirst(Self.batch)
        }
    }

    private func enqueue(_ click: LinkClick) {
        pending.withLock { pending in
            if pending.count < Self.pendingLimit { pending.append(click) }
        }
    }
}
