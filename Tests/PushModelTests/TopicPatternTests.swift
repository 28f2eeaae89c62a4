import PushModel
import Testing

/// Which names of topics a pattern means.
struct TopicPatternTests {
    @Test(arguments: [
        ("news", "news", true), ("news", "newss", false), ("*", "x", true), ("news-*", "news-", true),
        ("news-*", "news", false), ("*-uk", "news-uk", true), ("a*a", "a", false), ("a*a", "aa", true),
        ("a*b*c", "axxbxxc", true), ("a*b*c", "axxcxxb", false), ("*ab*ba*", "aba", false), ("*ab*ba*", "abba", true),
        ("*aab*", "aaab", true), ("**", "x", true), ("a.b", "axb", false), ("*abab*c", "abacababc", true),
    ])
    func aStarStandsForAnyCharacters(pattern: String, name: String, matches: Bool) throws {
        let pattern = try #require(TopicPattern(rawValue: pattern))
        #expect(pattern.matches(try #require(Topic(rawValue: name))) == matches)
    }

    @Test(arguments: ["", "a b", "news/*", "ä*", String(repeating: "a", count: 901)])
    func whatNoNameHasIsNoPattern(text: String) {
        #expect(TopicPattern(rawValue: text) == nil)
    }

    /// A backtracking matcher needs 2^30 steps and more for these.
    @Test func noPatternTakesLong() throws {
        let pattern = try #require(TopicPattern(rawValue: String(repeating: "a*", count: 400) + "b"))
        let name = try #require(Topic(rawValue: String(repeating: "a", count: 900)))
        for _ in 0..<100 { #expect(!pattern.matches(name)) }
    }
}
