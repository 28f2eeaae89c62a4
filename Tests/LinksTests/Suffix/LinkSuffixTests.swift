import PushModel
import TestSupport
import Testing

@testable import Links

struct LinkSuffixTests {
    /// Always the same bits.
    private struct Constant: RandomNumberGenerator {
        let bits: UInt64
        mutating func next() -> UInt64 { bits }
    }

    @Test("an unguessable suffix has 17 digits of base 62 for 96 bits")
    func unguessable() {
        var zeros = Constant(bits: 0)
        var ones = Constant(bits: .max)
        #expect(LinkSuffix.unguessable(using: &zeros) == "00000000000000000")
        // 2^96 - 1
        #expect(LinkSuffix.unguessable(using: &ones) == "1f2SI9UJPXvb7vdJ1")
        var random = SeededRandom(seed: 1)
        let suffixes = (0..<2_000).map { _ in LinkSuffix.unguessable(using: &random) }
        #expect(suffixes.allSatisfy { $0.wholeMatch(of: /[0-9A-Za-z]{17}/) != nil })
        #expect(Set(suffixes).count == suffixes.count)
    }

    @Test("a short suffix has the length asked for and all characters", arguments: [4, 5, 8])
    func short(length: Int) {
        var random = SeededRandom(seed: 2)
        let suffixes = (0..<2_000).map { _ in LinkSuffix.short(length: length, using: &random) }
        #expect(suffixes.allSatisfy { $0.utf8.count == length && $0.wholeMatch(of: /[0-9A-Za-z]{4,}/) != nil })
        #expect(Set(suffixes.joined()).count == 62)
    }

    @Test("random suffixes are never reserved or offensive words")
    func words() {
        #expect(OffensiveWords.occur(in: "xxFuCkxx"))
        #expect(OffensiveWords.occur(in: "5H1T"))
        #expect(!OffensiveWords.occur(in: "y6N7"))
        var random = SeededRandom(seed: 3)
        let suffixes = (0..<20_000).map { _ in LinkSuffix.short(length: 3, using: &random) }
        #expect(!suffixes.contains { OffensiveWords.occur(in: $0) || LinkSuffix.reserved.contains($0.lowercased()) })
    }

    @Test("a random suffix is never the path of another prefix")
    func takenPaths() {
        let prefix = LinkPrefix(host: "go.example.com", path: "/p")
        let letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxy".filter { $0 != "i" }
        let taken = TakenPaths(
            below: prefix, own: letters.prefix(30).map { LinkPrefix(host: "go.example.com", path: "/p/\($0)") },
            others: letters.dropFirst(30).map { LinkPrefix(host: "go.example.com", path: "/p/\($0)/qr") })
        var random = SeededRandom(seed: 4)
        #expect((0..<20).allSatisfy { _ in LinkSuffix.short(length: 1, besides: taken, using: &random) == "z" })
    }

    @Test("only longer prefixes of the same host take paths")
    func otherPrefixes() {
        let prefix = LinkPrefix(host: "go.example.com", path: "/p")
        let others = [
            prefix, LinkPrefix(host: "go.example.com"), LinkPrefix(host: "x.example.com", path: "/p/a"),
            LinkPrefix(host: "go.example.com", path: "/pp/a"), LinkPrefix(host: "go.example.com", path: "/p/a/b"),
        ]
        let taken = TakenPaths(below: prefix, own: others, others: others)
        #expect(["p", "a", "pp", "b"].allSatisfy(taken.isFree))
    }

    @Test("a chosen suffix has the characters that SDKs know, and none of the reserved words")
    func custom() {
        for suffix in ["a", "aB-_9", "summer-sale", String(repeating: "x", count: 128)] {
            #expect(LinkSuffix.customProblem(suffix) == nil)
        }
        for suffix in [
            "", "a b", "a/b", "a.b", "é", "a%20", String(repeating: "x", count: 129), "link", "LINK", "i", "app", "_",
            ".well-known", "robots.txt", "favicon.ico", "a\n",
        ] {
            #expect(LinkSuffix.customProblem(suffix) != nil, "\(suffix)")
        }
    }
}
