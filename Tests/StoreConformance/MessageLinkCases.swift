import PushModel
import Store
import Testing

private let prefix = "go.example.com"
private let other = ProjectID(rawValue: "other")!

extension Scene {
    /// A message to a registration that says links of these suffixes.
    fileprivate func message(to registration: Registration, _ suffixes: [String], key: String? = nil) throws
        -> NewMessage
    {
        var message = try newMessage(.registration(registration.key), at: 1000)
        message.links = suffixes.map { link($0) }
        message.idempotency = key.map { IdempotencyKey(key: $0, digest: Array(repeating: 7, count: 32)) }
        return message
    }

    fileprivate func link(_ suffix: String) -> NewLink {
        NewLink(
            project: project, prefix: prefix, suffixes: [suffix], kind: .tracked,
            parameters: "link=https%3A%2F%2Fa.example%2F\(suffix)", createdAt: Timestamp(milliseconds: 1000))
    }

    fileprivate func found(_ suffix: String) async throws -> Link? {
        try await store.link(LinkKey(prefix: prefix, suffix: suffix))
    }

    fileprivate func suffixes(of message: MessageID, in project: ProjectID? = nil) async throws -> [String] {
        try await store.links(of: message, in: project ?? self.project).map(\.link.key.suffix)
    }
}

extension ConformanceCase {
    static let messageLinks = [
        ConformanceCase("a message's links are made with it and found by it, also after a crash") { scene in
            let registration = try await scene.register(1)
            let versions = scene.store.linkVersions
            let message = try await scene.send(try scene.message(to: registration, ["b", "a"]))
            #expect(scene.store.linkVersions.made > versions.made)
            try await scene.crash()
            #expect(try await scene.suffixes(of: message.id) == ["b", "a"])
            let link = try #require(try await scene.found("b"))
            #expect(link.parameters == "link=https%3A%2F%2Fa.example%2Fb" && link.visibility == .neverShown)
            #expect(try await scene.store.links(of: message.id, in: scene.project).map(\.link.id).first == link.id)
            #expect(try await scene.suffixes(of: message.id, in: other) == [])
            let plain = try await scene.send(try scene.message(to: registration, []))
            #expect(try await scene.suffixes(of: plain.id) == [])
        },
        ConformanceCase("a message that is not taken makes no links") { scene in
            let registration = try await scene.register(1)
            let first = try await scene.send(try scene.message(to: registration, ["a"], key: "k"))
            var conflict = try scene.message(to: registration, ["c"])
            conflict.idempotency = IdempotencyKey(key: "k", digest: Array(repeating: 8, count: 32))
            var gone = try scene.newMessage(.registration(RegistrationKey(rawValue: 9_999_999)), at: 1000)
            gone.links = [scene.link("d")]
            // The number is another registration's by now.
            var moved = try scene.message(to: registration, ["e"])
            moved.registration = try await scene.register(2).id
            let results = try await scene.store.accept(
                [try scene.message(to: registration, ["b"], key: "k"), conflict, gone, moved], claimedBy: nil)
            guard case .repeated(first.id) = results[0], case .conflict = results[1], case .noRegistration = results[2],
                case .noRegistration = results[3]
            else {
                Issue.record("\(results)")
                return
            }
            for suffix in ["b", "c", "d", "e"] { #expect(try await scene.found(suffix) == nil) }
            #expect(try await scene.suffixes(of: first.id) == ["a"])
        },
        ConformanceCase("a message is not taken without its links") { scene in
            let registration = try await scene.register(1)
            _ = try await scene.send(try scene.message(to: registration, ["a"]))
            let (store, second) = (scene.store, try scene.message(to: registration, ["b", "a"]))
            try await expectStoreError(.unavailable) { _ = try await store.accept([second], claimedBy: nil) }
            #expect(try await scene.store.message(second.id, in: scene.project) == nil)
            #expect(try await scene.found("b") == nil)
        },
        ConformanceCase("the counters of a message's links are summed by event, over days and platforms") { scene in
            let registration = try await scene.register(1)
            let message = try await scene.send(try scene.message(to: registration, ["a", "b"]))
            let (first, second) = (try #require(try await scene.found("a")), try #require(try await scene.found("b")))
            func count(_ link: Link, _ day: Int, _ platform: LinkPlatform, _ event: LinkEvent, _ count: Int)
                -> LinkCount
            {
                LinkCount(link: link.id, day: day, platform: platform, event: event, count: count)
            }
            try await scene.store.add([
                count(first, 10, .ios, .click, 2), count(first, 11, .ios, .click, 3),
                count(first, 11, .android, .click, 4),
                count(first, 11, .android, .redirect, 4), count(second, 10, .other, .appReopen, 1),
            ])
            let links = try await scene.store.links(of: message.id, in: scene.project)
            #expect(links.map(\.counts) == [[.click: 9, .redirect: 4], [.appReopen: 1]])
            // Also of a link that was deleted since.
            var change = LinkChange()
            change.state = .deleted
            _ = try await scene.store.change(first.key, of: scene.project, change, audit: nil)
            let later = try await scene.store.links(of: message.id, in: scene.project)
            #expect(later.map(\.counts) == links.map(\.counts) && later.first?.link.state == .deleted)
        },
    ]
}
