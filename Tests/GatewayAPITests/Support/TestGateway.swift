import APNS
import Delivery
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JSON
import Links
import Logging
import NIOCore
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Synchronization
import TestSupport
import Testing

@testable import GatewayAPI

/// The API over a real store in a directory of its own, with keys of every role.
final class TestGateway: Sendable {
    static let startTime = Timestamp(milliseconds: 1_767_323_045_678)
    static let startText = "2026-01-02T03:04:05.678Z"

    static let publicURL = "https://push.example.com/herald"

    let directory: TestDirectory
    let store: SQLiteStore
    let acceptor: MessageAcceptor
    let services: GatewayServices
    let keys: [Role: APIKey]
    /// An admin key of the project `other`.
    let foreignKey: APIKey
    let clock: Dial
    /// To which webhooks go.
    let receiver = WebhookReceiver()
    /// Who claims and settles.
    let worker: WorkerID
    private let limits: BodyLimits
    /// The routes of ``services``, made with the first request: it takes longer than to answer one.
    private let responder = Mutex<HostResponder?>(nil)

    init(
        storeState: StoreState = StoreState(), limits: DeliveryLimits = DeliveryLimits(), bodyLimitBytes: Int = 1 << 20,
        batchLimitBytes: Int = 32 << 20, isBroken: Bool = false, webApps: [String] = [],
        androidApps: [String] = [], otherApps: [App] = [], requiresInstallation: Bool = true, disk: DiskSpace? = nil,
        clientLimits: ClientRateLimits = ClientRateLimits(.none), topics: TopicPolicy = TopicPolicy(),
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    ) async throws {
        let clock = Dial(Self.startTime)
        directory = try TestDirectory()
        store = try SQLiteStore(directory: directory.file("data"), role: .gateway, logger: logger)
        acceptor = MessageAcceptor(
            store: store, composer: AppleComposer(), admission: Admission(in: store, limits: limits), runner: nil,
            disk: disk, wallTime: { clock.now })
        var services = GatewayServices(
            store: isBroken ? BrokenStore(keys: store) : store, acceptor: acceptor,
            controller: MessageController(store: store, runner: nil, wallTime: { clock.now }),
            projects: ProjectDirectory([
                Self.project(
                    "demo", 123_456_789_012, webApps: webApps, androidApps: androidApps, otherApps: otherApps,
                    topics: topics,
                    requiresInstallation: requiresInstallation),
                Self.project("other", 99),
            ]),
            upstreams: { [Self.upstream] }, storeState: { storeState }, refusals: .sample,
            metricsText: { "herald_up 1\n" },
            clientLimits: clientLimits, publicURL: { Self.publicURL }, wallTime: { clock.now }, logger: logger)
        services.state.disk = { disk?.state }
        services.request.webhooks = receiver.controller(over: store, at: clock, logger: logger)
        services.request.digestKey = DigestKey(try await store.digestKey())
        self.services = services
        let demo = try #require(ProjectID(rawValue: "demo"))
        let other = try #require(ProjectID(rawValue: "other"))
        keys = Dictionary(
            uniqueKeysWithValues: Role.allCases.map { ($0, APIKey(project: demo, role: $0, at: Self.startTime)) })
        foreignKey = APIKey(project: other, role: .admin, at: Self.startTime)
        self.clock = clock
        self.limits = BodyLimits(standard: bodyLimitBytes, batch: batchLimitBytes)
        worker = try await store.enroll("test", for: .seconds(1_000_000))
        for key in Array(keys.values) + [foreignKey] { try await store.insert(key.record, by: .gateway) }
    }

    /// The time that the gateway sees.
    final class Dial: Sendable {
        private let time: Mutex<Timestamp>

        init(_ time: Timestamp) {
            self.time = Mutex(time)
        }

        var now: Timestamp { time.withLock { $0 } }

        func advance(by duration: Duration) {
            time.withLock { $0 = $0 + duration }
        }
    }

