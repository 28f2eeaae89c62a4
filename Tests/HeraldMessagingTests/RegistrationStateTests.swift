import Foundation
import Testing

@testable import HeraldMessaging

/// The state machine under a clock that stands still.
struct RegistrationStateTests {
    @Test("a new install gets tokens, waits for APNs' device token, registers, and is registered")
    func phases() {
        var install = Install()
        #expect(install.state.phase == .uninstalled)
        #expect(install.request() == .install)
        #expect(install.state.phase == .installing)
        install.effects += install.state.settle(.installed("F"), serverTime: nil, at: install.now, jitter: 1)
        #expect(install.state.phase == .waitingForAPNSToken)
        #expect(install.action() == .wait(until: nil))
        install.state.setAPNSToken(Data([0xab]), environment: .sandbox)
        #expect(install.state.phase == .registering)
        let request = install.answer(.registered(id: "F", token: "F:1"))
        guard case .register(let installation, let facts, nil)? = request else {
            Issue.record("\(String(describing: request))")
            return
        }
        #expect(installation.auth.text == "auth-F")
        #expect(facts == RegistrationFacts(apnsToken: Data([0xab]), environment: .sandbox, appVersion: "1.0"))
        #expect(install.state.phase == .registered)
        #expect(install.state.registration?.token == "F:1")
        #expect(install.pause() == AppRegistration.refreshInterval)
    }

    @Test("without auto init nothing is asked before the app asks")
    func autoInit() {
        var install = Install(isAutoInitEnabled: false)
        #expect(install.action() == .wait(until: nil))
        install.state.ask()
        #expect(install.request() == .install)
        var other = Install(isAutoInitEnabled: false)
        other.state.setAutoInit(true)
        #expect(other.request() == .install)
        var next = other.relaunched()
        #expect(next.state.isAutoInitEnabled && next.request() == .install)
    }

    @Test("an app that registered by itself is kept registered by later launches, also without auto init")
    func laterLaunches() {
        var install = Install(isAutoInitEnabled: false)
        install.state.setAPNSToken(Data([1, 2]), environment: .prod)
        install.state.ask()
        // The process ends before it comes to that.
        install.answer(.installed("F"))
        var second = install.relaunched(isAutoInitEnabled: false)
        second.state.setAPNSToken(Data([1, 2]), environment: .prod)
        #expect(second.answer(.registered(id: "F", token: "F:1"))?.name == "register")
        var third = second.relaunched(isAutoInitEnabled: false)
        #expect(third.pause() == AppRegistration.refreshInterval)
        third.pass(6.5 * 86_400)
        // Another device token is registered at once.
        third.state.setAPNSToken(Data([3]), environment: .prod)
        #expect(third.answer(.registered(id: "F", token: "F:1"))?.name == "register")
        third.state.delete(.registration)
        #expect(third.answer(.done)?.name == "unregister")
        var fourth = third.relaunched(isAutoInitEnabled: false)
        fourth.state.setAPNSToken(Data([3]), environment: .prod)
        #expect(fourth.request() == nil, "deleted, and not asked for since")
    }

    @Test("a good token is answered while the weekly registration can't be made, one that is lost is not")
    func askOffline() {
        var install = Install.registered()
        install.pass(7 * 86_400)
        install.answer(.renewed(auth: "second", lifetime: 604_800))
        install.state.ask()
        #expect(install.answer(.offline)?.name == "register")
        #expect(install.told().contains { if case .registered = $0 { true } else { false } })
        install.state.setUser(.token("custom"))
        install.state.ask()
        install.answer(.offline)
        #expect(install.told().contains(.registrationFailed(.offline)))
    }

    @Test("the app says that it is there a week later, and not before")
    func weekly() {
        var install = Install.registered()
        install.pass(7 * 86_400 - 1)
        #expect(install.request() == nil)
        install.pass(1)
        // The auth token is as old.
        #expect(install.answer(.renewed(auth: "second", lifetime: 604_800))?.name == "renew")
        #expect(install.request()?.name == "register")
        #expect(install.state.phase == .refreshing)
        install.effects += install.state.settle(
            .registered(id: "F", token: "F:1"), serverTime: nil, at: install.now, jitter: 1)
        #expect(install.pause() == AppRegistration.refreshInterval)
    }

