package import Delivery
import Hummingbird
package import HummingbirdCore
package import Links
package import Logging
package import PushModel
package import Store

/// What the console asks of its store.
package typealias ConsoleStore = APIStore & OperatorStore

/// What the console stands on.
package struct ConsoleServices: Sendable {
    /// Everything that is kept.
    package var store: any ConsoleStore
    /// The projects as configured.
    package var projects: ProjectDirectory
    /// Under which URL operators reach the gateway, without a slash at the end.
    package var publicURL: @Sendable () -> String
    /// What the reasons in the ledger stand for.
    package var refusals: RefusalCatalog
    /// Makes the bytes of a message, which the composer shows.
    package var composer: any PushComposer
    /// How deliveries of a project ended lately.
    package var traffic: Traffic
    /// The hosts of links.
    package var linkHosts: LinkHosts
    /// Makes a new API key.
    package var makeKey: MakeKey
    /// The configuration in force, by section, without secrets.
    package var settings: [SettingSection]
    /// As many proxies in front add whom they ask for to `X-Forwarded-For`.
    package var proxies: Int
    /// The proxy for what the console asks of others.
    package var forwardProxy: ForwardProxy.Choice
    /// By which waits end.
    package var clock: any Clock<Duration>
    /// Wall time.
    package var wallTime: WallTime
    /// Logs what goes wrong.
    package var logger: Logger
    /// Up to how many recipients Review counts one by one: that takes some microseconds for each, and of more the number that
    /// it can be at most, from counts that are kept, says as much.
    var reviewCountLimit = 20_000
    /// Audiences that were counted at Review.
    let audienceCounts = AudienceCounts()

    /// Puts the services together.
    package init(
        store: any ConsoleStore, projects: ProjectDirectory, publicURL: @escaping @Sendable () -> String,
        refusals: RefusalCatalog, composer: any PushComposer,
        traffic: @escaping Traffic, linkHosts: LinkHosts,
        makeKey: @escaping MakeKey, settings: [SettingSection] = [], proxies: Int = 0,
        forwardProxy: @escaping ForwardProxy.Choice = { _, _ in nil }, clock: any Clock<Duration> = ContinuousClock(),
        wallTime: @escaping WallTime, logger: Logger
    ) {
        self.store = store
        self.projects = projects
        self.publicURL = publicURL
        self.refusals = refusals
        self.composer = composer
        self.traffic = traffic
        self.linkHosts = linkHosts
        self.makeKey = makeKey
        self.settings = settings
        self.proxies = proxies
        self.forwardProxy = forwardProxy
        self.clock = clock
        self.wallTime = wallTime
        self.logger = logger
    }

    /// How deliveries of a project ended within a span.
    package typealias Traffic =
        @Sendable (_ project: ProjectID, _ span: TrafficSpan) async throws(StoreError) -> TrafficSeries

    /// Makes a key for a project, of a role, at a time, with a name and an end: its text and what the store keeps of it.
    package typealias MakeKey =
        @Sendable (
            _ project: ProjectID, _ role: Role, _ time: Timestamp, _ name: String?, _ end: Timestamp?
        ) -> (text: String, record: APIKeyRecord)

    /// Sends a request of an operator through the API's own routes.
    package typealias Calls = @Sendable (_ request: Request, _ use: OperatorUse) async throws -> Response
}

/// Settings in force that belong together.
package struct SettingSection: Hashable, Sendable {
    /// What they are called.
    package var title: String
    /// A name and its value.
    package var rows: [Row]

    /// One setting.
    package struct Row: Hashable, Sendable {
        /// Its name in the configuration.
        package var name: String
        /// Its value, as text.
        package var value: String

        /// Puts a setting together.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Puts a section together.
    package init(_ title: String, _ rows: [Row]) {
        self.title = title
        self.rows = rows
    }
}
