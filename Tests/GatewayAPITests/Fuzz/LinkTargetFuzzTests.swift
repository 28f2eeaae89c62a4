import Foundation
import HTTPListener
import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import GatewayAPI

/// Requests of chance for link and preview hosts, through the whole responder: the answer is no 5xx, and leads to the
/// project's targets, its own hosts and the stores' pages of its own apps alone.
///
/// `HERALD_FUZZ_TARGETS` sets how many (4000), `HERALD_FUZZ_SEED` which.
@Suite(.serialized, .heavy, .timeLimit(.minutes(60)))
struct LinkTargetFuzzTests {
    @Test("whatever is asked of a link host, the answer is no server error and leads nowhere else")
    func requests() async throws {
        let total = Int(testSetting("HERALD_FUZZ_TARGETS", 4000))
        let seed = testSetting("HERALD_FUZZ_SEED", 1)
        var (redirects, pages, refused) = (0, 0, 0)
        for first in stride(from: 0, to: total, by: 5000) {
            var random = SeededRandom(seed: seed).part(UInt64(first))
            let gateway = try await FuzzGateway()
            let targets = try await Targets(gateway, &random)
            let client = gateway.client()
            for _ in first..<min(first + 5000, total) {
                let request = targets.request(&random)
                let (response, _) = try await client.answer(request)
                let asked =
                    "\(request.head.method) \(request.head.authority ?? "") \(request.head.path ?? "")"
                if response.status.kind == .serverError { Issue.record("\(asked): \(response.status)") }
                switch response.status.kind {
                case .redirection: redirects += 1
                case .successful: pages += 1
                default: refused += 1
                }
                guard let location = response.headers[.location] else { continue }
                if !AllowedLocation.holds(location) {
                    Issue.record("\(asked.debugDescription) leads to \(location)")
                }
            }
            try await client.close()
        }
        print(
            "fuzzing: \(total) link targets, \(redirects) redirected, \(pages) pages, \(refused) refused, seed \(seed)"
        )
        // All happen, or the fuzz tests little.
        #expect(min(redirects, pages, refused) > total / 20)
    }

    @Test(
        "what leads elsewhere is seen as that",
        arguments: [
            "https://evil.example/", "javascript:alert(1)", "https://a.example@evil.example/",
            "//evil.example",
            "https://a.example.evil.example", "https://a.example\\@evil.example/", "https://xa.example/",
            "https://play.google.com/store/apps/details?id=com.evil&url=com.example.droid", "/x",
            "https://play.google.com/store/apps/details?id=com.example.droidx",
            "https://b.example/",
            "https://apps.apple.com/app/id1/../../evil", "https://a.example/\r\nset-cookie: a",
            "intent://go.example.com/x#Intent;scheme=https;package=com.evil;S.browser_fallback_url=https%3A%2F%2Fa.example;end",
            "intent://go.example.com/x#Intent;scheme=https;package=com.example.droid;S.browser_fallback_url=https%3A%2F%2Fevil.example;end",
        ])
    func elsewhere(location: String) {
        #expect(!AllowedLocation.holds(location))
    }

    @Test(
        "what may be led to is seen as that",
        arguments: [
            "https://a.example/x?y#z", "http://x.b.example", "https://go.example.com/abc",
            "https://apps.apple.com/app/id1234567890?mt=8",
            "https://play.google.com/store/apps/details?id=com.example.droid&url=x",
            "https://play.google.com/store/apps/details?id=com.example.droid",
            "intent://go.example.com/x#Intent;scheme=https;package=com.example.droid;S.browser_fallback_url=https%3A%2F%2Fa.example;end",
        ])
    func allowed(location: String) {
        #expect(AllowedLocation.holds(location))
    }
}

/// Where a gateway of these tests may lead, found out by other means than its own.
private enum AllowedLocation {
    static func holds(_ location: String) -> Bool {
        guard location.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != 0x5c }) else {
            return false
        }
        if location.hasPrefix("intent://") { return isIntent(location) }
        guard let parts = URLComponents(string: location), ["https", "http"].contains(parts.scheme),
            parts.user == nil,
            let host = parts.encodedHost?.lowercased()
        else { return false }
        return switch host {
        case "a.example", "go.example.com", "links.example.com", "preview.example.com": true
        case "play.google.com":
            // Without a referrer where the visit is no click.
            location.wholeMatch(
                of: /https:\/\/play\.google\.com\/store\/apps\/details\?id=com\.example\.droid(&.*)?/) != nil
        case "apps.apple.com":
            location.wholeMatch(of: /https:\/\/apps\.apple\.com\/app\/id[0-9]+(\?.*)?/) != nil
        default: host.hasSuffix(".b.example")
        }
    }

    private static func isIntent(_ location: String) -> Bool {
        let parts = location.split(separator: "#", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].contains(";"), parts[1].hasPrefix("Intent;"),
            parts[1].hasSuffix(";end")
        else {
            return false
        }
        let fields = parts[1].split(separator: ";").dropFirst().dropLast()
        let names = fields.compactMap { $0.split(separator: "=").first }
        let fallback = fields.first { $0.hasPrefix("S.browser_fallback_url=") }?.split(separator: "=")
            .last
        return Set(names).count == names.count && fields.contains("package=com.example.droid")
            && fallback.flatMap { String($0).removingPercentEncoding }.map(holds) == true
    }
}

