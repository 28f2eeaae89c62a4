import PushModel
import Store
import Testing

private let alice = CredentialUse(id: "k9", name: "Alice", role: .admin, address: "192.0.2.1")
private let prefix = "go.example.com"
private let other = ProjectID(rawValue: "other")!

extension Scene {
    fileprivate func newLink(
        _ suffixes: String..., kind: LinkKind = .unguessable, digest: UInt8? = nil, of project: ProjectID? = nil,
        at time: Int64 = 1000
    ) -> NewLink {
        NewLink(
            project: project ?? self.project, prefix: prefix, suffixes: suffixes, kind: kind,
            parameters: "apn=com.example.app&link=https%3A%2F%2Fa.example%2Fx%3Fid%3D1",
            digest: digest.map { [UInt8](repeating: $0, count: 16) }, createdAt: Timestamp(milliseconds: time))
    }

    /// Makes a link that was not there.
    fileprivate func make(_ new: NewLink, audit: AuditEntry? = nil) async throws -> Link {
        guard case .created(let link) = try await store.create(new, audit: audit) else {
            throw StoreError(.failed, "The link was not made.")
        }
        return link
    }

    fileprivate func found(_ suffix: String) async throws -> Link? {
        try await store.link(LinkKey(prefix: prefix, suffix: suffix))
    }

    fileprivate func delete(_ link: Link) async throws -> Link? {
        var change = LinkChange()
        change.state = .deleted
        return try await store.change(link.key, of: link.project, change, audit: nil)
    }

    fileprivate func audit(_ action: AuditAction) -> AuditEntry {
        AuditEntry(
            time: Timestamp(milliseconds: 5), project: project, action: action, subject: "", credential: alice)
    }

    fileprivate func listed(_ filter: LinkFilter, of project: ProjectID? = nil, limit: Int = 2) async throws -> [String]
    {
        var (suffixes, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try await store.links(of: project ?? self.project, filter, after: cursor, limit: limit)
            #expect(page.elements.count <= limit)
            suffixes += page.elements.map(\.key.suffix)
            cursor = page.nextCursor
        } while cursor != nil
        return suffixes
    }

    fileprivate func count(
        _ link: Link, day: Int, _ count: Int, _ event: LinkEvent = .click, _ platform: LinkPlatform = .ios
    ) -> LinkCount {
        LinkCount(link: link.id, day: day, platform: platform, event: event, count: count)
    }
}

extension ConformanceCase {
    static let links = making + changing + importing + counting