    static func project(
        _ id: String, _ number: Int64, webApps: [String] = [], androidApps: [String] = [], otherApps: [App] = [],
        topics: TopicPolicy = TopicPolicy(), requiresInstallation: Bool = true
    ) -> Project {
        let apps = ["com.example.app", "com.example.dev"].compactMap { AppID(rawValue: $0) }
        return Project(
            id: ProjectID(rawValue: id)!, number: number,
            apps: apps.map {
                App(id: $0, environment: $0.rawValue.hasSuffix("dev") ? .sandbox : .production, firebaseKeys: .none)
            } + webApps.map { App(web: AppID(rawValue: $0)!) }
                + androidApps.map { App(id: AppID(rawValue: $0)!, service: .android(isReached: false)) } + otherApps,
            topics: topics,
            requiresInstallation: requiresInstallation)
    }

    static let upstream = UpstreamStatus(
        name: "api.push.apple.com:443 TEAM123456/ABC1234567", isReachable: false, lastFailure: "connection refused",
        connections: 0, streamsInUse: 0, streamLimit: 0, queued: 3, queueLimit: 10_000, circuit: .open)

    /// The application that the server runs.
    var application: some ApplicationProtocol { application(over: services) }

    /// The application over other services.
    func application(
        over services: GatewayServices, on routes: GatewayListener.Routes = .api(withOperations: true)
    ) -> some ApplicationProtocol {
        application(of: GatewayRouter(services: services, limits: limits, routes: routes).responder())
    }

    private func application(of responder: HostResponder) -> some ApplicationProtocol {
        Application(responder: responder, logger: services.logger)
    }

    /// What answers a request: made once for the gateway's own services and all routes.
    private func responder(
        over services: GatewayServices?, on routes: GatewayListener.Routes
    ) -> HostResponder {
        guard services == nil, routes == .api(withOperations: true) else {
            return GatewayRouter(services: services ?? self.services, limits: limits, routes: routes).responder()
        }
        return responder.withLock { kept in
            let responder = kept ?? GatewayRouter(services: self.services, limits: limits, routes: routes).responder()
            kept = responder
            return responder
        }
    }
}

/// An answer.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPFields
    let text: String

    /// The body as JSON.
    var json: JSONValue { get throws { try JSONValue(parsing: Array(text.utf8)) } }

    /// `error.message`.
    var errorMessage: String? { get throws { try json["error"]?["message"]?.stringValue } }

    /// `error.status`.
    var errorStatus: String? { get throws { try json["error"]?["status"]?.stringValue } }

    /// The member `name`, a list.
    func list(_ name: String) throws -> [JSONValue]? {
        guard case .array(let elements)? = try json[name] else { return nil }
        return elements
    }

    /// `errorCode` of the first detail, when that is the FcmError.
    var errorCode: String? {
        get throws {
            guard case .array(let details) = try json["error"]?["details"], let first = details.first,
                first["@type"] == .string("type.googleapis.com/google.firebase.fcm.v1.FcmError")
            else { return nil }
            return first["errorCode"]?.stringValue
        }
    }

    /// The fields of the BadRequest detail.
    var badFields: [String] {
        get throws {
            guard case .array(let details) = try json["error"]?["details"] else { return [] }
            return details.flatMap { detail -> [String] in
                guard case .array(let violations) = detail["fieldViolations"] else { return [] }
                return violations.map { $0["field"]?.stringValue ?? "" }
            }
        }
    }
}

extension TestGateway {
    /// Sends one request with a key of `role` (none: no key).
    func request(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, as role: Role? = .admin,
        headers: HTTPFields = [:], over services: GatewayServices? = nil,
        on routes: GatewayListener.Routes = .api(withOperations: true)
    ) async throws -> Answer {
        try await request(
            method, path, bytes: body.map { ByteBuffer(string: $0) }, as: role, headers: headers, over: services,
            on: routes)
    }

