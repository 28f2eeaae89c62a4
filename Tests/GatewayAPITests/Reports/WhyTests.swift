import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

/// Why a registration gets pushes or not.
@Suite(.timeLimit(.minutes(5)))
struct WhyTests {
    private static func path(_ name: String) -> String {
        "/v1/projects/demo/registrations/\(name.replacing(":", with: "%3A")):why"
    }

    /// The verdict and its sentence.
    private static func ask(
        _ name: String, _ gateway: TestGateway, message: String? = nil
    ) async throws -> (code: String?, text: String, rows: Int) {
        let query = message.map { "?message=\($0.replacing("/", with: "%2F").replacing(":", with: "%3A"))" } ?? ""
        let answer = try await gateway.request(.get, path(name) + query, as: .sender)
        #expect(answer.status == 200, "\(answer.text)")
        let json = try answer.json
        guard case .array(let rows)? = json["deliveries"] else { return (nil, answer.text, 0) }
        return (json["verdict"]?.stringValue, json["text"]?.stringValue ?? "", rows.count)
    }

    /// Settles everything that is due.
    private static func settle(
        _ gateway: TestGateway, _ outcome: LedgerOutcome, _ reason: String?, _ verdict: DeviceTokenVerdict? = nil
    ) async throws {
        let now = gateway.clock.now
        let settlements = try await gateway.claim(.interactive).map { delivery in
            Settlement(
                delivery: delivery,
                result: .ended(
                    LedgerEntry(
                        outcome: outcome, reason: reason, verdict: verdict, history: AttemptHistory(attempts: 2),
                        time: now, latencyMilliseconds: 1,
                        pushID: PushID(message: delivery.message, registration: delivery.registration.key))))
        }
        #expect(!settlements.isEmpty)
        _ = try await gateway.store.settle(settlements, by: gateway.worker)
    }

