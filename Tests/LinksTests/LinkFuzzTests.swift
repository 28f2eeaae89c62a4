import PushModel
import TestSupport
import Testing

@testable import Links

/// Long links of chance: nothing crashes, and nothing leads anywhere but to allowed targets and the stores' pages of the
/// project's own apps. `LINK_FUZZ_COUNT` and `LINK_FUZZ_SEED` make another run.
struct LinkFuzzTests {
    private static let seeds = [
        "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&apn=com.example.app&ibi=com.example.app&isi=1234567890&efr=1",
        "https://go.example.com?link=https://x.b.example/?a=b%26c&afl=https%3A%2F%2Fa.example%2Fafl&apn=com.example.app",
        "https://links.example.com/promo/?ofl=https%3A%2F%2Fa.example&link=https%3A%2F%2Fa.example%2F%23f&utm_source=x",
        "https://go.example.com/?link=https%3A%2F%2Fevil.example%2F&ifl=https%3A%2F%2Fa.example&ibi=com.example.app&d=0",
        "https://go.example.com/?ipbi=com.example.pad&isi=5&ipfl=https://b%C3%BCcher.b.example/&link=https://a.example",
    ]
    private static let pieces = [
        "@", "\\", "//", ":", "%0d%0a", "%00", "\r\n", "\0", "%", "%2", "#", ";", "?", "&", "=", "..", "/%2e%2e/",
        "evil.example",
        "@evil.example", "%40evil.example", "javascript:", "data:", "intent:", "https://", "%5c", "%09", "\t", " ", "+",
        "é",
        "\u{301}", "\u{202e}", "。", "℀", "link=", "&link=https://evil.example", "&ofl=https://evil.example",
        "&apn=com.evil",
        "&efr=1", "&d=1", "xn--", "a.example", "b.example", "go.example.com", "[::1]", "0x7f.1", ":8080", "#Intent;end",
        "%ff",
    ]
    private static let clients = LinkClient.Kind.allCases.map { LinkClient($0) }

    @Test("no URL crashes the gateway or leads anywhere else")
    func redirects() throws {
        let settings = SampleLinks.settings(patterns: ["https://c\\.example/[a-z]*"])
        let project = SampleLinks.project(settings)
        let policy = try LinkPolicy(settings)
        var random = SeededRandom(seed: testSetting("LINK_FUZZ_SEED", 1))
        var (redirects, problems) = (0, 0)
        for _ in 0..<testSetting("LINK_FUZZ_COUNT", 100_000) {
            let url = Self.mutated(&random)
            do throws(LinkProblem) {
                let link = try LongLink(url: url, prefixes: settings.prefixes)
                let resolution = try LinkResolution(
                    url: LongLink.url(prefix: link.prefix, parameters: link.parameters), parameters: link.parameters,
                    project: project, policy: policy, click: "c", isDebug: link.isDebug)
                let client = Self.clients[Int.random(in: 0..<Self.clients.count, using: &random)]
                guard let location = Self.location(resolution.decision(for: client)) else { continue }
                redirects += 1
                if !Self.isSafe(location, policy) { Issue.record("\(url.debugDescription) leads to \(location)") }
            } catch {
                problems += 1
            }
        }
        // Both happen, or the fuzz tests nothing.
        #expect(redirects > 0 && problems > 0)
    }

    private static func mutated(_ random: inout SeededRandom) -> String {
        var bytes = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].utf8)
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes.insert(contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &random)].utf8, at: place)
            case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
            case 2: bytes.removeSubrange(place..<min(place + Int.random(in: 0...5, using: &random), bytes.count))
            default: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func location(_ decision: LinkDecision) -> String? {
        switch decision {
        case .redirect(let url), .intent(let url), .ipadCheck(let url): url
        case .preview, .socialPage, .debugPage: nil
        }
    }

    /// Whether a header may have the URL and a browser may be sent there.
    private static func isSafe(_ location: String, _ policy: LinkPolicy) -> Bool {
        guard location.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != 0x5c }) else { return false }
        if location.hasPrefix("intent://") { return isSafeIntent(location, policy) }
        if location.hasPrefix("https://play.google.com/store/apps/details?id=com.example.app&") { return true }
        if location.hasPrefix("https://apps.apple.com/app/id") {
            let number = location.dropFirst("https://apps.apple.com/app/id".count).prefix { $0 != "?" }
            return number.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard case .success(let url) = TargetURL.read(location) else { return false }
        return url.text == location && policy.allows(url)
    }

    private static func isSafeIntent(_ location: String, _ policy: LinkPolicy) -> Bool {
        let parts = location.split(separator: "#", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].contains(";") else { return false }
        let fields = parts[1].split(separator: ";", omittingEmptySubsequences: false)
        guard fields.count == 7, fields[2] == "package=com.example.app", fields[6] == "end" else { return false }
        return isSafe(PercentEncoding.decode(String(fields[5].dropFirst("S.browser_fallback_url=".count))), policy)
    }
}