    /// Sends one request whose body may be anything.
    func request(
        _ method: HTTPRequest.Method, _ path: String, bytes: ByteBuffer?, as role: Role? = .admin,
        headers: HTTPFields = [:], over services: GatewayServices? = nil,
        on routes: GatewayListener.Routes = .api(withOperations: true)
    ) async throws -> Answer {
        var headers = headers
        if let role { headers[.authorization] = "Bearer " + (try #require(keys[role])).text }
        let responder = responder(over: services, on: routes)
        return try await application(of: responder).test(.router) { [headers] client in
            let response = try await client.executeRequest(uri: path, method: method, headers: headers, body: bytes)
            return Answer(
                status: response.status.code, headers: response.headers, text: String(buffer: response.body))
        }
    }

    /// Registers a device without an installation, as an import does; its device token ends in these hex digits. Returns
    /// its FID and token.
    func register(_ deviceToken: String = "00aa11", app: String = "com.example.app") async throws -> (
        id: String, token: String
    ) {
        let answer = try await request(
            .post, "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#(deviceToken.deviceToken)","bundle_id":"\#(app)"}}"#)
        let name = try #require(try answer.json["name"]?.stringValue)
        return (
            String(try #require(name.split(separator: "/").last)), try #require(try answer.json["token"]?.stringValue)
        )
    }

    /// A registration of the project `other`.
    func foreignRegistration() async throws -> Registration {
        try await store.register(
            RegistrationRequest(
                project: #require(ProjectID(rawValue: "other")), app: #require(AppID(rawValue: "com.example.app")),
                address: .apple(#require(DeviceToken(hex: "f0".deviceToken)), .production), appVersion: nil),
            at: Self.startTime
        ).registration
    }

    /// Claims what is due in a lane, as a worker would: of each fan-out a page.
    func claim(_ lane: Lane) async throws -> [ClaimedDelivery] {
        var claimed: [ClaimedDelivery] = []
        switch lane {
        case .interactive:
            for route in try await store.dueRoutes(.interactive, at: clock.now).routes {
                claimed += try await store.claimDue(.interactive, route, limit: 1000, by: worker, at: clock.now)
            }
        case .bulk:
            for fanOut in try await store.openFanOuts(limitPerProject: 100) {
                let claim = try await store.claimPage(
                    of: fanOut.id, limit: 1000, held: [], by: worker, at: clock.now)
                claimed += claim.page?.deliveries ?? []
            }
        }
        return claimed
    }

    /// Sends to a target and returns the message's name.
    func send(_ target: String, _ rest: String = #""notification":{"title":"Hi"}"#) async throws -> String {
        let answer = try await request(
            .post, "/v1/projects/demo/messages:send", #"{"message":{\#(target),\#(rest)}}"#, as: .sender)
        return try #require(try answer.json["name"]?.stringValue, "\(answer.text)")
    }
}

extension String {
    /// Hex digits as those of a device token of 32 bytes, with zeros in front.
    var deviceToken: String { String(repeating: "0", count: max(0, 64 - utf8.count)) + self }
}

/// A store that knows the keys and fails at everything else.
struct BrokenStore: APIStore {
    let keys: SQLiteStore
    /// Whether it still knows what idempotency keys were used for, and the messages.
    var knowsMessages = false

    private var failure: StoreError { StoreError(.failed, "database or disk is full: /var/lib/herald/herald.sqlite") }

    func insert(_ key: APIKeyRecord, by credential: CredentialUse) async throws(StoreError) { throw failure }
    func apiKey(_ id: String) async throws(StoreError) -> APIKeyRecord? { try await keys.apiKey(id) }
    func apiKeys(of project: ProjectID?) async throws(StoreError) -> [APIKeyRecord] { throw failure }
    func revoke(
        _ id: String, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool { throw failure }
    func noteUse(of keys: [String: Timestamp]) async throws(StoreError) { throw failure }
    func record(_ entry: AuditEntry) async throws(StoreError) { throw failure }
    func auditEntries(
        _ filter: AuditFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<AuditEntry> { throw failure }
    func forgetAuditEntries(before time: Timestamp, limit: Int) async throws(StoreError) -> Int { throw failure }

    func events(
        after number: EventNumber, _ filter: EventFilter, limit: Int
    ) async throws(StoreError) -> EventPage { throw failure }
    func lastEvent(before time: Timestamp) async throws(StoreError) -> EventNumber { throw failure }
    func note(_ notices: [RouteNotice], by worker: WorkerID, at time: Timestamp) async throws(StoreError) {
        throw failure
    }
    func forgetEvents(before time: Timestamp, limit: Int) async throws(StoreError) -> Int { throw failure }

    func noteChannel(
        _ name: ChannelName, in home: ChannelHome, _ policy: StoragePolicy, at time: Timestamp, limit: Int
    ) async throws(StoreError) -> ChannelIntent { throw failure }
    func completeChannel(
        _ name: ChannelName, in home: ChannelHome, id: ChannelID, at time: Timestamp, audit: AuditEntry?
    ) async throws(StoreError) -> ChannelCompletion { throw failure }
    func abandonChannel(_ name: ChannelName, in home: ChannelHome) async throws(StoreError) { throw failure }
    func channel(
        _ name: ChannelName, in home: ChannelHome
    ) async throws(StoreError) -> BroadcastChannel? { throw failure }
    func channel(
        of registration: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> BroadcastChannel? { throw failure }
    func channelRegistration(
        _ id: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> Registration? { throw failure }
    func channels(
        in home: ChannelHome, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<BroadcastChannel> { throw failure }
    func channelHomes(of project: ProjectID) async throws(StoreError) -> [ChannelHome] { throw failure }
    func channelCount(in home: ChannelHome) async throws(StoreError) -> Int { throw failure }
    func compareChannels(
        in home: ChannelHome, with ids: [ChannelID], at time: Timestamp
    ) async throws(StoreError) -> (missing: [BroadcastChannel], active: Int, unknown: [ChannelID]) { throw failure }
    func loseChannels(
        _ channels: [BroadcastChannel], at time: Timestamp
    ) async throws(StoreError) -> [ChannelName] { throw failure }
    func removeChannel(
        _ name: ChannelName, in home: ChannelHome, id: ChannelID?, at time: Timestamp, audit: AuditEntry?
    ) async throws(StoreError) -> Bool { throw failure }

    var changes: StoreChanges { keys.changes }

    func insert(
        _ account: ServiceAccount, with key: ServiceAccountKey, by credential: CredentialUse
    ) async throws(StoreError) -> Bool {
        throw failure
    }
    func insert(_ key: ServiceAccountKey, by credential: CredentialUse) async throws(StoreError) -> Bool {
        throw failure
    }
    func serviceAccountKey(_ id: String) async throws(StoreError) -> ServiceAccountIdentity? { throw failure }
    func serviceAccountKeys(of project: ProjectID?) async throws(StoreError) -> [ServiceAccountIdentity] {
        throw failure
    }
    func revokeServiceAccountKey(
        _ id: String, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool { throw failure }
    func disable(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool { throw failure }
    func enable(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool { throw failure }
    func delete(
        _ account: ServiceAccountEmail, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool { throw failure }
    func insert(_ token: AccessTokenRecord) async throws(StoreError) -> Bool { throw failure }
    func accessToken(
        _ digest: [UInt8]
    ) async throws(StoreError) -> (token: AccessTokenRecord, identity: ServiceAccountIdentity)? { throw failure }
    func forgetAccessTokens(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int { throw failure }

    func register(
        _ request: RegistrationRequest, at time: Timestamp
    ) async throws(StoreError) -> (registration: Registration, isNew: Bool) { throw failure }
    func adopt(
        _ request: RegistrationRequest, as token: RegistrationToken, at time: Timestamp
    ) async throws(StoreError) -> Registration { throw failure }
    func registration(
        _ id: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> Registration? { throw failure }
    func registration(
        token: RegistrationToken, in project: ProjectID
    ) async throws(StoreError) -> Registration? { throw failure }
    func addressee(
        _ reference: RegistrationReference, in project: ProjectID
    ) async throws(StoreError) -> Registration? { throw failure }
    func change(
        _ key: RegistrationKey, _ change: RegistrationChange, at time: Timestamp
    ) async throws(StoreError) -> Registration? { throw failure }
    func registrations(
        named names: [RegistrationReference], in project: ProjectID
    ) async throws(StoreError) -> [Registration?] { throw failure }
    func registration(
        holding address: Address, of app: AppID, in project: ProjectID
    ) async throws(StoreError) -> Registration? { throw failure }
    func purgeTopics(
        emptySince time: Timestamp, at now: Timestamp, limit: Int
    ) async throws(StoreError) -> Int { throw failure }
    func projects(of tokens: [RegistrationToken]) async throws(StoreError) -> [ProjectID?] { throw failure }
    func registrations(
        of user: UserID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [Registration] { throw failure }
    func registrations(
        in project: ProjectID, _ filter: RegistrationFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Registration> { throw failure }
    func audit(
        of id: RegistrationID, in project: ProjectID, limit: Int
    ) async throws(StoreError) -> [RegistrationAudit] { throw failure }
    func purge(endedBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int { throw failure }
    func liftQuarantine(
        of app: AppKey, in project: ProjectID, since time: Timestamp
    ) async throws(StoreError) -> Int { throw failure }
    func prune(
        quarantinedBefore time: Timestamp, in project: ProjectID, isDryRun: Bool, at now: Timestamp
    ) async throws(StoreError) -> Int { throw failure }
    func end(_ key: RegistrationKey, _ end: RegistrationEnd) async throws(StoreError) { throw failure }

    func subscribe(
        _ keys: [RegistrationKey], to topic: Topic, at time: Timestamp, topicLimit: Int?
    ) async throws(StoreError) -> [SubscribeResult] { throw failure }
    func unsubscribe(
        _ keys: [RegistrationKey], from topic: Topic, at time: Timestamp
    ) async throws(StoreError) -> [Bool] { throw failure }
    func growth(
        of topic: Topic, in project: ProjectID, since day: Int64
    ) async throws(StoreError) -> [TopicDay]? { throw failure }
    func forgetTopicDays(before day: Int64, limit: Int) async throws(StoreError) -> Int { throw failure }
    func subscription(
        of key: RegistrationKey, to topic: Topic
    ) async throws(StoreError) -> Subscription? { throw failure }
    func subscriptions(
        of key: RegistrationKey, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [Subscription] { throw failure }
    func topics(
        in project: ProjectID, beginningWith prefix: String, after topic: Topic?, limit: Int
    ) async throws(StoreError) -> [TopicSummary] { throw failure }
    func topic(_ topic: Topic, in project: ProjectID) async throws(StoreError) -> TopicSummary? { throw failure }
    func subscribers(
        of topic: Topic, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Subscriber>? { throw failure }

    func createGroup(
        _ name: DeviceGroupName, of members: [RegistrationKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> DeviceGroupResult { throw failure }
    func add(
        _ members: [RegistrationKey], to key: NotificationKey, named name: DeviceGroupName?, in project: ProjectID
    ) async throws(StoreError) -> DeviceGroupResult { throw failure }
    func remove(
        _ members: [RegistrationKey], from key: NotificationKey, named name: DeviceGroupName?, in project: ProjectID
    ) async throws(StoreError) -> DeviceGroupResult { throw failure }
    func notificationKey(
        of name: DeviceGroupName, in project: ProjectID
    ) async throws(StoreError) -> NotificationKey? { throw failure }
    func members(
        of key: NotificationKey, in project: ProjectID
    ) async throws(StoreError) -> [Registration]? { throw failure }

    func accept(
        _ messages: [NewMessage], claimedBy worker: WorkerID?
    ) async throws(StoreError) -> [AcceptResult] { throw failure }
    func uses(
        of uses: [IdempotencyKey], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [IdempotencyUse] {
        guard knowsMessages else { throw failure }
        return try await keys.uses(of: uses, in: project, at: time)
    }
    func message(_ id: MessageID, in project: ProjectID) async throws(StoreError) -> Message? {
        guard knowsMessages else { throw failure }
        return try await keys.message(id, in: project)
    }
    var load: StoreLoad { StoreLoad() }
    func audience(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int { throw failure }
    func audienceBound(
        of recipient: Recipient<RegistrationKey, [RegistrationKey]>, in project: ProjectID
    ) async throws(StoreError) -> Int { throw failure }
    func control(
        _ id: MessageID, in project: ProjectID, _ control: MessageControl, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> MessageState? { throw failure }
    func forgetIdempotencyKeys(expiredBefore time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        throw failure
    }

    func backlog(of project: ProjectID) async throws(StoreError) -> [BacklogShare] { throw failure }
    func report(
        _ id: MessageID, in project: ProjectID
    ) async throws(StoreError) -> DeliveryReport? { throw failure }
    func summary(
        of id: MessageID, in project: ProjectID
    ) async throws(StoreError) -> MessageSummary? { throw failure }
    func reports(
        in project: ProjectID, state: MessageState?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryReport> { throw failure }
    func deliveries(
        of id: MessageID, in project: ProjectID, outcome: LedgerOutcome?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryRecord> { throw failure }
    func deliveries(
        to registration: RegistrationID, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> { throw failure }
    func erase(
        _ user: UserID, in project: ProjectID, standIn: UserID, at now: Timestamp
    ) async throws(StoreError) -> ErasedUser { throw failure }
    func export(
        project: ProjectID, from start: Timestamp?, to end: Timestamp, at now: Timestamp, after cursor: String?,
        limit: Int
    ) async throws(StoreError) -> ResultPage<ExportRow> { throw failure }
    func deliveryDays(
        of app: AppID, on platform: Platform?, in project: ProjectID, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<DeliveryDay> { throw failure }

    func install(_ new: NewInstallation, at time: Timestamp) async throws(StoreError) -> RegistrationID {
        throw failure
    }
    func installation(
        _ id: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> Installation? { throw failure }
    func installation(
        withToken digest: [UInt8], in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Installation? { throw failure }
    func addToken(
        _ token: InstallationToken, to id: RegistrationID, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> Bool { throw failure }
    func uninstall(_ id: RegistrationID, in project: ProjectID, at time: Timestamp) async throws(StoreError) {
        throw failure
    }
    func register(
        _ request: RegistrationRequest, for id: RegistrationID, at time: Timestamp
    ) async throws(StoreError) -> InstallationRegistration { throw failure }
    func registration(_ key: RegistrationKey) async throws(StoreError) -> Registration? { throw failure }
    func forgetInstallationTokens(before time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        throw failure
    }
    func forgetInstallations(unusedSince time: Timestamp, limit: Int) async throws(StoreError) -> Int {
        throw failure
    }

    func keep(
        _ receipts: [Receipt], of registration: RegistrationKey, in project: ProjectID, at time: Timestamp
    ) async throws(StoreError) -> [Bool] { throw failure }

    func create(_ link: NewLink, audit: AuditEntry?) async throws(StoreError) -> LinkCreation { throw failure }
    func link(_ key: LinkKey) async throws(StoreError) -> Link? { throw failure }
    func links(
        of project: ProjectID, _ filter: LinkFilter, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<Link> { throw failure }
    func change(
        _ key: LinkKey, of project: ProjectID, _ change: LinkChange, audit: AuditEntry?
    ) async throws(StoreError) -> Link? { throw failure }
    func linkCount(
        of prefix: String, _ kind: LinkKind, suffixLength: Int
    ) async throws(StoreError) -> Int { throw failure }
    func importLinks(_ links: [NewLink]) async throws(StoreError) -> [LinkImport] { throw failure }
    func exportLinks(
        of project: ProjectID, after id: LinkID, limit: Int
    ) async throws(StoreError) -> [Link] { throw failure }
    var linkVersions: LinkVersions { keys.linkVersions }
    func otherCommits() async throws(StoreError) -> Int64 { throw failure }
    func add(_ counts: [LinkCount]) async throws(StoreError) { throw failure }
    func counts(of link: LinkID, days: ClosedRange<Int>) async throws(StoreError) -> [LinkCount] { throw failure }
    func links(of message: MessageID, in project: ProjectID) async throws(StoreError) -> [MessageLink] { throw failure }
    func forgetLinkCounts(before day: Int, limit: Int) async throws(StoreError) -> Int { throw failure }
}