    @Test func whatWasSentLastIsTheEvidence() async throws {
        let gateway = try await TestGateway()
        let (id, token) = try await gateway.register()
        #expect(try await Self.ask(id, gateway).code == "NOTHING_SENT")
        let message = try await gateway.send(#""token":"\#(token)""#)
        #expect(try await Self.ask(token, gateway, message: message).code == "IN_FLIGHT")
        try await Self.settle(gateway, .accepted, nil)
        let general = try await Self.ask(token, gateway)
        #expect(general.code == "ACCEPTED" && general.rows == 1)
        #expect(general.text.contains(try #require(message.split(separator: "/").last)))
        #expect(try await Self.ask(id, gateway, message: message).code == "ACCEPTED")
        let late = try await gateway.send(#""token":"\#(token)""#)
        try await Self.settle(gateway, .expired, "timed_out")
        let expired = try await Self.ask(id, gateway, message: late)
        #expect(expired.code == "EXPIRED" && expired.text.contains("timed_out") && expired.rows == 1)
    }

    @Test func anEndedOneSaysHowItEnded() async throws {
        let gateway = try await TestGateway()
        let (id, token) = try await gateway.register()
        let project = try #require(ProjectID(rawValue: "demo"))
        let name = try #require(RegistrationID(rawValue: id))
        let registration = try #require(try await gateway.store.registration(name, in: project))
        try await gateway.store.end(registration.key, RegistrationEnd(time: gateway.clock.now, cause: .unregistered))
        let verdict = try await Self.ask(token, gateway)
        #expect(verdict.code == "ENDED_UNREGISTERED")
        #expect(verdict.text.contains("410") && verdict.text.contains(TestGateway.startText))
    }

    @Test func aBroadcastThatNeverReachedItSaysWhy() async throws {
        let gateway = try await TestGateway()
        let (id, _) = try await gateway.register()
        let message = try await gateway.send(#""topic":"news""#)
        #expect(try await Self.ask(id, gateway, message: message).code == "NOT_SUBSCRIBED")
        gateway.clock.advance(by: .seconds(1))
        let (later, _) = try await gateway.register("00bb22")
        #expect(try await Self.ask(later, gateway, message: message).code == "REGISTERED_LATER")
        let single = try await gateway.send(#""fid":"\#(later)""#)
        #expect(try await Self.ask(id, gateway, message: single).code == "OTHER_TARGET")
    }

    @Test func unknownNamesAre404() async throws {
        let gateway = try await TestGateway()
        let (id, _) = try await gateway.register()
        let unknown = "c\(String(repeating: "A", count: 21))"
        #expect(try await gateway.request(.get, Self.path(unknown)).status == 404)
        #expect(try await gateway.request(.get, Self.path(id) + "?message=0%3A1-ab").status == 404)
        #expect(try await gateway.request(.get, Self.path(id) + "?message=a%20b").status == 400)
        #expect(try await gateway.request(.get, Self.path(id), as: .client).status == 403)
    }

    // MARK: Verdicts from facts

    private static func facts(_ other: (address: Address, app: App)? = nil) throws -> RegistrationVerdict.Facts {
        let app = try other?.app.id ?? #require(AppID(rawValue: "com.example.app"))
        let now = Timestamp(milliseconds: 1_000_000_000_000)
        let registration = Registration(
            key: RegistrationKey(rawValue: 1), id: try #require(RegistrationID(rawValue: "cAAAAAAAAAAAAAAAAAAAAA")),
            token: try #require(RegistrationToken(rawValue: "cAAAAAAAAAAAAAAAAAAAAA:APA91bAAAAAAAA")),
            project: try #require(ProjectID(rawValue: "demo")), app: app,
            address: try other?.address ?? .apple(#require(DeviceToken(hex: "00aa")), .production), appVersion: nil,
            createdAt: now + .seconds(-86_400), refreshedAt: now + .seconds(-86_400), end: nil)
        return RegistrationVerdict.Facts(
            registration: registration,
            app: other?.app ?? App(id: app, environment: .production, firebaseKeys: .standard), now: now)
    }

    @Test func quarantineComesBeforeThePauseAndThePauseBeforeStaleness() throws {
        var facts = try Self.facts()
        facts.stale.action = .skip
        facts.stale.afterDays = 0
        #expect(RegistrationVerdict(facts).code == .stale)
        let registration = facts.registration
        let route = PushRoute(
            project: registration.project, app: registration.app, channel: registration.channel)
        facts.pauses = [
            UpstreamPause(part: .suspects(route), reason: "BadDeviceToken", since: facts.now, nextProbe: facts.now)
        ]
        #expect(RegistrationVerdict(facts).code == .routePaused)
        facts.registration.quarantine = Quarantine(time: facts.now, reason: "BadDeviceToken")
        #expect(RegistrationVerdict(facts).code == .quarantined)
        facts.app = nil
        #expect(RegistrationVerdict(facts).code == .appUnknown)
    }

    /// A registration of a platform, and what a sentence about it names.
    private static let others: [(address: Address, app: App, service: String, addressName: String)] = [
        (
            .android(AndroidToken(rawValue: "device-0001:APA91bExample")!),
            App(id: AppID(rawValue: "com.example.app")!, service: .android(isReached: true)), "Google", "token"
        ),
        (
            .web(
                WebSubscription(
                    endpoint: "https://push.example.com/send/one", key: Array(repeating: 4, count: 65),
                    secret: Array(repeating: 1, count: 16), applicationKey: nil)!),
            App(
                web: AppID(rawValue: "www.example.com")!, service: BrowserService(publicKeys: [[4]])),
            "the browser's push service", "subscription"
        ),
    ]

    @Test(arguments: 0..<2) func eachPlatformIsToldInTheWordsOfItsService(number: Int) throws {
        let (address, app, service, addressName) = Self.others[number]
        var facts = try Self.facts((address, app))
        // It is served: nothing stands in the way.
        #expect(RegistrationVerdict(facts).code == .nothingSent)
        let message = try #require(MessageID(rawValue: "0:1-ab"))
        func verdict(_ outcome: LedgerOutcome) -> RegistrationVerdict {
            var facts = facts
            facts.delivery = (
                message,
                DeliveryRecord(
                    registration: facts.registration.id, app: app.key, outcome: outcome, reason: "REASON",
                    history: AttemptHistory(attempts: 1), endedAt: facts.now, latencyMilliseconds: 1, pushID: nil)
            )
            return RegistrationVerdict(facts)
        }
        #expect(verdict(.accepted).text.contains("accepted by \(service) on"))
        #expect(verdict(.rejected).text.contains("refused by \(service) on"))
        facts.registration.quarantine = Quarantine(time: facts.now, reason: "REASON")
        #expect(
            RegistrationVerdict(facts).text.contains("\(service) refused its \(addressName) (REASON)"),
            "\(RegistrationVerdict(facts).text)")
        facts.registration.quarantine = nil
        facts.pauses = [
            UpstreamPause(part: .everything, reason: "REASON", since: facts.now, nextProbe: facts.now)
        ]
        #expect(RegistrationVerdict(facts).text.contains("\(service) answered REASON"))
        facts.registration.end = RegistrationEnd(time: facts.now, cause: .unregistered)
        let ended = RegistrationVerdict(facts)
        #expect(ended.code == .endedUnregistered && ended.text.contains(service) && !ended.text.contains("APNs"))
    }

    @Test func anAppThatNothingIsSentToIsNamedWithWhatItLacks() throws {
        var facts = try Self.facts()
        let services: [(App.Service, String)] = [
            (.android(isReached: false), "no fcm"), (.web(nil), "no webPush"), (.linksOnly(.apple), "links only"),
        ]
        for (service, text) in services {
            facts.app = App(id: facts.registration.app, service: service)
            let verdict = RegistrationVerdict(facts)
            #expect(verdict.code == .platformNotServed && verdict.text.contains(text), "\(verdict)")
        }
    }

    @Test func anotherAppsPauseIsNoReason() throws {
        var facts = try Self.facts()
        facts.pauses = [
            UpstreamPause(
                part: .topic("com.example.other"), reason: "BadDeviceToken", since: facts.now, nextProbe: facts.now)
        ]
        #expect(RegistrationVerdict(facts).code == .nothingSent)
    }

    @Test func aPauseOfAnotherCredentialIsNoReason() async throws {
        let gateway = try await TestGateway()
        let (id, _) = try await gateway.register()
        let app = try #require(AppID(rawValue: "com.example.app"))
        func upstream(of project: String, environment: PushEnvironment) throws -> UpstreamStatus {
            let project = try #require(ProjectID(rawValue: project))
            var upstream = TestGateway.upstream
            upstream.projects = [project]
            upstream.routes = [PushRoute(project: project, app: app, channel: .apns(environment))]
            upstream.pauses = [
                UpstreamPause(
                    part: .everything, reason: "BadDeviceToken", since: TestGateway.startTime,
                    nextProbe: TestGateway.startTime)
            ]
            return upstream
        }
        func verdict(_ upstreams: UpstreamStatus...) async throws -> JSONValue? {
            var services = gateway.services
            services.state.upstreams = { upstreams }
            return try await gateway.request(.get, Self.path(id), over: services).json["verdict"]
        }
        // Another project's, and one of the project that another app or environment uses.
        let foreign = try upstream(of: "other", environment: .production)
        let sandbox = try upstream(of: "demo", environment: .sandbox)
        #expect(try await verdict(foreign, sandbox) == .string("NOTHING_SENT"))
        #expect(
            try await verdict(foreign, upstream(of: "demo", environment: .production)) == .string("ROUTE_PAUSED"))
    }

    @Test func everyEndHasAVerdictOfItsOwn() throws {
        var facts = try Self.facts()
        let causes: [RegistrationEnd.Cause] = [.deleted, .unregistered, .replaced, .superseded]
        let codes = causes.map { cause in
            facts.registration.end = RegistrationEnd(time: facts.now, cause: cause)
            return RegistrationVerdict(facts).code
        }
        #expect(Set(codes).count == causes.count)
    }

    @Test func pruningEndsWhatIsInQuarantineForLong() async throws {
        let gateway = try await TestGateway()
        let (id, token) = try await gateway.register()
        _ = try await gateway.send(#""token":"\#(token)""#)
        try await Self.settle(gateway, .rejected, "BadDeviceToken", .refused("BadDeviceToken"))
        #expect(try await Self.ask(id, gateway).code == "QUARANTINED")
        gateway.clock.advance(by: .seconds(100))
        func prune(_ body: String) async throws -> (status: Int, count: JSONValue?) {
            let answer = try await gateway.request(.post, "/v1/projects/demo/registrations:prune", body)
            return (answer.status, try answer.json["prunedCount"])
        }
        #expect(try await prune(#"{"state":"QUARANTINED","olderThan":"101s"}"#).count == .number("0"))
        #expect(
            try await prune(#"{"state":"QUARANTINED","olderThan":"99s","validateOnly":true}"#).count == .number("1"))
        #expect(try await Self.ask(id, gateway).code == "QUARANTINED")
        #expect(try await prune(#"{"state":"QUARANTINED","olderThan":"99s"}"#).count == .number("1"))
        #expect(try await Self.ask(id, gateway).code == "ENDED_DELETED")
        for body in ["{}", #"{"state":"ACTIVE","olderThan":"1s"}"#, #"{"state":"QUARANTINED"}"#] {
            #expect(try await prune(body).status == 400)
        }
        // Those that ended something, or would have, and no others.
        let audit = try await gateway.store.auditEntries(
            AuditFilter(action: .quarantinePruned), after: nil, limit: 9
        ).elements
        let time = gateway.clock.now
        #expect(
            audit.map { $0.details } == [99, 101].map { ["quarantinedBefore": (time + .seconds(-$0)).rfc3339] })
        #expect(audit.allSatisfy { $0.subject == "demo" && $0.credential.id == gateway.keys[.admin]?.record.id })
    }
}