    private static let making: [ConformanceCase] = [
        ConformanceCase("a link that was made is found as it was made, also after a crash") { scene in
            var new = scene.newLink("aB-_9", kind: .custom)
            (new.name, new.visibility) = ("Spring sale", .unarchived)
            new.expiresAt = Timestamp(milliseconds: 9000)
            let made = try await scene.make(new)
            try await scene.crash()
            let found = try #require(try await scene.found("aB-_9"))
            #expect(found == made)
            #expect(found.parameters == new.parameters && found.name == "Spring sale" && found.kind == .custom)
            #expect(found.createdAt == new.createdAt && found.expiresAt == new.expiresAt)
            #expect(found.visibility == .unarchived && found.state == .active && found.project == scene.project)
            #expect(try await scene.store.link(LinkKey(prefix: "go.example.com/promo", suffix: "aB-_9")) == nil)
        },
        ConformanceCase("parameters come back byte for byte, whatever they are") { scene in
            let texts = [
                "", "link=https%3A%2F%2Fwww.a.example%2F", "st=%E3%81%82%E3%82%8B&utm_source=mail&x=%2f%zz%",
                "é\u{1F44B}=&&=",
                String(repeating: "%F0%9F%91%8B", count: 200), String(repeating: "ü", count: 700), "%", "a%4",
            ]
            for (number, text) in texts.enumerated() {
                var new = scene.newLink("s\(number)")
                new.parameters = text
                _ = try await scene.make(new)
                #expect(try await scene.found("s\(number)")?.parameters == text)
            }
        },
        ConformanceCase("a link with the same digest is the same link, of each kind one") { scene in
            let first = try await scene.make(scene.newLink("a1", digest: 7))
            #expect(try await scene.store.create(scene.newLink("a2", digest: 7), audit: nil) == .existing(first))
            let short = try await scene.make(scene.newLink("a3", kind: .short, digest: 7))
            let second = try await scene.make(scene.newLink("a4", digest: 8))
            let third = try await scene.make(scene.newLink("a5"))
            let fourth = try await scene.make(scene.newLink("a6"))
            #expect(Set([first, short, second, third, fourth].map(\.id)).count == 5)
            #expect(try await scene.found("a2") == nil)
        },
        ConformanceCase("suffixes are compared byte for byte") { scene in
            let (lower, upper) = (
                try await scene.make(scene.newLink("abc")), try await scene.make(scene.newLink("aBc"))
            )
            #expect(lower.id != upper.id)
            #expect(try await scene.found("abc") == lower)
            #expect(try await scene.found("aBc") == upper)
            #expect(try await scene.found("ABC") == nil)
        },
        ConformanceCase("the first free suffix is taken, and none if all are") { scene in
            _ = try await scene.make(scene.newLink("a"))
            let second = try await scene.make(scene.newLink("a", "b", "c"))
            #expect(second.key.suffix == "b")
            #expect(try await scene.store.create(scene.newLink("b", "a"), audit: nil) == .taken)
            #expect(try await scene.store.create(scene.newLink(), audit: nil) == .taken)
        },
        ConformanceCase("a suffix is given once, though its prefix comes to another project") { scene in
            let mine = try await scene.make(scene.newLink("a", digest: 7))
            #expect(try await scene.store.create(scene.newLink("a", of: other), audit: nil) == .taken)
            // The digest of one project says nothing of another's links.
            let theirs = try await scene.make(scene.newLink("b", digest: 7, of: other))
            #expect(theirs.id != mine.id && theirs.project == other)
            #expect(try await scene.store.change(mine.key, of: other, LinkChange(), audit: nil) == nil)
            let all = LinkFilter(visibilities: [.neverShown])
            #expect(try await scene.listed(all) == ["a"])
            #expect(try await scene.listed(all, of: other) == ["b"])
            #expect(try await scene.store.exportLinks(of: other, after: .init(rawValue: 0), limit: 9) == [theirs])
        },
        ConformanceCase("links are counted by kind and length of the suffix") { scene in
            for suffix in ["abcd", "abce", "abcde"] { _ = try await scene.make(scene.newLink(suffix, kind: .short)) }
            _ = try await scene.make(scene.newLink("abcf", kind: .custom))
            _ = try await scene.make(scene.newLink("abcg", kind: .short, of: other))
            #expect(try await scene.store.linkCount(of: prefix, .short, suffixLength: 4) == 3)
            #expect(try await scene.store.linkCount(of: prefix, .short, suffixLength: 6) == 0)
            #expect(try await scene.store.linkCount(of: "x.example", .short, suffixLength: 4) == 0)
        },
        ConformanceCase("versions ascend with what is made and changed") { scene in
            let start = scene.store.linkVersions
            let link = try await scene.make(scene.newLink("a"))
            #expect(scene.store.linkVersions.made > start.made && scene.store.linkVersions.changed == start.changed)
            _ = try await scene.delete(link)
            #expect(scene.store.linkVersions.changed > start.changed)
            let now = scene.store.linkVersions
            _ = try await scene.store.importLinks([scene.newLink("b", kind: .imported)])
            #expect(scene.store.linkVersions.made > now.made)
        },
        ConformanceCase("what this process commits is not told as others' commits") { scene in
            let start = try await scene.store.otherCommits()
            _ = try await scene.delete(try await scene.make(scene.newLink("a")))
            #expect(try await scene.store.otherCommits() == start)
        },
    ]