/// Requests for what is in a gateway, and for what nearly is.
private struct Targets {
    /// Hosts with paths that are there.
    private let targets: [(host: String, path: String)]

    init(_ gateway: FuzzGateway, _ random: inout SeededRandom) async throws {
        let scene = try await gateway.links()
        var links = [scene.link, "https://go.example.com/i/\(scene.invitation)"]
        links += try await Self.mutatedLinks(gateway, &random) + Self.makeOlderLinks(gateway)
        links +=
            links.map { $0 + "?d=1" } + links.prefix(20).map { $0 + "/qr?size=256&ecc=H&format=png" } + Self.longLinks
            + Self.longLinks.map { $0 + "&_imcp=1&_osl=\(scene.link)" }
        let urls =
            links + links.map { "https://preview.example.com/" + $0.dropFirst("https://".count) } + [
                "https://preview.example.com/_/clicks/\(scene.click)", "https://go.example.com/robots.txt",
                "https://go.example.com/.well-known/assetlinks.json", "https://go.example.com/",
                "https://links.example.com/.well-known/apple-app-site-association",
            ]
        targets = urls.map { url in
            let rest = url.dropFirst("https://".count)
            let host = rest.prefix { $0 != "/" && $0 != "?" }
            let path = rest.dropFirst(host.count)
            return (String(host), path.first == "/" ? String(path) : "/" + path)
        }
    }

