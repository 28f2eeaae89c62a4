import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct InstanceIDResourceTests {
    private static let accessTokenAuth: HTTPFields = [HTTPField.Name("access_token_auth")!: "true"]

    @Test(arguments: [nil, "", "{}"])
    func aSubscriptionIsMadeAndEnded(body: String?) async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let path = "/iid/v1/\(token.replacing(":", with: "%3A"))/rel/topics/news%2541"
        let subscription = "/v1/projects/demo/registrations/\(token)/topicSubscriptions/news%2541"
        for _ in 0..<2 {
            let made = try await gateway.request(.post, path, body, headers: Self.accessTokenAuth)
            #expect(made.status == 200 && made.text == "{}", "\(made.text)")
        }
        #expect(try await gateway.request(.get, subscription).status == 200)
        for _ in 0..<2 {
            let ended = try await gateway.request(.delete, path, headers: Self.accessTokenAuth)
            #expect(ended.status == 200 && ended.text == "{}", "\(ended.text)")
        }
        #expect(try await gateway.request(.get, subscription).status == 404)
    }

    @Test func aRegistrationIsShownWithAndWithoutItsTopics() async throws {
        let gateway = try await TestGateway()
        let made = try await gateway.request(
            .post, "/v1/projects/demo/registrations",
            #"{"ios":{"apns_token":"\#("00aa".deviceToken)","bundle_id":"com.example.app","app_version":"1.2"}}"#)
        let token = try #require(try made.json["token"]?.stringValue)
        for topic in ["weather", "news"] {
            _ = try await gateway.request(.post, "/iid/v1/\(token)/rel/topics/\(topic)")
        }
        let start =
            #"{"application":"com.example.app","authorizedEntity":"123456789012","applicationVersion":"1.2","#
            + #""platform":"IOS""#
        let brief = try await gateway.request(.get, "/iid/info/\(token)", headers: Self.accessTokenAuth)
        #expect(brief.text == start + "}")
        let full = try await gateway.request(.get, "/iid/info/\(token)?details=true")
        #expect(
            full.text == start
                + #","rel":{"topics":{"news":{"addDate":"2026-01-02"},"weather":{"addDate":"2026-01-02"}}}}"#)
    }

    @Test(arguments: [
        ("/iid/v1/abcdefgh:APA91bunknown/rel/topics/news", 404), ("/iid/v1/nonsense/rel/topics/news", 400),
        ("/iid/v1/TOKEN/rel/topics/a%20b", 400), ("/iid/v1/TOKEN/rel/other/news", 404),
    ])
    func aWrongCallIsAStringError(path: String, status: Int) async throws {
        let gateway = try await TestGateway()
        let path = path.replacing("TOKEN", with: try await gateway.register().token)
        for method in [HTTPRequest.Method.post, .delete] {
            let answer = try await gateway.request(method, path)
            #expect(answer.status == status)
            #expect(try answer.json["error"]?.stringValue?.isEmpty == false)
        }
    }

    @Test func endedAndForeignRegistrationsAreUnknown() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let foreign: HTTPFields = [.authorization: "key=\(gateway.foreignKey.text)"]
        #expect(try await gateway.request(.get, "/iid/info/\(token)", as: nil, headers: foreign).status == 403)
        _ = try await gateway.request(.delete, "/v1/projects/demo/registrations/\(token)")
        let ended = try await gateway.request(.get, "/iid/info/\(token)?details=true")
        #expect(ended.status == 404)
        #expect(try ended.json["error"]?.stringValue != nil)
    }

    @Test func aClientNamesItsRegistrationByTheToken() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await gateway.register()
        #expect(try await gateway.request(.get, "/iid/info/\(token)", as: .client).status == 200)
        #expect(try await gateway.request(.get, "/iid/info/\(id)", as: .client).status == 403)
        #expect(try await gateway.request(.post, "/iid/v1/\(id)/rel/topics/news", as: .client).status == 403)
        #expect(try await gateway.request(.post, "/iid/v1/\(token)/rel/topics/news", as: .sender).status == 200)
    }
}
