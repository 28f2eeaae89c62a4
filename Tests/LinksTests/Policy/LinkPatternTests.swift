import Foundation
import TestSupport
import Testing

@testable import Links

struct LinkPatternTests {
    @Test(
        "a pattern describes the whole text",
        arguments: [
            ("", "", true), ("abc", "abc", true), ("abc", "abcd", false), ("bc", "abc", false), ("a|b", "b", true),
            ("a|", "", true), ("^a$", "a", true), ("^^a$$", "a", true), ("a^b", "ab", false), ("a$b", "ab", false),
            ("a.c", "axc", true), ("a\\.c", "axc", false), (".*", "https://x/", true), ("a*", "", true),
            ("a+", "", false),
            ("a+?", "aaa", true), ("a?", "a", true), ("(ab)*c", "ababc", true), ("(?:ab){2}", "abab", true),
            ("a{2}", "aaa", false), ("a{2,}", "aaaa", true), ("a{0,2}", "aaa", false), ("a{1,3}b", "aaab", true),
            ("a{0}", "", true), ("[abc]+", "cab", true), ("[^/]+", "a/b", false), ("[a-z0-9-]+", "a-9", true),
            ("[]a]+", "]a", true), ("[^]a]", "]", false), ("[a-]", "-", true), ("[\\w.]+", "a_1.", true),
            ("\\d{3}", "123", true),
            ("\\D", "1", false), ("\\s", " ", true), ("\\S+", "a b", false), ("\\W", "-", true), ("[\\D]", "x", true),
            ("(a*)*", "aaaa", true), ("(a*)*b", "aaaa", false), ("(|a)+", "aaa", true), ("\\Aa\\z", "a", true),
            ("\\/\\-\\{\\}", "/-{}", true), ("^https://a\\.example/.*$", "https://a.example/x?y", true),
            ("(?:^a|b)c", "bc", true), ("a(b|c$)", "ac", true), (".", "\n", false), ("[^a]", "é", false),
        ])
    func matches(pattern: String, text: String, expected: Bool) throws {
        #expect(try LinkPattern(pattern).matches(text) == expected)
    }

    @Test(
        "what isn't known is refused with its place",
        arguments: [
            ("a(", 1), ("a)", 1), ("[a", 0), ("*a", 0), ("a**", 2), ("a|+", 2), ("a{2", 1), ("a{", 1), ("a{x}", 1),
            ("{2}", 0),
            ("a{3,2}", 1), ("a{1001}", 1), ("a{1,99999999}", 1), ("a\\", 1), ("\\b", 0), ("\\1", 0), ("\\pL", 0),
            ("\\Qa\\E", 0), ("(?i)a", 0),
            ("(?=a)", 0), ("(?P<n>a)", 0), ("[[:alpha:]]", 1), ("[z-a]", 1), ("[a-\\d]", 1), ("é", 0), ("[é]", 1),
            ("((a{1000}){1000}){1000}", 0), ("((?:){1000}){1000}", 0), ("a{1000}{1000}", 7),
        ])
    func refused(pattern: String, offset: Int) {
        let refusal = #expect(throws: LinkPattern.Refusal.self) { try LinkPattern(pattern) }
        #expect(refusal?.offset == offset)
    }

    @Test("groups and lengths have limits")
    func limits() {
        let deep = String(repeating: "(", count: 5_000) + String(repeating: ")", count: 5_000)
        #expect(throws: LinkPattern.Refusal.self) { try LinkPattern(deep) }
        #expect(throws: LinkPattern.Refusal.self) {
            try LinkPattern(String(repeating: "(", count: 60) + String(repeating: ")", count: 60))
        }
        #expect(throws: LinkPattern.Refusal.self) { try LinkPattern(String(repeating: "a", count: 3_000)) }
    }

    /// Time is not asserted: a backtracking matcher would not come back within the test's limit.
    @Test(
        "patterns that make backtracking matchers hang are through at once", .timeLimit(.minutes(1)),
        arguments: [
            "(a+)+b", "(a|a)*b", "(a*)*b", "(.*)*x", "(a|aa)+$b", "(a?){200}a{200}", "([a-z]+)*\\d", "(.*.*.*.*.*)b",
        ])
    func catastrophic(pattern: String) throws {
        #expect(try !LinkPattern(pattern).matches(String(repeating: "a", count: 150)))
        #expect(try !LinkPattern(pattern).matches(String(repeating: "a", count: 2_000) + "!"))
    }

    @Test("random patterns match what NSRegularExpression matches")
    func oracle() throws {
        var random = SeededRandom(seed: testSetting("LINK_PATTERN_SEED", 12))
        for _ in 0..<2_000 {
            let text = Self.pattern(depth: 3, &random)
            let pattern = try LinkPattern(text)
            // `\z` behind a group: ICU's `$` matches before a line's end too, and there is none here.
            let oracle = try NSRegularExpression(pattern: "^(?:\(text))$")
            for _ in 0..<8 {
                let input = String(
                    (0..<Int.random(in: 0...7, using: &random)).map { _ in "ab/".randomElement(using: &random)! })
                let range = NSRange(location: 0, length: input.utf16.count)
                let expected = oracle.firstMatch(in: input, range: range) != nil
                #expect(pattern.matches(input) == expected, "\(text) on \(input)")
            }
        }
    }

    private static func pattern(depth: Int, _ random: inout SeededRandom) -> String {
        let atoms = ["a", "b", "/", ".", "[ab]", "[^a]", "\\w", "\\W"]
        switch depth == 0 ? 0 : Int.random(in: 0..<7, using: &random) {
        case 1: return pattern(depth: depth - 1, &random) + "|" + pattern(depth: depth - 1, &random)
        case 2, 3, 4: return pattern(depth: depth - 1, &random) + pattern(depth: depth - 1, &random)
        case 5:
            return "(" + pattern(depth: depth - 1, &random) + ")" + ["*", "+", "?", "{1,2}", "{2}", "{0,1}"]
                .randomElement(using: &random)!
        case 6: return "(?:" + pattern(depth: depth - 1, &random) + ")"
        default: return atoms.randomElement(using: &random)!
        }
    }
}
