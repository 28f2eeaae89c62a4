import HTTPTypes
import PushModel
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct OperationsTests {
    @Test func aLiveGatewaySaysSo() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/healthz", as: nil)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"status":"ok"}"#)
        #expect(try await gateway.request(.head, "/healthz", as: nil).status == 200)
    }

    @Test func anUpstreamThatIsDownLeavesTheGatewayReady() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/readyz", as: nil)
        #expect(answer.status == 200)
        #expect(
            answer.text
                == #"{"status":"ready","store":{"writable":true},"upstreams":[{"name":"api.push.apple.com:443 TEAM123456/ABC1234567","reachable":false,"lastFailure":"connection refused","connections":0,"streamsInUse":0,"streamLimit":0,"queued":3,"queueLimit":10000,"circuit":"open"}]}"#
        )
    }

    @Test func aStoreThatTakesNoWritesMakesTheGatewayUnready() async throws {
        let gateway = try await TestGateway(isStoreWritable: false)
        let answer = try await gateway.request(.get, "/readyz", as: nil)
        #expect(answer.status == 503)
        #expect(try answer.json["status"] == .string("unready"))
    }

    @Test func metricsAreTextForPrometheus() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/metrics", as: nil)
        #expect(answer.headers[.contentType]?.hasPrefix("text/plain; version=0.0.4") == true)
        #expect(answer.text == "herald_up 1\n")
    }

    @Test(arguments: ["/", "/v1/projects/demo/nothing", "/v1/projects", "/favicon.ico"])
    func anUnknownPathIsNotFoundInFCMsShape(path: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, path, as: nil)
        #expect(answer.status == 404)
        #expect(
            answer.text
                == #"{"error":{"code":404,"message":"The requested URL was not found on this server.","status":"NOT_FOUND"}}"#
        )
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, "/v1/projects/demo/messages:send", "POST"),
        (.put, "/v1/projects/demo/registrations/x", "GET, PATCH, DELETE"),
        (.delete, "/healthz", "GET"),
    ])
    func aWrongMethodSaysWhichAreAllowed(method: HTTPRequest.Method, path: String, allowed: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(method, path, as: nil)
        #expect(answer.status == 405)
        #expect(answer.headers[.allow] == allowed)
        #expect(try answer.errorStatus == "UNIMPLEMENTED")
    }
}
