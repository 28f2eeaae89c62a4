import Foundation
import HeraldLinks
import Testing

struct ShorteningTests {
    private func failure(_ stub: LinkStub) async throws -> DynamicLinksError {
        let links = try DynamicLinks.sample(stub)
        let long = try url("https://go.example.com/?link=https%3A%2F%2Fa%2Eexample")
        return try await #require(throws: DynamicLinksError.self) { try await links.shorten(long) }
    }

    @Test("an error envelope is told with its message, status and code, as Firebase's NSError has them")
    func envelope() async throws {
        let body =
            #"{"error": {"code": 400, "message": "'link' names no allowed host.", "status": "INVALID_ARGUMENT"}}"#
        let error = try await failure(LinkStub(400, body))
        #expect(error.code == .refused)
        #expect(error.localizedDescription == "'link' names no allowed host.")
        #expect(error.remoteStatus == "INVALID_ARGUMENT")
        #expect(error.remoteErrorCode == 400)
        #expect(DynamicLinksError.errorDomain == "com.firebase.durabledeeplink")
        #expect(error.errorUserInfo["remoteStatus"] as? String == "INVALID_ARGUMENT")
        #expect(error.errorUserInfo["remoteErrorCode"] as? Int == 400)
        #expect(error.errorUserInfo[NSLocalizedFailureReasonErrorKey] as? String == "'link' names no allowed host.")
    }

    @Test(
        "an answer with neither a link nor an error, and one that is no object, are unreadable",
        arguments: ["{}", "[]", "no", ""])
    func unreadable(body: String) async throws {
        #expect(try await failure(LinkStub(200, body)).code == .unreadableAnswer)
    }

    @Test("a gateway that does not answer is told with the transport's error")
    func unreachable() async throws {
        let error = try await failure(.unreachable())
        #expect(error.code == .unreachable)
        #expect((error.underlying as? URLError)?.code == .cannotConnectToHost)
    }

    @Test("a short link in the answer counts, whatever the status")
    func statusIsIgnored() async throws {
        let stub = LinkStub(
            500, #"{"shortLink": "https://go.example.com/WXYZ", "warning": [{}, 1, {"warningMessage": "w"}]}"#)
        let (short, warnings) = try await DynamicLinks.sample(stub).shorten(url("https://go.example.com/?link=x"))
        #expect(short.absoluteString == "https://go.example.com/WXYZ")
        #expect(warnings == ["w"])
    }

    @Test("a host with a path has it before /v1")
    func hostWithPath() async throws {
        let stub = LinkStub(#"{"shortLink": "https://go.example.com/WXYZ"}"#)
        let options = HeraldLinksOptions(host: try url("https://example.com/push/"), apiKey: "k", bundleID: nil)
        _ = try await DynamicLinks(options: options, transport: stub, record: RecordStub())
            .shorten(url("https://go.example.com/?link=x"))
        #expect(stub.requests.first?.url == "https://example.com/push/v1/shortLinks")
        #expect(stub.requests.first?.headers["X-Ios-Bundle-Identifier"] == nil)
    }

    @Test("the Info.plist's dictionary gives the options, Firebase's array the domains")
    func infoDictionary() throws {
        let options = try #require(
            HeraldLinksOptions(
                infoDictionary: [
                    "HeraldLinks": ["Host": "https://push.example.com", "APIKey": "hk_x", "URLScheme": "example"],
                    "FirebaseDynamicLinksCustomDomains": ["https://go.example.com"],
                ], bundleID: "com.example.app"))
        #expect(options.host.absoluteString == "https://push.example.com")
        #expect(options.apiKey == "hk_x")
        #expect(options.urlScheme == "example")
        #expect(options.bundleID == "com.example.app")
        #expect(options.customDomains.isShortLink(try url("https://go.example.com/abc")))
        #expect(HeraldLinksOptions(infoDictionary: ["HeraldLinks": ["Host": "https://push.example.com"]]) == nil)
        #expect(HeraldLinksOptions(infoDictionary: nil) == nil)
    }
}
