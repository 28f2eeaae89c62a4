import PushModel
import Store
import TestSupport
import Testing

extension Scene {
    /// A token as Google makes them, with the FID of `number` in front.
    fileprivate func googleToken(_ number: Int) -> RegistrationToken {
        RegistrationToken(rawValue: "cRelayedDevice_\(1_000_000 + number):APA91bExample")!
    }

    fileprivate func adopt(_ token: RegistrationToken, at time: Int64 = 5) async throws -> Registration {
        var request = request(0)
        request.address = .relayed(AndroidToken(rawValue: token.rawValue)!)
        return try await store.adopt(request, as: token, at: Timestamp(milliseconds: time))
    }
}

extension ConformanceCase {
    static let adoptions: [ConformanceCase] = [
        ConformanceCase("a token that a sender named is its registration's, which is proven") { scene in
            let token = scene.googleToken(1)
            let made = try await scene.adopt(token)
            #expect(made.token == token && made.id == token.id && made.channel == .fcm)
            #expect(made.address.isRelayed && made.provenAt == Timestamp(milliseconds: 5))
            #expect(try await scene.store.registration(token: token, in: scene.project) == made)
            let again = try await scene.adopt(token, at: 9)
            #expect(again == made)
        },
        ConformanceCase("of adoptions at the same time one makes the registration") { scene in
            let token = scene.googleToken(2)
            let store = scene.store
            var request = scene.request(0)
            request.address = .relayed(AndroidToken(rawValue: token.rawValue)!)
            let made = try await withThrowingTaskGroup(of: RegistrationKey.self) { tasks in
                for time in 0..<16 {
                    tasks.addTask { [request] in
                        try await store.adopt(request, as: token, at: Timestamp(milliseconds: Int64(time))).key
                    }
                }
                return try await tasks.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(made.count == 1)
            let page = try await scene.store.registrations(in: scene.project, .active, after: nil, limit: 9)
            #expect(page.elements.map(\.token) == [token])
        },
        ConformanceCase("a token whose FID is taken is found by its address") { scene in
            let (token, other) = (
                scene.googleToken(3), RegistrationToken(rawValue: "cRelayedDevice_1000003:APA91bAnother")!
            )
            let (first, second) = (try await scene.adopt(token), try await scene.adopt(other))
            #expect(first.key != second.key && first.id != second.id && second.token != other)
            let address = Address.android(AndroidToken(rawValue: other.rawValue)!)
            let holder = try await scene.store.registration(holding: address, of: scene.app, in: scene.project)
            #expect(holder?.key == second.key)
        },
        ConformanceCase("an app that registers with its relayed token says its platform, and keeps the token") {
            scene in
            let token = scene.googleToken(4)
            let made = try await scene.adopt(token)
            let address = Address.android(AndroidToken(rawValue: token.rawValue)!)
            let registered = try #require(try await scene.register([address], at: 8).first)
            #expect(registered.key == made.key && registered.token == token && registered.address == address)
            #expect(registered.provenAt == made.provenAt)
            // A sender's word does not undo it.
            #expect(try await scene.adopt(token, at: 9).address == address)
        },
    ]
}
