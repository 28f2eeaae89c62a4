import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct TopicTests {
    private static func path(_ registration: String) -> String {
        "/v1/projects/demo/registrations/\(registration.replacing(":", with: "%3A"))/topicSubscriptions"
    }

    @Test(arguments: ["topic_name", "topicName"])
    func aSubscriptionIsMadeOnce(parameter: String) async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await gateway.register()
        let created = try await gateway.request(.post, "\(Self.path(token))?\(parameter)=news", "{}", as: .client)
        let name = "projects/demo/registrations/\(id)/topicSubscriptions/news"
        let view = #"{"name":"\#(name)","topicName":"news","createTime":"\#(TestGateway.startText)"}"#
        #expect(created.status == 200)
        #expect(created.text == view)
        let again = try await gateway.request(.post, "\(Self.path(token))?\(parameter)=news", as: .client)
        #expect(again.status == 409)
        #expect(try again.errorStatus == "ALREADY_EXISTS")
        let shown = try await gateway.request(.get, "/v1/\(name)")
        #expect(shown.text == view)
    }

    @Test func namesAreDecodedExactlyOnce() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let created = try await gateway.request(.post, "\(Self.path(token))?topic_name=news%2541", "{}")
        #expect(try created.json["topicName"] == .string("news%41"))
        #expect(try await gateway.request(.get, "\(Self.path(token))/news%2541").status == 200)
        #expect(try await gateway.request(.get, "\(Self.path(token))/newsA").status == 404)
        #expect(try await gateway.request(.delete, "\(Self.path(token))/news%2541").status == 200)
        #expect(try await gateway.request(.get, "\(Self.path("A%3Ab%2Fc"))/news").status == 400)
    }

    @Test func aListComesInPages() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        for topic in ["c", "a", "e", "b", "d"] {
            _ = try await gateway.request(.post, "\(Self.path(token))?topicName=\(topic)")
        }
        var topics: [[String]] = []
        var pageToken = ""
        repeat {
            let page = try await gateway.request(
                .get, "\(Self.path(token))?pageSize=2" + (pageToken.isEmpty ? "" : "&page_token=\(pageToken)"))
            guard case .array(let subscriptions) = try page.json["topicSubscriptions"] else { break }
            topics.append(subscriptions.compactMap { $0["topicName"]?.stringValue })
            pageToken = try page.json["nextPageToken"]?.stringValue ?? ""
        } while !pageToken.isEmpty
        #expect(topics == [["a", "b"], ["c", "d"], ["e"]])
        let all = try await gateway.request(.get, "\(Self.path(token))?pageSize=5000")
        #expect(try all.json["nextPageToken"] == nil)
    }

    @Test(arguments: [("pageSize=-1", "page_size"), ("pageSize=x", "page_size"), ("pageToken=%21", "page_token")])
    func aBadPageIsRefused(query: String, field: String) async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await gateway.request(.get, "\(Self.path(token))?\(query)")
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field])
    }

    @Test func missingOnesAreAllowedOnRequest() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let one = "\(Self.path(token))/news"
        #expect(try await gateway.request(.delete, one).status == 404)
        #expect(try await gateway.request(.delete, "\(one)?allowMissing=true").text == "{}")
        #expect(try await gateway.request(.delete, "\(one)?allow_missing=true").text == "{}")
        #expect(try await gateway.request(.delete, "\(one)?allow_missing=maybe").status == 400)
        #expect(try await gateway.request(.patch, one, "{}").status == 404)
        #expect(try await gateway.request(.patch, "\(one)?allowMissing=true", "{}").status == 200)
        #expect(try await gateway.request(.patch, "\(one)?allowMissing=true", "{}").status == 200)
        #expect(try await gateway.request(.get, one).status == 200)
    }

    @Test func appsSubscribeThemselves() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await gateway.register()
        let one = "\(Self.path(token))/news"
        for _ in 0..<2 {
            #expect(try await gateway.request(.post, "\(one):subscribe", "{}", as: .client).status == 200)
        }
        #expect(try await gateway.request(.get, one, as: .client).status == 200)
        for _ in 0..<2 {
            #expect(try await gateway.request(.post, "\(one):unsubscribe", as: .client).text == "{}")
        }
        #expect(try await gateway.request(.get, one, as: .client).status == 404)
        #expect(try await gateway.request(.post, "\(Self.path(id))/news:subscribe", as: .client).status == 403)
    }

    @Test(arguments: [
        ("?topic_name=", "{}", "topic_name"), ("?topicName=a%20b", "{}", "topic_name"), ("", "{}", "topic_name"),
        ("?topicName=a", #"{"topic":"a"}"#, ""), ("?topicName=a", #"{"topicName":1}"#, "topic_name"),
    ])
    func aWrongSubscriptionIsRefused(query: String, body: String, field: String) async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        let answer = try await gateway.request(.post, Self.path(token) + query, body)
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field], "\(answer.text)")
    }

    @Test func clientsMakeOnlySoManyTopicsAndServersAny() async throws {
        let gateway = try await TestGateway(requiresInstallation: false, topics: TopicPolicy(clientLimit: 2))
        let token = try await gateway.register().token
        func subscribe(_ topic: String, as role: Role = .client) async throws -> Answer {
            try await gateway.request(.post, "\(Self.path(token))/\(topic):subscribe", as: role)
        }
        #expect(try await subscribe("a").status == 200)
        #expect(try await subscribe("b").status == 200)
        let refused = try await subscribe("c")
        #expect(refused.status == 429)
        #expect(try refused.reason == "TOO_MANY_PROJECT_TOPICS")
        #expect(refused.text.contains("topics.clientLimit"))
        let created = try await gateway.request(.post, "\(Self.path(token))?topicName=c", "{}", as: .client)
        #expect(created.status == 429)
        let byToken = try await gateway.request(.post, "/iid/v1/\(token)/rel/topics/c", as: .client)
        #expect(byToken.status == 429)
        let batch = #"{"to":"/topics/c","registration_tokens":["\#(token)"]}"#
        let added = try await gateway.request(.post, "/iid/v1:batchAdd", batch, as: .client)
        #expect(added.text == #"{"results":[{"error":"TOO_MANY_TOPICS"}]}"#)
        #expect(try await gateway.request(.get, "/v1/projects/demo/topics/c").status == 404)
        #expect(try await subscribe("c", as: .admin).status == 200)
        #expect(try await subscribe("c").status == 200, "it is there by now")
    }

    @Test func clientsMakeOnlyTopicsOfThePattern() async throws {
        let gateway = try await TestGateway(
            requiresInstallation: false,
            topics: TopicPolicy(clientPattern: TopicPattern(rawValue: "news-*")))
        let token = try await gateway.register().token
        func subscribe(_ topic: String) async throws -> Answer {
            try await gateway.request(.post, "\(Self.path(token))/\(topic):subscribe", as: .client)
        }
        #expect(try await subscribe("news-uk").status == 200)
        let refused = try await subscribe("vip")
        #expect(refused.status == 403)
        #expect(try refused.reason == "TOPIC_NOT_ALLOWED")
        let batch = #"{"to":"/topics/vip","registration_tokens":["\#(token)"]}"#
        let added = try await gateway.request(.post, "/iid/v1:batchAdd", batch, as: .client)
        #expect(added.text == #"{"results":[{"error":"PERMISSION_DENIED"}]}"#)
        _ = try await gateway.send(#""topic":"vip""#)
        #expect(try await subscribe("vip").status == 200, "a sender made it")
    }

    @Test func anUnknownRegistrationIsNotFound() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, "\(Self.path("abcdefgh:APA91bxyz"))?topic_name=news", "{}", as: .client)
        #expect(answer.status == 404)
        #expect(try answer.errorStatus == "NOT_FOUND")
        #expect(try answer.errorCode == nil)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct InstanceIDTests {
    @Test func aBatchAnswersInOrder() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let first = try await gateway.register("01").token
        let second = try await gateway.register("02").token
        let list = [first, "abcdefgh:APA91bxyz", second, "nonsense", first].map { "\"\($0)\"" }.joined(separator: ",")
        for call in ["batchAdd", "batchRemove"] {
            let answer = try await gateway.request(
                .post, "/iid/v1:\(call)", #"{"to":"/topics/news","registration_tokens":[\#(list)]}"#, as: .client)
            #expect(answer.status == 200)
            #expect(
                answer.text == #"{"results":[{},{"error":"NOT_FOUND"},{},{"error":"INVALID_ARGUMENT"},{}]}"#)
            let shown = try await gateway.request(
                .get, "/v1/projects/demo/registrations/\(second)/topicSubscriptions/news")
            #expect(shown.status == (call == "batchAdd" ? 200 : 404))
        }
    }

    @Test func aClientNamesRegistrationsByTheirTokens() async throws {
        let gateway = try await TestGateway(requiresInstallation: false)
        let (id, token) = try await gateway.register()
        let body = #"{"to":"/topics/news","registration_tokens":["\#(id)","\#(token)"]}"#
        for call in ["batchAdd", "batchRemove"] {
            let byClient = try await gateway.request(.post, "/iid/v1:\(call)", body, as: .client)
            #expect(byClient.text == #"{"results":[{"error":"PERMISSION_DENIED"},{}]}"#)
            let byAdmin = try await gateway.request(.post, "/iid/v1:\(call)", body, as: .admin)
            #expect(byAdmin.text == #"{"results":[{},{}]}"#)
        }
    }

    @Test(arguments: [
        #"{}"#, #"{"to":"/topics/news"}"#, #"{"to":"/topics/a b","registration_tokens":["x"]}"#,
        #"{"to":"/topics/news","registration_tokens":[]}"#, #"{"to":"/topics/news","registration_tokens":"x"}"#,
        #"{"to":12,"registration_tokens":["x"]}"#,
    ])
    func aWrongCallIsAStringError(body: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, "/iid/v1:batchAdd", body, as: .client)
        #expect(answer.status == 400)
        #expect(try answer.json["error"]?.stringValue?.isEmpty == false)
    }

    // fcm.md §10.1.
    @Test(arguments: [
        ("batchAdd", #"{"to":"/topics/news","registration_tokens":["x"],"tokens":["y"]}"#, "tokens"),
        ("batchRemove", #"{"to":"/topics/news","registration_tokens":["x"],"topic":"news"}"#, "topic"),
        (
            "batchAdd", #"{"to":"/topics/news","registration_tokens":["x"],"registrationTokens":["y"]}"#,
            "registrationTokens"
        ),
        (
            "batchImport", #"{"application":"com.example.app","apns_tokens":["\#("00".deviceToken)"],"sandbox_":true}"#,
            "sandbox_"
        ),
    ])
    func anUnknownNameIsRefused(call: String, body: String, name: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, "/iid/v1:\(call)", body)
        #expect(answer.status == 400)
        #expect(try answer.json["error"]?.stringValue?.contains(" name \"\(name)\"") == true, "\(answer.text)")
    }

    @Test func atMostAThousandTokensAreTaken() async throws {
        let gateway = try await TestGateway()
        let list = (0...1000).map { "\"abcdefgh:APA91b\($0)xyz\"" }.joined(separator: ",")
        let answer = try await gateway.request(
            .post, "/iid/v1:batchAdd", #"{"to":"/topics/news","registration_tokens":[\#(list)]}"#)
        #expect(answer.status == 400)
    }

    @Test func authenticationErrorsAreStringsToo() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.post, "/iid/v1:batchAdd", "{}", as: nil)
        #expect(answer.status == 401)
        #expect(try answer.json["error"]?.stringValue != nil)
        #expect(try await gateway.request(.post, "/iid/nothing", "{}").text.hasPrefix(#"{"error":""#))
    }

    @Test func deviceTokensAreImported() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(
            .post, "/iid/v1:batchImport",
            #"{"application":"com.example.app","sandbox":true,"apns_tokens":["\#("00ff".deviceToken)","xyz"]}"#)
        #expect(answer.status == 200)
        let results = try answer.requireList("results")
        try #require(results.count == 2, "\(results)")
        let token = try #require(results[0]["registration_token"]?.stringValue)
        #expect(results[0]["status"] == .string("OK"))
        #expect(results[0]["apns_token"] == .string("00ff".deviceToken))
        #expect(results[1]["status"] == .string("INVALID_ARGUMENT"))
        let shown = try await gateway.request(.get, "/v1/projects/demo/registrations/\(token)")
        #expect(try shown.json["apnsEnvironment"] == .string("SANDBOX"))
    }

    @Test(arguments: [
        #"{"apns_tokens":["\#("00".deviceToken)"]}"#,
        #"{"application":"com.unknown","apns_tokens":["\#("00".deviceToken)"]}"#,
        #"{"application":"com.example.app","apns_tokens":[]}"#,
    ])
    func aWrongImportIsRefused(body: String) async throws {
        let gateway = try await TestGateway()
        #expect(try await gateway.request(.post, "/iid/v1:batchImport", body).status == 400)
    }
}
