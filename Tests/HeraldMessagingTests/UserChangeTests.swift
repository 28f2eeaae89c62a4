import Foundation
import Testing

@testable import HeraldMessaging

/// A change of the user among what waits for the gateway.
struct UserChangeTests {
    /// A custom token of a user, of which only the claims count here.
    private static func token(_ user: String, _ number: Int = 1) -> UserChange {
        let claims = Data(#"{"uid":"\#(user)","iat":\#(number)}"#.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return .token("e30.\(claims).c2ln")
    }

    /// The names of the requests until there is none, with the user of a registration.
    private static func requests(_ install: inout Install) -> [String] {
        var names: [String] = []
        while let request = install.request() {
            var name = request.name
            if case .register(_, _, let user) = request { name += " \(user.map(Self.name) ?? "as before")" }
            names.append(name)
            let answer: MessagingAnswer =
                switch request {
                case .install: .installed("F")
                case .register: .registered(id: "G\(names.count)", token: "G:1")
                case .renew: .renewed(auth: "other", lifetime: 604_800)
                case .changeTopic, .report, .unregister, .uninstall: .done
                }
            install.effects += install.state.settle(answer, serverTime: nil, at: install.now, jitter: 1)
        }
        return names
    }

    private static func name(_ user: UserChange) -> String {
        for name in ["alice", "bob"] where user.isSameUser(as: token(name)) { return name }
        return user == .signedOut ? "no user" : "unknown"
    }

    @Test("what was asked for before another user came goes to the registration of the user before")
    func order() {
        var install = Install.registered()
        install.state.change(topic: "of-alice", isSubscription: true)
        install.state.add(MessagingReceipt(message: "m1", kind: .received, time: install.now))
        install.answer(.offline)
        install.state.setUser(Self.token("bob"))
        install.state.change(topic: "of-bob", isSubscription: true)
        // Pushes go on to come for Alice.
        install.state.add(MessagingReceipt(message: "m2", kind: .received, time: install.now))
        var next = install.relaunched()
        #expect(Self.requests(&next) == ["subscribe of-alice", "report 2", "register bob", "subscribe of-bob"])
    }

    @Test("so it is before the first registration, and when the registration is due or lost meanwhile")
    func otherStages() {
        var install = Install()
        install.state.setAPNSToken(Data([1]), environment: .prod)
        install.state.change(topic: "news", isSubscription: true)
        install.state.setUser(Self.token("alice"))
        #expect(Self.requests(&install) == ["install", "register as before", "subscribe news", "register alice"])
        install.state.change(topic: "of-alice", isSubscription: true)
        install.state.setUser(.signedOut)
        install.pass(7 * 86_400)
        #expect(
            Self.requests(&install) == ["renew", "register as before", "subscribe of-alice", "register no user"])
        install.state.change(topic: "lost", isSubscription: true)
        install.state.setUser(Self.token("bob"))
        install.answer(.refused(404, "REGISTRATION_ENDED"))
        #expect(Self.requests(&install) == ["register as before", "subscribe lost", "register bob"])
    }

    @Test("what was asked for as a user whom the gateway never hears of goes to no other")
    func replaced() {
        var install = Install.registered()
        install.state.setUser(Self.token("alice"))
        install.state.change(topic: "of-alice", isSubscription: true)
        // Another token of the same user changes nothing.
        install.state.setUser(Self.token("alice", 2))
        #expect(install.state.record.topics.count == 1)
        install.state.setUser(Self.token("bob"))
        install.state.change(topic: "of-bob", isSubscription: true)
        #expect(Self.requests(&install) == ["register bob", "subscribe of-bob"])
        let told = install.told()
        for number in 1...2 {
            let change = Self.token("alice", number)
            #expect(told.contains { if case .userSettled(change, .some) = $0 { true } else { false } })
        }
        #expect(
            told.contains {
                if case .topicSettled(let change, .some) = $0 { change.topic == "of-alice" } else { false }
            })
    }

    @Test("topics of a user whose proof does not count are not joined for the one before")
    func refused() {
        var install = Install.registered()
        install.state.change(topic: "of-alice", isSubscription: true)
        install.state.setUser(Self.token("bob"))
        install.state.change(topic: "of-bob", isSubscription: true)
        install.answer(.done)
        install.answer(.refused(403, "USER_NOT_PROVEN"))
        #expect(install.request() == nil && install.state.record.topics.isEmpty)
        #expect(
            install.told().contains {
                if case .topicSettled(let change, let error) = $0 {
                    change.topic == "of-bob" && error?.reason == "USER_NOT_PROVEN"
                } else {
                    false
                }
            })
    }

    @Test("a receipt of the user before that comes in while another is registered is not said for the other")
    func receiptMeanwhile() {
        var install = Install.registered()
        install.state.setUser(Self.token("bob"))
        #expect(install.request()?.name == "register")
        install.state.add(MessagingReceipt(message: "m", kind: .received, time: install.now))
        install.effects += install.state.settle(
            .registered(id: "G", token: "G:1"), serverTime: nil, at: install.now, jitter: 1)
        #expect(install.request() == nil && install.state.record.receipts.isEmpty)
    }

    @Test("only tokens that name the same user are of one user")
    func sameUser() {
        #expect(Self.token("alice").isSameUser(as: Self.token("alice", 2)))
        #expect(!Self.token("alice").isSameUser(as: Self.token("bob")))
        #expect(UserChange.token("x").isSameUser(as: .token("x")) && !UserChange.token("x").isSameUser(as: .token("y")))
        #expect(UserChange.signedOut.isSameUser(as: .signedOut) && !UserChange.signedOut.isSameUser(as: .token("x")))
    }
}
