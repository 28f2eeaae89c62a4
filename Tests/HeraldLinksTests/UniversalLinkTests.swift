import Foundation
import Testing

@testable import HeraldLinks

@Suite(.timeLimit(.minutes(1)))
struct UniversalLinkTests {
    private static let long = "?link=https%3A%2F%2Fa%2Eexample%2Fx&imv=2.0&utm_source=mail"

    @Test(
        "one segment after a prefix is a short link, and an invitation",
        arguments: [
            "https://go.example.com/WXYZ", "https://GO.example.com/aB-_9?d=1", "https://go.example.com/i/abc",
            "https://www.example.com/link/WXYZ", "https://go.example.com/WXYZ/", "https://www.example.com/link/i/abc",
            "http://go.example.com/WXYZ",
        ])
    func short(text: String) throws {
        let links = try DynamicLinks.sample(LinkStub("{}"))
        #expect(links.matchesShortLinkFormat(try url(text)))
    }

    @Test(
        "other pages of a host, other hosts and dismissals are no links",
        arguments: [
            "https://go.example.com", "https://go.example.com/", "https://go.example.com/a/b",
            "https://go.example.com/a.html", "https://www.example.com/about", "https://www.example.com/linkage",
            "https://www.example.com/link", "https://example.page.link/WXYZ",
            "https://go.example.com/link/dismiss", "https://www.example.com/link/dismiss",
            "ftp://go.example.com/WXYZ", "https://go.example.com/?link=javascript:1",
            "https://evil.example/?u=go.example.com",
        ])
    func others(text: String) async throws {
        let other = try url(text)
        let stub = LinkStub("{}")
        let links = try DynamicLinks.sample(stub)
        #expect(!links.matchesShortLinkFormat(other))
        #expect(links.handleUniversalLink(other) { _, _ in Issue.record("called") } == false)
        #expect(try await links.handleUniversalLink(other) == nil)
        #expect(stub.requests.isEmpty)
    }

