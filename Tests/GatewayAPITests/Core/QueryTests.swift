import HTTPTypes
import Testing

@testable import GatewayAPI

/// The parameters of a query.
@Suite(.timeLimit(.minutes(5)))
struct QueryTests {
    private static let list = "/v1/projects/demo/messages"

    @Test func anUnknownParameterIsNamedInsteadOfPassedOver() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, Self.list + "?pageSize=1&page_tokn=x&a%20b=1")
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["page_tokn", "a b"])
        #expect(try answer.reason == "UNKNOWN_PARAMETER")
        #expect(try answer.errorMessage?.contains(#"Unknown name "page_tokn""#) == true)
    }

    @Test(arguments: [
        "alt=json", "$.xgafv=2", "prettyPrint=false", "pretty_print=true", "key=x", "access_token=x", "fields=a",
        "quotaUser=1", "uploadType=media", "upload_protocol=raw", "callback=f", "oauth_token=x", "$alt=json",
        "%24.xgafv=1", "page%53ize=1",
    ])
    func googlesGlobalParametersAreTaken(query: String) async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, Self.list + "?" + query).status == 200)
    }

    @Test(arguments: [
        "pageSize=1", "&pageSize=1", "pageSize=1&&", "page_size=1", "filter=state%20%3D%20ACTIVE&pageSize=2", "",
    ])
    func aMethodsOwnParametersAreTakenInBothSpellings(query: String) async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, Self.list + "?" + query).status == 200)
    }

    @Test func aSendHasNoParametersOfItsOwn() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, "/v1/projects/demo/messages:send?validateOnly=true", #"{"message":{"topic":"a"}}"#)
        #expect(answer.status == 400)
        #expect(try answer.badFields == ["validateOnly"])
    }
}