    @Test("another version of the app, device token or environment registers again, once")
    func facts() {
        var updated = Install.registered().relaunched(appVersion: "1.1")
        guard case .register(_, let facts, _)? = updated.answer(.registered(id: "F", token: "F:1")) else {
            Issue.record("not registered again")
            return
        }
        #expect(facts.appVersion == "1.1" && facts.apnsToken == Data([1, 2]))
        #expect(updated.request() == nil)
        updated.state.setAPNSToken(Data([3]), environment: .prod)
        #expect(updated.answer(.registered(id: "F", token: "F:2"))?.name == "register")
        updated.state.setAPNSToken(Data([3]), environment: .prod)
        #expect(updated.request() == nil)
        updated.state.setAPNSToken(Data([3]), environment: .sandbox)
        #expect(updated.request()?.name == "register")
    }

    @Test("a device token that comes while another is registered is registered after it")
    func tokenMeanwhile() {
        var install = Install()
        install.state.setAPNSToken(Data([1]), environment: .prod)
        install.answer(.installed("F"))
        #expect(install.request()?.name == "register")
        install.state.setAPNSToken(Data([2]), environment: .prod)
        install.effects += install.state.settle(
            .registered(id: "F", token: "F:1"), serverTime: nil, at: install.now, jitter: 1)
        guard case .register(_, let facts, _)? = install.request() else {
            Issue.record("the second device token is not registered")
            return
        }
        #expect(facts.apnsToken == Data([2]))
    }

    @Test("failures are tried again after waits that double, and the app's own wish ends a wait")
    func backOff() {
        var install = Install()
        for seconds: TimeInterval in [2, 4, 8, 16] {
            install.answer(.offline)
            #expect(install.pause() == seconds)
            install.pass(seconds)
        }
        #expect(install.told().filter { $0 == .registrationFailed(.offline) }.count == 4)
        install.answer(.offline)
        install.state.retryNow()
        #expect(install.request() == .install)
    }

