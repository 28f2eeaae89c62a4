import HTTPTypes
import Testing

@testable import GatewayAPI

/// The files for browsers that every gateway serves; browsers run them in the tests of the whole gateway.
@Suite(.timeLimit(.minutes(5)))
struct BrowserModuleTests {
    @Test("pages of any origin may load both files, which together stay below 10,000 bytes")
    func files() async throws {
        let gateway = try await TestGateway()
        var size = 0
        for path in [BrowserModule.path, BrowserModule.workerPath] {
            let answer = try await gateway.request(.get, path)
            #expect(answer.status == 200)
            #expect(answer.headers[.contentType] == "text/javascript; charset=utf-8")
            #expect(answer.headers[.accessControlAllowOrigin] == "*")
            #expect(answer.headers[.cacheControl] == "public, max-age=3600")
            #expect(answer.headers[HTTPField.Name("Service-Worker-Allowed")!] == "/")
            size += answer.text.utf8.count
        }
        #expect((1..<10_000).contains(size))
        #expect(try await gateway.request(.get, "/try/").status == 404)
        #expect(try await gateway.request(.get, "/client/other.js").status == 404)
    }

    @Test("the listener of operations serves neither")
    func operations() async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, BrowserModule.path, on: .operations).status == 404)
    }
}
