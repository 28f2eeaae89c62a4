import Delivery
import HTTPTypes
import JSON
import PushModel
import Store
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
        #expect(answer.text == #"{"status":"ready","problems":[],"store":{"writable":true}}"#)
        let operations = try await gateway.request(.get, "/readyz", as: nil, on: .operations)
        #expect(operations.status == 200)
        #expect(
            operations.text
                == #"{"status":"ready","problems":[],"store":{"writable":true},"upstreams":[{"name":"api.push.apple.com:443 TEAM123456/ABC1234567","reachable":false,"lastFailure":"connection refused","connections":0,"streamsInUse":0,"streamLimit":0,"queued":3,"queueLimit":10000,"circuit":"open"}]}"#
        )
    }

    @Test func besideAListenerForOperationsTheAPIsSaysReadyOrNotAndNoMore() async throws {
        let gateway = try await TestGateway(
            storeState: StoreState(isWritable: false, problems: ["The disk of /var/lib/herald is full."]))
        let bare = GatewayListener.Routes.api(withOperations: false)
        let answer = try await gateway.request(.get, "/readyz", as: nil, on: bare)
        #expect(answer.status == 503 && answer.text == #"{"status":"unready"}"#)
        #expect(answer.headers[.retryAfter] == "5")
        #expect(try await gateway.request(.get, "/healthz", as: nil, on: bare).status == 200)
        #expect(try await gateway.request(.get, "/metrics", as: nil, on: bare).status == 404)
        #expect(try await gateway.request(.get, "/metrics", as: nil, on: .operations).text == "herald_up 1\n")
    }

    @Test func theListenerForOperationsHasNothingOfTheAPI() async throws {
        let gateway = try await TestGateway()
        for path in ["/v1/projects/demo/messages", "/openapi.json", "/iid/info/x"] {
            #expect(try await gateway.request(.get, path, on: .operations).status == 404)
        }
    }

    @Test func probesMayAddAQuery() async throws {
        let gateway = try await TestGateway()
        for path in ["/healthz", "/readyz", "/metrics"] {
            #expect(try await gateway.request(.get, path + "?probe=1", as: nil).status == 200)
        }
    }

    @Test func whatIsHeldBackIsShown() throws {
        var upstream = TestGateway.upstream
        let route = PushRoute(
            project: try #require(ProjectID(rawValue: "demo")), app: try #require(AppID(rawValue: "com.example.app")),
            channel: .apns(.sandbox))
        let since = Timestamp(seconds: 1_700_000_000)
        upstream.pauses = [UpstreamPause.Part.everything, .topic("com.example.app.voip"), .route(route)].map {
            UpstreamPause(part: $0, reason: "Forbidden", since: since, nextProbe: since + .seconds(30))
        }
        upstream.clockSkew = .seconds(-90)
        upstream.paceLimit = 5
        let state = Readiness.state(upstream)
        #expect(state["paceLimit"] == .number("5") && state["clockSkew"] == .string("-90s"))
        let paused = try state.requireList("paused")
        #expect(paused.map { $0["part"] } == ["everything", "topic", "app"].map { .string($0) })
        #expect(paused.allSatisfy { $0["reason"] == .string("Forbidden") })
        #expect(paused.allSatisfy { $0["since"] == .string(since.rfc3339) })
        #expect(paused.allSatisfy { $0["nextProbe"] == .string((since + .seconds(30)).rfc3339) })
        #expect(paused[1]["topic"] == .string("com.example.app.voip"))
        #expect(paused[2]["app"] == .string("com.example.app") && paused[2]["environment"] == .string("sandbox"))
    }

    @Test func aStoreThatTakesNoWritesMakesTheGatewayUnready() async throws {
        let text = "The disk of the store is full."
        let gateway = try await TestGateway(storeState: StoreState(isWritable: false, problems: [text]))
        let answer = try await gateway.request(.get, "/readyz", as: nil)
        #expect(answer.status == 503)
        #expect(answer.headers[.retryAfter] == "5")
        #expect(try answer.json["status"] == .string("unready"))
        #expect(try answer.json["problems"] == .array([.string(text)]))
        #expect(try answer.json["store"] == .object([.init("writable", .bool(false))]))
    }

    @Test func aDamagedStoreMakesTheGatewayUnreadyAlsoWhenItTakesWrites() async throws {
        let gateway = try await TestGateway(storeState: StoreState(problems: ["The file x is damaged."]))
        let answer = try await gateway.request(.get, "/readyz", as: nil)
        #expect(answer.status == 503)
        #expect(try answer.json["problems"] == .array([.string("The file x is damaged.")]))
        #expect(try answer.json["store"] == .object([.init("writable", .bool(true))]))
    }

    @Test func aStoppingGatewayIsUnready() async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.get, "/readyz", as: nil).status == 200)
        gateway.acceptor.stop()
        let answer = try await gateway.request(.get, "/readyz", as: nil)
        #expect(answer.status == 503)
        #expect(try answer.json["problems"] == .array([.string("The gateway is stopping.")]))
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
                == #"{"error":{"code":404,"message":"The requested URL was not found on this server.","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/herald.v1.ErrorInfo","reason":"UNKNOWN_PATH"}]}}"#
        )
    }

    @Test(arguments: [
        (HTTPRequest.Method.get, "/v1/projects/demo/messages:send", "POST"),
        (.put, "/v1/projects/demo/registrations/x", "GET, PATCH, DELETE"),
        (.delete, "/healthz", "GET"), (.options, "/healthz", "GET"),
    ])
    func aWrongMethodSaysWhichAreAllowed(method: HTTPRequest.Method, path: String, allowed: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(method, path, as: nil)
        #expect(answer.status == 405)
        #expect(answer.headers[.allow] == allowed)
        #expect(try answer.errorStatus == "UNIMPLEMENTED")
    }
}