    private static let changing: [ConformanceCase] = [
        ConformanceCase("a change leaves alone what it does not name") { scene in
            var new = scene.newLink("a", kind: .custom)
            (new.name, new.visibility) = ("Spring", .unarchived)
            var expected = try await scene.make(new)
            var change = LinkChange()
            (change.visibility, change.expiresAt) = (.archived, .some(Timestamp(milliseconds: 77)))
            (expected.visibility, expected.expiresAt) = (.archived, Timestamp(milliseconds: 77))
            #expect(try await scene.store.change(expected.key, of: scene.project, change, audit: nil) == expected)
            change = LinkChange()
            (change.parameters, change.name, change.state) = ("link=x", "Summer", .blocked)
            (change.expiresAt, expected.expiresAt) = (.some(nil), nil)
            (expected.parameters, expected.name, expected.state) = ("link=x", "Summer", .blocked)
            #expect(try await scene.store.change(expected.key, of: scene.project, change, audit: nil) == expected)
            try await scene.crash()
            #expect(try await scene.found("a") == expected)
        },
        ConformanceCase("a deleted link keeps its suffix and its end") { scene in
            let link = try await scene.make(scene.newLink("a", digest: 7))
            #expect(try await scene.delete(link)?.state == .deleted)
            #expect(try await scene.delete(link) == nil)
            #expect(try await scene.found("a")?.state == .deleted)
            #expect(try await scene.store.create(scene.newLink("a"), audit: nil) == .taken)
            #expect(try await scene.listed(LinkFilter(visibilities: Set(LinkVisibility.allCases))) == [])
            // Who asks for the same again gets a new link, and that one from then on.
            let next = try await scene.make(scene.newLink("b", digest: 7))
            #expect(try await scene.store.create(scene.newLink("c", digest: 7), audit: nil) == .existing(next))
        },
        ConformanceCase("a digest finds a blocked link, but none that had its parameters changed or has ended") {
            scene in
            let blocked = try await scene.make(scene.newLink("a", digest: 1))
            var change = LinkChange()
            change.state = .blocked
            let now = try #require(try await scene.store.change(blocked.key, of: scene.project, change, audit: nil))
            #expect(try await scene.store.create(scene.newLink("x", digest: 1), audit: nil) == .existing(now))
            let changed = try await scene.make(scene.newLink("b", digest: 2))
            change = LinkChange()
            change.parameters = "link=y"
            _ = try await scene.store.change(changed.key, of: scene.project, change, audit: nil)
            #expect(try await scene.make(scene.newLink("c", digest: 2)).id != changed.id)
            var short = scene.newLink("d", digest: 3, at: 1000)
            short.expiresAt = Timestamp(milliseconds: 2000)
            let ended = try await scene.make(short)
            #expect(
                try await scene.store.create(scene.newLink("e", digest: 3, at: 1999), audit: nil) == .existing(ended))
            #expect(try await scene.make(scene.newLink("e", digest: 3, at: 2000)).key.suffix == "e")
        },
        ConformanceCase("each change of a link is audited once, and names the link") { scene in
            let link = try await scene.make(scene.newLink("a", digest: 1), audit: scene.audit(.linkCreated))
            _ = try await scene.store.create(scene.newLink("b", digest: 1), audit: scene.audit(.linkCreated))
            _ = try await scene.store.create(scene.newLink("a"), audit: scene.audit(.linkCreated))
            var change = LinkChange()
            change.state = .blocked
            for _ in 0..<2 {
                _ = try await scene.store.change(
                    link.key, of: scene.project, change, audit: scene.audit(.linkBlocked))
            }
            _ = try await scene.store.change(link.key, of: other, change, audit: scene.audit(.linkBlocked))
            let entries = try await scene.store.auditEntries(AuditFilter(), after: nil, limit: 9).elements
            #expect(entries.map(\.action) == [.linkBlocked, .linkCreated])
            #expect(entries.allSatisfy { $0.subject == "go.example.com/a" && $0.credential == alice })
        },
        ConformanceCase("links are listed the newest first, page by page, by prefix and visibility") { scene in
            for number in 0..<12 {
                var new = scene.newLink("s\(number)")
                if number % 3 == 2 { new.prefix = "go.example.com/promo" }
                new.visibility = number % 2 == 0 ? .unarchived : .archived
                _ = try await scene.make(new)
            }
            _ = try await scene.make(scene.newLink("quiet"))
            #expect(try await scene.listed(LinkFilter()) == ["s10", "s8", "s6", "s4", "s2", "s0"])
            let all = LinkFilter(visibilities: [.unarchived, .archived])
            #expect(try await scene.listed(all, limit: 5) == (0..<12).reversed().map { "s\($0)" })
            #expect(try await scene.listed(all, limit: 12) == (0..<12).reversed().map { "s\($0)" })
            let promo = LinkFilter(prefix: "go.example.com/promo", visibilities: [.unarchived, .archived])
            #expect(try await scene.listed(promo) == ["s11", "s8", "s5", "s2"])
            #expect(try await scene.listed(LinkFilter(visibilities: [.neverShown])) == ["quiet"])
            #expect(try await scene.listed(LinkFilter(), of: other) == [])
            let store = scene.store
            try await expectStoreError(.badCursor) {
                _ = try await store.links(of: other, LinkFilter(), after: "x", limit: 2)
            }
        },
    ]

    private static let importing: [ConformanceCase] = [
        ConformanceCase("an import makes links, leaves those that are there, and reports taken suffixes") { scene in
            var rows = ["c", "a", "aB-_9", "A"].map { scene.newLink($0, kind: .imported) }
            rows[0].name = "Sale"
            #expect(try await scene.store.importLinks(rows) == [.created, .created, .created, .created])
            try await scene.crash()
            #expect(try await scene.store.importLinks(rows) == [.unchanged, .unchanged, .unchanged, .unchanged])
            rows[0].name = "Other"
            rows[1].parameters = "link=y"
            rows[2].visibility = .archived
            rows[3].project = other
            rows.append(scene.newLink("new", kind: .imported))
            // What operators changed since stays; only other parameters or another project make another link.
            #expect(try await scene.store.importLinks(rows) == [.unchanged, .taken, .unchanged, .taken, .created])
            #expect(try await scene.found("c")?.name == "Sale")
            #expect(try await scene.found("aB-_9")?.kind == .imported)
            #expect(try await scene.store.linkCount(of: prefix, .imported, suffixLength: 1) == 3)
        },
        ConformanceCase("of two imported rows with one suffix the first is taken") { scene in
            var rows = [scene.newLink("b", kind: .imported), scene.newLink("a", kind: .imported)]
            rows += [rows[1], rows[0]]
            rows[2].parameters = "link=y"
            #expect(try await scene.store.importLinks(rows) == [.created, .created, .taken, .unchanged])
            let deleted = try #require(try await scene.found("a"))
            _ = try await scene.delete(deleted)
            #expect(try await scene.store.importLinks([rows[1]]) == [.taken])
        },
        ConformanceCase("of two projects' imported rows with one suffix the first is taken") { scene in
            var rows = ["a", "b", "b", "c"].map { scene.newLink($0, kind: .imported) }
            rows[1].project = other
            let first = try await scene.store.importLinks(rows)
            #expect(first == [.created, .created, .taken, .created])
            rows = ["b", "c"].map { scene.newLink($0, kind: .imported) }
            rows[1].project = other
            let second = try await scene.store.importLinks(rows)
            #expect(second == [.taken, .taken])
        },
        ConformanceCase("an export has each link once that is not deleted, the oldest first") { scene in
            let rows = (0..<7).map { number in
                var row = scene.newLink("s\(number)", kind: .imported)
                row.visibility = LinkVisibility.allCases[number % 3]
                return row
            }
            for row in rows { _ = try await scene.store.importLinks([row]) }
            _ = try await scene.delete(#require(try await scene.found("s3")))
            var (last, suffixes) = (LinkID(rawValue: 0), [String]())
            while true {
                let page = try await scene.store.exportLinks(of: scene.project, after: last, limit: 2)
                guard let end = page.last else { break }
                suffixes += page.map(\.key.suffix)
                last = end.id
            }
            #expect(suffixes == ["s0", "s1", "s2", "s4", "s5", "s6"])
        },
    ]

    private static let counting: [ConformanceCase] = [
        ConformanceCase("counters add up by day, platform and event, also after a crash") { scene in
            let (link, second) = (try await scene.make(scene.newLink("a")), try await scene.make(scene.newLink("b")))
            try await scene.store.add([scene.count(link, day: 10, 2), scene.count(second, day: 10, 5)])
            try await scene.crash()
            try await scene.store.add([
                scene.count(link, day: 11, 1, .redirect, .android), scene.count(link, day: 10, 3),
                scene.count(link, day: 9, 4), scene.count(link, day: 10, 1, .appReopen, .ios),
                scene.count(link, day: 10, 0, .click, .other),
            ])
            let expected = [
                scene.count(link, day: 10, 5), scene.count(link, day: 10, 1, .appReopen, .ios),
                scene.count(link, day: 11, 1, .redirect, .android),
            ]
            #expect(try await scene.store.counts(of: link.id, days: 10...11) == expected)
            #expect(try await scene.store.counts(of: second.id, days: 0...20) == [scene.count(second, day: 10, 5)])
        },
        ConformanceCase("counters of links that are gone are dropped, the others are kept") { scene in
            let (link, gone) = (try await scene.make(scene.newLink("a")), try await scene.make(scene.newLink("b")))
            _ = try await scene.delete(gone)
            var unknown = scene.count(link, day: 1, 1)
            unknown.link = LinkID(rawValue: 9_999_999)
            try await scene.store.add([unknown, scene.count(gone, day: 1, 1), scene.count(link, day: 1, 1)])
            #expect(try await scene.store.counts(of: gone.id, days: 0...9) == [])
            #expect(try await scene.store.counts(of: unknown.link, days: 0...9) == [])
            #expect(try await scene.store.counts(of: link.id, days: 0...9) == [scene.count(link, day: 1, 1)])
        },
        ConformanceCase("counters of old days are forgotten, a few at a time") { scene in
            let link = try await scene.make(scene.newLink("a"))
            try await scene.store.add((1...5).map { scene.count(link, day: $0, 1) })
            #expect(try await scene.store.forgetLinkCounts(before: 4, limit: 2) == 2)
            #expect(try await scene.store.forgetLinkCounts(before: 4, limit: 2) == 1)
            #expect(try await scene.store.counts(of: link.id, days: 0...9).map(\.day) == [4, 5])
        },
    ]
}