    /// Makes links of mutated long ones, as far as they are taken.
    private static func mutatedLinks(
        _ gateway: FuzzGateway, _ random: inout SeededRandom
    ) async throws -> [String] {
        var links: [String] = []
        for _ in 0..<200 {
            let long = mutated(pick(longLinks, &random), &random)
            let body = JSONValue.object([.init("longDynamicLink", .string(long))])
            let answer = try await gateway.post("/v1/shortLinks", String(decoding: body.bytes, as: UTF8.self))
            #expect(answer.status < 500, "\(answer.text)")
            if answer.status == 200 { links.append(try #require(try answer.json["shortLink"]?.stringValue)) }
        }
        #expect(links.count > 10)
        return links
    }

    /// Puts links into the store that lead where they must not: the project's targets may have been others when they were
    /// made.
    private static func makeOlderLinks(_ gateway: FuzzGateway) async throws -> [String] {
        for (number, parameters) in olderLinks.enumerated() {
            _ = try await gateway.gateway.store.create(
                NewLink(
                    project: #require(ProjectID(rawValue: "demo")), prefix: "go.example.com",
                    suffixes: ["older\(number)"], kind: .custom, parameters: parameters,
                    createdAt: gateway.gateway.clock.now), audit: nil)
        }
        return olderLinks.indices.map { "https://go.example.com/older\($0)" }
    }

    private static let hosts = [
        "go.example.com", "links.example.com", "preview.example.com", "GO.example.com:443", "preview.example.com.",
        "evil.example", "",
    ]

    private static func suffix(_ url: String) -> String {
        String(url.split(separator: "/").last ?? "")
    }

    /// A request, half of the time for what is there.
    func request(_ random: inout SeededRandom) -> Request {
        var (host, path) = Self.pick(targets, &random)
        if Self.happens(oneIn: 2, &random) { path = Self.mutated(path, &random) }
        if Self.happens(oneIn: 8, &random) { host = Self.pick(Self.hosts, &random) }
        if Self.happens(oneIn: 20, &random) { host = Self.mutated(host, &random) }
        var headers: HTTPFields = [.userAgent: Self.pick(Self.agents, &random)]
        if Self.happens(oneIn: 10, &random) {
            headers[.userAgent] = Self.mutated(Self.pick(Self.agents, &random), &random)
        }
        if Self.happens(oneIn: 4, &random) {
            headers[.acceptLanguage] = Self.mutated("en-GB,en;q=0.9", &random)
        }
        if Self.happens(oneIn: 10, &random) {
            headers[.forwardedFor] = Self.mutated("198.51.100.7, ::1", &random)
        }
        let others: [HTTPRequest.Method] = [.head, .post, .put, .options, .delete]
        let method = Self.happens(oneIn: 4, &random) ? Self.pick(others, &random) : .get
        let body =
            method == .post
            ? Self.mutated("width=390&height=844&language=en&timeZone=UTC&saved=1", &random) : ""
        return Request(
            head: HTTPRequest(
                method: method, scheme: "https", authority: host.isEmpty ? nil : host, path: path,
                headerFields: headers),
            body: RequestBody(buffer: ByteBuffer(string: body)))
    }

    private static func pick<Element>(_ elements: [Element], _ random: inout SeededRandom) -> Element {
        elements[Int.random(in: elements.indices, using: &random)]
    }

    private static func happens(oneIn count: Int, _ random: inout SeededRandom) -> Bool {
        Int.random(in: 0..<count, using: &random) == 0
    }

    private static func mutated(_ text: String, _ random: inout SeededRandom) -> String {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: bytes.insert(contentsOf: pick(pieces, &random).utf8, at: place)
            case 2: bytes.insert(.random(in: 0...255, using: &random), at: place)
            case 3:
                bytes.removeSubrange(
                    place..<min(place + Int.random(in: 0...5, using: &random), bytes.count))
            default: if place < bytes.count { bytes[place] = .random(in: 0...255, using: &random) }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let longLinks = [
        "https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&apn=com.example.droid&ibi=com.example.app&isi=1&efr=1",
        "https://go.example.com/?link=https%3A%2F%2Fx.b.example%2F%3Fa%3Db%26c&afl=https%3A%2F%2Fa.example&apn=com.example.droid",
        "https://links.example.com/promo/?ofl=https%3A%2F%2Fa.example&link=https%3A%2F%2Fa.example%2F%23f&utm_source=x",
        "https://go.example.com/?link=https%3A%2F%2Fa.example&ifl=https%3A%2F%2Fx.b.example&ibi=com.example.app&st=%3Cb%3E",
        "https://go.example.com/?link=https%3A%2F%2Fa.example&ipbi=com.example.app&ipfl=https%3A%2F%2Fa.example%2Fp&d=0",
        "https://go.example.com/?link=https%3A%2F%2Fevil.example&ofl=https%3A%2F%2Fa.example&si=https%3A%2F%2Fevil.example",
    ]

    private static let olderLinks = [
        "link=https%3A%2F%2Fevil.example%2F", "link=javascript%3Aalert(1)", "link=%2F%2Fevil.example",
        "link=", "",
        "link=https%3A%2F%2Fa.example&ofl=https%3A%2F%2Fevil.example",
        "apn=com.example.droid&afl=https%3A%2F%2Fevil.example&link=https%3A%2F%2Fa.example",
        "apn=com.evil&link=https%3A%2F%2Fa.example",
        "efr=1&ibi=com.example.app&ifl=data%3Atext%2Fhtml%2Cx&link=https%3A%2F%2Fa.example",
        "ibi=com.example.app&isi=1%2F..%2F..%2Fevil&efr=1&link=https%3A%2F%2Fa.example",
        "link=https%3A%2F%2Fa.example%2F%0D%0Ax%3A%20y&st=%22%3E%3Cscript%3E",
        "link=https%3A%2F%2Fa.example%40evil.example",
    ]

    private static let agents = [
        "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
        "Twitterbot/1.0", "facebookexternalhit/1.1", "curl/8.0", "",
    ]

    private static let pieces = [
        "@", "\\", "//", ":", "%0d%0a", "%00", "\r\n", "\0", "%", "%2", "#", ";", "?", "&", "=", "..",
        "/%2e%2e/", "%2F",
        "evil.example", "@evil.example", "%40evil.example", "javascript:", "data:", "intent:",
        "https://", "%5c", "%09",
        " ", "+", "é", "\u{301}", "\u{202e}", "。", "℀", "link=", "&link=https://evil.example",
        "&ofl=https://evil.example",
        "&apn=com.evil", "&apn=com.example.droid", "&efr=1", "&d=1", "&_imcp=1", "&_ipad=1", "&cid=1",
        "xn--", "a.example",
        "go.example.com", "[::1]", ":8080", "#Intent;end", "%ff", "/qr", "/i/", "?size=99999999",
        "&format=png",
        String(repeating: "a", count: 300), String(repeating: "%25", count: 3000),
    ]
}
