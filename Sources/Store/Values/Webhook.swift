import JSON
package import PushModel

/// What an endpoint of webhooks is called outside.
package typealias WebhookID = OpaqueID<WebhookEndpoint>

/// A URL of a project's backend that gets its events, in their order.
package struct WebhookEndpoint: Hashable, Sendable {
    /// Its name outside.
    package var id: WebhookID
    /// Whose it is.
    package var project: ProjectID
    /// What its owner decides.
    package var settings: WebhookSettings
    /// Whether it gets anything.
    package var state: WebhookState
    /// What its requests are signed with, the newest first.
    package var secrets: [WebhookSecret]
    /// How far it is.
    package var position: WebhookPosition
    /// Grows with each change that what is under way has to look at: of settings, state, secrets or place.
    package var revision: Int64
    /// When it was made.
    package var createdAt: Timestamp
    /// When its owner changed it last.
    package var changedAt: Timestamp

    /// Puts an endpoint together.
    package init(
        id: WebhookID, project: ProjectID, settings: WebhookSettings, state: WebhookState = .enabled,
        secrets: [WebhookSecret], position: WebhookPosition, revision: Int64 = 0, createdAt: Timestamp,
        changedAt: Timestamp
    ) {
        self.id = id
        self.project = project
        self.settings = settings
        self.state = state
        self.secrets = secrets
        self.position = position
        self.revision = revision
        self.createdAt = createdAt
        self.changedAt = changedAt
    }

    /// `projects/p/webhooks/w`.
    package var name: String { "projects/\(project)/webhooks/\(id)" }
}

/// Whether an endpoint gets anything.
package enum WebhookState: String, Hashable, Sendable, CaseIterable {
    /// It gets events.
    case enabled = "ENABLED"
    /// Its owner stopped it.
    case disabled = "DISABLED"
    /// It failed for too long, or said that it is gone.
    case autoDisabled = "AUTO_DISABLED"
}

/// What the owner of an endpoint decides.
package struct WebhookSettings: Hashable, Sendable {
    /// Where requests go.
    package var url: String
    /// What people call it.
    package var description: String
    /// What it gets.
    package var types: [EventType]
    /// Which of these.
    package var filter: WebhookFilter
    /// How events of devices are put together.
    package var batching: WebhookBatching

    /// Puts settings together.
    package init(
        url: String, description: String = "", types: [EventType], filter: WebhookFilter = WebhookFilter(),
        batching: WebhookBatching = WebhookBatching()
    ) {
        self.url = url
        self.description = description
        self.types = types
        self.filter = filter
        self.batching = batching
    }
}

/// Which events of its types an endpoint gets.
package struct WebhookFilter: Hashable, Sendable {
    /// Only of these apps; empty: of all.
    package var apps: [NamedApp] = []
    /// Only of messages with these labels; empty: of all.
    package var labels: [AnalyticsLabel] = []
    /// Only of messages to these topics; empty: of all.
    package var topics: [Topic] = []
    /// Only what went wrong.
    package var isOnlyFailures = false
    /// Of what devices report only that of one registration in so many.
    package var sampling = 1

    /// Keeps everything.
    package init() {}
}

/// How events of devices are put together.
package struct WebhookBatching: Hashable, Sendable {
    /// The most events of a batch.
    package static let mostEvents = 500
    /// The most bytes of a batch.
    package static let mostBytes = 256 << 10

    /// At most so many events.
    package var maxEvents = mostEvents
    /// A batch is closed before it is longer than this, of one event longer.
    package var maxBytes = mostBytes
    /// The first event of a batch waits so long for others.
    package var maxDelay: Duration = .seconds(1)

    /// The usual limits.
    package init() {}
}

/// What requests are signed with.
package struct WebhookSecret: Hashable, Sendable {
    /// How.
    package enum Kind: Int, Hashable, Sendable {
        /// HMAC-SHA256; the receiver has the same bytes.
        case symmetric = 0
        /// Ed25519; the receiver has the public key.
        case ed25519 = 1
    }

    /// How.
    package var kind: Kind
    /// The key; of Ed25519 the private one.
    package var bytes: [UInt8]
    /// When it was made.
    package var createdAt: Timestamp
    /// Until when requests are signed with it too; `nil`: it was not replaced.
    package var expiresAt: Timestamp?

    /// Puts a secret together.
    package init(kind: Kind, bytes: [UInt8], createdAt: Timestamp, expiresAt: Timestamp? = nil) {
        self.kind = kind
        self.bytes = bytes
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// How far an endpoint is.
package struct WebhookPosition: Hashable, Sendable {
    /// Everything up to it was taken or is not for the endpoint.
    package var cursor: EventNumber
    /// The last event of a batch that was closed by time: after a restart it is made again as it was. `nil`: batches are as
    /// large as they may be.
    package var boundary: EventNumber?
    /// What is sent once more before the rest.
    package var replay: WebhookReplay?
    /// Attempts of the next delivery that failed.
    package var attempts: Int
    /// Before it nothing is tried.
    package var nextAttemptAt: Timestamp?
    /// Since when every attempt has failed.
    package var failingSince: Timestamp?
    /// The share of the time until it is disabled, in percent, that was told of last.
    package var warned: Int

    /// Puts a position together.
    package init(
        cursor: EventNumber, boundary: EventNumber? = nil, replay: WebhookReplay? = nil, attempts: Int = 0,
        nextAttemptAt: Timestamp? = nil, failingSince: Timestamp? = nil, warned: Int = 0
    ) {
        self.cursor = cursor
        self.boundary = boundary
        self.replay = replay
        self.attempts = attempts
        self.nextAttemptAt = nextAttemptAt
        self.failingSince = failingSince
        self.warned = warned
    }
}

/// Events that are sent once more.
package struct WebhookReplay: Hashable, Sendable {
    /// Everything up to it is through.
    package var cursor: EventNumber
    /// The last one.
    package var last: EventNumber
    /// Only these types; empty: all of the endpoint.
    package var types: [EventType]
    /// Only what stands among the dead letters.
    package var isOnlyFailed: Bool

    /// Puts a replay together.
    package init(after cursor: EventNumber, upTo last: EventNumber, types: [EventType] = [], isOnlyFailed: Bool) {
        self.cursor = cursor
        self.last = last
        self.types = types
        self.isOnlyFailed = isOnlyFailed
    }
}

/// Something about an endpoint that its project is told: on the other endpoints.
package struct WebhookNotice: Hashable, Sendable {
    /// The endpoint.
    package var endpoint: WebhookID
    /// How much of the time until it is disabled has passed, in percent; 100: it is disabled.
    package var percent: Int
    /// Whether it said itself that it is gone.
    package var isGone: Bool

    /// Whether it is disabled now.
    package var isDisabled: Bool { percent >= 100 }

    /// Puts a notice together.
    package init(endpoint: WebhookID, percent: Int, isGone: Bool = false) {
        self.endpoint = endpoint
        self.percent = percent
        self.isGone = isGone
    }
}