    @Test("a short link is resolved by reopenAttribution, in the SDK's mixture of names")
    func reopen() async throws {
        let stub = LinkStub(
            """
            {"deepLink": "https://a.example/x", "iosMinAppVersion": "2.0", "utmSource": "mail", "utmTerm": "t",
             "invitationId": {"id": "inv1"}, "resolvedLink": "https://go.example.com/?link=x"}
            """)
        let link = try #require(
            try await DynamicLinks.sample(stub).handleUniversalLink(url("https://go.example.com/WXYZ")))
        #expect(link.url?.absoluteString == "https://a.example/x")
        #expect(link.matchType == .unique)
        #expect(link.minimumAppVersion == "2.0")
        #expect(link.invitationID == "inv1")
        #expect(link.utmParametersDictionary as? [String: String] == ["utm_source": "mail", "utm_term": "t"])
        let request = try #require(stub.requests.first)
        #expect(request.url == "https://push.example.com/v1/reopenAttribution")
        #expect(
            request.body
                == #"{"bundle_id":"com.example.app","requestedLink":"https://go.example.com/WXYZ","sdk_version":"HeraldLinks 1"}"#
        )
    }

    @Test(
        "a long link is read in both slash forms, at the root and below a path, and the gateway is told",
        arguments: [
            "https://go.example.com/" + long, "https://go.example.com" + long, "https://www.example.com/link" + long,
            "https://www.example.com/link/" + long,
        ])
    func longLink(text: String) async throws {
        let stub = LinkStub(#"{"deepLink": "https://a.example/x", "utmSource": "mail", "iosMinAppVersion": "2.0"}"#)
        let links = try DynamicLinks.sample(stub)
        #expect(!links.matchesShortLinkFormat(try url(text)))
        let answered = try #require(try await links.handleUniversalLink(url(text)))
        #expect(stub.requests.map(\.url) == ["https://push.example.com/v1/reopenAttribution"])

        let unreachable = try DynamicLinks.sample(.unreachable())
        let read = try #require(try await unreachable.handleUniversalLink(url(text)))
        let silent = try DynamicLinks.sample(LinkStub("{}"))
        let unanswered = try #require(try await silent.handleUniversalLink(url(text)))
        for link in [answered, read, unanswered] {
            #expect(link.url?.absoluteString == "https://a.example/x")
            #expect(link.matchType == .unique)
            #expect(link.minimumAppVersion == "2.0")
            #expect(link.utmParametersDictionary as? [String: String] == ["utm_source": "mail"])
        }
    }

    @MainActor
    @Test("an error of the gateway comes beside a valid long link, and alone for a short one")
    func errors() async throws {
        let refusal = LinkStub(404, #"{"error": {"code": 404, "message": "gone", "status": "NOT_FOUND"}}"#)
        let links = try DynamicLinks.sample(refusal)
        let (long, short) = (try url("https://go.example.com/" + Self.long), try url("https://go.example.com/WXYZ"))
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            links.handleUniversalLink(long) { link, error in
                #expect(link?.url?.absoluteString == "https://a.example/x")
                #expect((error as? DynamicLinksError)?.remoteStatus == "NOT_FOUND")
                continuation.resume()
            }
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            links.handleUniversalLink(short) { link, error in
                #expect(link == nil)
                #expect((error as? DynamicLinksError)?.remoteErrorCode == 404)
                continuation.resume()
            }
        }
        await #expect(throws: DynamicLinksError.self) { try await links.handleUniversalLink(short) }
    }

    @Test("an answer that is no object is neither a link nor an error; a refusal without an envelope is one")
    func withoutObject() async throws {
        let short = try url("https://go.example.com/WXYZ")
        #expect(try await DynamicLinks.sample(LinkStub("[1]")).handleUniversalLink(short) == nil)
        let links = try DynamicLinks.sample(LinkStub(503, "busy"))
        let error = await #expect(throws: DynamicLinksError.self) { try await links.handleUniversalLink(short) }
        #expect(error?.code == .unreadableAnswer)
    }

    @MainActor
    @Test("a resolved short link is a URL of the app's scheme that says the same")
    func resolve() async throws {
        let links = try DynamicLinks.sample(
            LinkStub(#"{"deepLink": "https://a.example/?a=b&c", "invitationId": "i1"}"#))
        let short = try url("https://go.example.com/WXYZ")
        let resolved = await withCheckedContinuation { continuation in
            links.resolveShortLink(short) { url, _ in continuation.resume(returning: url) }
        }
        let opened = try #require(resolved)
        #expect(opened.absoluteString.hasPrefix("example://google/link/?"))
        let link = try #require(links.dynamicLink(fromCustomSchemeURL: opened))
        #expect(link.url?.absoluteString == "https://a.example/?a=b&c")
        #expect(link.matchType == .unique)
        #expect(link.invitationID == "i1")
    }

    @Test("of custom schemes the app's own are taken, bundle id and another, with the path /link")
    func customSchemes() throws {
        let links = try DynamicLinks.sample(LinkStub("{}"))
        let query = "deep_link_id=https%3A%2F%2Fa%2Eexample&match_type=default&utm_medium=sms&imv=3"
        for text in ["example://google/link/?" + query, "COM.example.app://google/link?" + query] {
            let link = try #require(links.dynamicLink(fromCustomSchemeURL: url(text)))
            #expect(link.url?.absoluteString == "https://a.example")
            #expect(link.matchType == .default)
            #expect(link.minimumAppVersion == "3")
            #expect(links.shouldHandleDynamicLink(fromCustomSchemeURL: try url(text)))
        }
        for text in [
            "other://google/link/?" + query, "example://google/else/?" + query, "example://other/link?" + query,
        ] {
            #expect(links.dynamicLink(fromCustomSchemeURL: try url(text)) == nil, "\(text)")
        }
        #expect(links.dynamicLink(fromCustomSchemeURL: try url("example://google/link/")) == nil)
        let dismissal = try url("example://google/link/?dismiss=1&is_weak_match=1")
        #expect(links.dynamicLink(fromCustomSchemeURL: dismissal)?.url == nil)
        #expect(links.dynamicLink(fromCustomSchemeURL: dismissal)?.matchType == DLMatchType.none)
    }
}