    @Test("the gateway's Retry-After is kept to, whatever the app wishes")
    func retryAfter() {
        var install = Install()
        install.answer(.refused(503, "GATEWAY_UNAVAILABLE", retryAfter: 120))
        install.state.ask()
        #expect(install.pause() == 120)
        #expect(
            install.told().last
                == .registrationFailed(
                    GatewayRefusal(status: 503, reason: "GATEWAY_UNAVAILABLE", message: "no", retryAfter: 120).error))
        install.pass(120)
        #expect(install.request() == .install)
    }

    @Test("a clock that goes back ends no wait later than its length, and refreshes what it dates to come")
    func clockBack() {
        var install = Install()
        install.answer(.offline)
        install.pass(-86_400)
        #expect(install.request() == .install)
        var registered = Install.registered()
        registered.pass(-30 * 86_400)
        #expect(registered.answer(.renewed(auth: "other", lifetime: 604_800))?.name == "renew")
        #expect(registered.answer(.registered(id: "F", token: "F:1"))?.name == "register")
        #expect(registered.pause() == AppRegistration.refreshInterval)
    }

    @Test("receipts are by the gateway's clock, as its last answer told it")
    func clockOffset() {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.answer(.done, serverTime: install.now.addingTimeInterval(-86_400))
        let time = install.now
        install.state.add(MessagingReceipt(message: "m", kind: .received, time: time))
        guard case .report(_, let receipts, let offset)? = install.answer(.done) else {
            Issue.record("no report")
            return
        }
        #expect(receipts.map(\.time) == [time] && offset == -86_400)
    }

    @Test("an auth token that the gateway does not know is renewed, and then the installation made anew")
    func lostInstallation() {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        #expect(install.answer(.refused(401, "INSTALLATION_INVALID"))?.name == "subscribe weather")
        #expect(install.answer(.renewed(auth: "second", lifetime: 604_800))?.name == "renew")
        #expect(install.answer(.refused(401, "INSTALLATION_INVALID"))?.name == "subscribe weather")
        #expect(install.answer(.installed("G"))?.name == "install")
        #expect(install.state.phase == .waitingForAPNSToken || install.state.phase == .registering)
        #expect(install.answer(.registered(id: "G", token: "G:1"))?.name == "register")
        #expect(install.answer(.done)?.name == "subscribe weather")
    }

    @Test("a refresh token that is not known makes the installation anew", arguments: [404, 401])
    func lostRefreshToken(status: Int) {
        var install = Install.registered()
        install.pass(7 * 86_400)
        let reason = status == 401 ? "INSTALLATION_INVALID" : "UNKNOWN_RESOURCE"
        #expect(install.answer(.refused(status, reason))?.name == "renew")
        #expect(install.request() == .install)
    }

    @Test("a 404 that says nothing of what was asked for changes nothing", arguments: [nil, "UNKNOWN_PATH"])
    func foreign404(reason: String?) {
        var install = Install.registered()
        install.pass(7 * 86_400)
        #expect(install.answer(.refused(404, reason))?.name == "renew")
        #expect(install.pause() == 2 && install.state.registration?.token == "F:1")
        install.pass(2)
        #expect(install.answer(.renewed(auth: "second", lifetime: 604_800))?.name == "renew")
        #expect(install.answer(.refused(404, reason))?.name == "register")
        #expect(install.state.registration?.token == "F:1")
    }

    @Test("a registration that the gateway does not know is made again before a topic is joined")
    func lostRegistration() {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.answer(.refused(404, "UNKNOWN_RESOURCE"))
        #expect(install.answer(.registered(id: "F", token: "F:2"))?.name == "register")
        #expect(install.answer(.done)?.name == "subscribe weather")
        #expect(install.state.registration?.token == "F:2")
    }

    @Test("a topic change or a report whose registration stays unknown ends with that")
    func staysUnknown() {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.state.add(MessagingReceipt(message: "m", kind: .received, time: install.now))
        for _ in 0..<2 {
            #expect(install.answer(.refused(404, "UNKNOWN_RESOURCE"))?.name == "subscribe weather")
            #expect(install.answer(.registered(id: "F", token: "F:1"))?.name == "register")
        }
        #expect(install.told().contains { if case .topicSettled(_, .some) = $0 { true } else { false } })
        #expect(install.answer(.refused(404, "UNKNOWN_RESOURCE"))?.name == "report 1")
        #expect(install.answer(.registered(id: "F", token: "F:1"))?.name == "register")
        #expect(install.answer(.refused(404, "UNKNOWN_RESOURCE"))?.name == "report 1")
        #expect(install.request() == nil && install.state.record.receipts.isEmpty)
    }

    @Test("with a revoked key nothing is forgotten: it is asked again an hour later", arguments: [401, 403])
    func revokedKey(status: Int) {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.answer(.refused(status, "INVALID_CREDENTIAL"))
        install.state.ask()
        #expect(install.pause() == 3600)
        #expect(install.state.record.topics.count == 1 && install.state.registration != nil)
        install.pass(3600)
        #expect(install.answer(.done)?.name == "subscribe weather")
    }

    @Test("an ask of what is there already is answered")
    func ask() {
        var install = Install.registered()
        install.state.ask()
        #expect(install.request() == nil)
        guard case .registered(let registration)? = install.told().last else {
            Issue.record("no answer")
            return
        }
        #expect(registration.token == "F:1")
    }

    @Test("a user is said once, and dropped when the proof does not count")
    func user() {
        var install = Install.registered()
        install.state.setUser(.token("custom"))
        guard case .register(_, _, .token("custom"))? = install.answer(.registered(id: "G", token: "G:1")) else {
            Issue.record("the user is not said")
            return
        }
        #expect(install.told().contains(.userSettled(.token("custom"), nil)) && install.request() == nil)
        install.state.setUser(.signedOut)
        #expect(install.relaunched().state.record.user == .signedOut)
        install.answer(.refused(403, "USER_NOT_PROVEN"))
        #expect(install.request() == nil && install.state.registration?.token == "G:1")
        #expect(install.told().contains { if case .userSettled(_, .some) = $0 { true } else { false } })
    }

    @Test("a deletion ends the registration until the app asks again or is launched again")
    func deleteToken() {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.state.delete(.registration)
        #expect(install.answer(.done)?.name == "unregister")
        #expect(install.request() == nil && install.state.phase == .registering)
        let told = install.told()
        #expect(
            told.contains { if case .unregistered = $0 { true } else { false } } && told.last == .deletionSettled(nil))
        #expect(told.contains { if case .topicSettled(_, .some) = $0 { true } else { false } })
        var next = install.relaunched()
        next.state.setAPNSToken(Data([1]), environment: .prod)
        #expect(next.request()?.name == "register")
        install.state.ask()
        #expect(install.request()?.name == "register")
    }

    @Test("all of it goes with the installation; without one there is nothing to delete")
    func deleteData() {
        var install = Install.registered()
        install.state.delete(.everything)
        #expect(install.answer(.done)?.name == "unregister")
        #expect(install.answer(.refused(404, "UNKNOWN_RESOURCE"))?.name == "uninstall")
        #expect(install.request() == nil && install.told().last == .deletionSettled(nil))
        #expect(install.state.phase == .uninstalled)
        install.state.delete(.everything)
        #expect(install.request() == nil && install.told() == [.deletionSettled(nil)])
    }

    @Test("a deletion that does not come through is the app's own to repeat, and nothing that waits is lost with it")
    func failedDeletion() {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.state.add(MessagingReceipt(message: "m", kind: .received, time: install.now))
        install.state.delete(.registration)
        #expect(install.answer(.offline)?.name == "unregister")
        #expect(install.told() == [.failed(.offline), .deletionSettled(.offline)])
        #expect(install.state.registration != nil)
        install.state.retryNow()
        #expect(install.answer(.done)?.name == "subscribe weather")
        #expect(install.answer(.done)?.name == "report 1")
        #expect(install.pause() == AppRegistration.refreshInterval)
    }

    @Test("a deletion does not wait for the end of a Retry-After or of a refused key's hour")
    func heldDeletion() {
        var install = Install.registered()
        install.state.change(topic: "weather", isSubscription: true)
        install.answer(.refused(503, "GATEWAY_UNAVAILABLE", retryAfter: 120))
        install.effects = []
        install.state.delete(.registration)
        #expect(install.pause() == 120)
        _ = install.action()
        guard case .deletionSettled(let error?)? = install.told().last else {
            Issue.record("not answered")
            return
        }
        #expect(error.reason == "GATEWAY_UNAVAILABLE" && install.state.record.topics.count == 1)
        install.pass(120)
        install.state.delete(.registration)
        #expect(install.answer(.done)?.name == "unregister")
        #expect(install.request() == nil && install.state.record.topics.isEmpty)
    }

    @Test("what the app asks for after a deletion stays when it is done")
    func followedDeletion() {
        var install = Install.registered()
        install.state.setUser(.token("custom"))
        install.state.change(topic: "before", isSubscription: true)
        install.state.delete(.registration)
        install.state.change(topic: "after", isSubscription: true)
        #expect(install.answer(.done)?.name == "unregister")
        guard case .register(_, _, nil)? = install.answer(.registered(id: "F", token: "F:2")) else {
            Issue.record("not registered again, or as the user from before")
            return
        }
        #expect(install.answer(.done)?.name == "subscribe after")
        #expect(install.request() == nil)
        #expect(install.told().contains { if case .userSettled(_, .some) = $0 { true } else { false } })
    }
}
