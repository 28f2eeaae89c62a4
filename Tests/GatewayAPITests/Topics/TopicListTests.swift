import HTTPTypes
import JSON
import PushModel
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct TopicListTests {
    private static let base = "/v1/projects/demo/topics"

    private func subscribe(_ token: String, to topics: String..., in gateway: TestGateway) async throws {
        for topic in topics {
            let answer = try await gateway.request(
                .post, "/v1/projects/demo/registrations/\(token)/topicSubscriptions/\(topic):subscribe")
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test func topicsAreListedWithTheirCounts() async throws {
        let gateway = try await TestGateway()
        let (first, second) = (try await gateway.register("01").token, try await gateway.register("02").token)
        try await subscribe(first, to: "news", "news-uk", "weather", in: gateway)
        try await subscribe(second, to: "news", in: gateway)
        let all = try await gateway.request(.get, Self.base, as: .sender)
        let news = #"{"name":"projects/demo/topics/news","topic":"news","registrationCount":2}"#
        let uk = #"{"name":"projects/demo/topics/news-uk","topic":"news-uk","registrationCount":1}"#
        let weather = #"{"name":"projects/demo/topics/weather","topic":"weather","registrationCount":1}"#
        #expect(all.text == #"{"topics":[\#(news),\#(uk),\#(weather)]}"#)
        let page = try await gateway.request(.get, Self.base + "?prefix=news&pageSize=1")
        let token = try #require(try page.json["nextPageToken"]?.stringValue)
        #expect(try page.json["topics"] == JSONValue(parsing: Array("[\(news)]".utf8)))
        let rest = try await gateway.request(.get, Self.base + "?prefix=news&pageSize=1&pageToken=\(token)")
        #expect(rest.text == #"{"topics":[\#(uk)]}"#)
        #expect(try await gateway.request(.get, Self.base + "?prefix=x").text == "{}")
        #expect(try await gateway.request(.get, Self.base + "/news").text == news)
        #expect(try await gateway.request(.get, Self.base + "/gone").status == 404)
    }

    @Test func registrationsOfATopicComeInPages() async throws {
        let gateway = try await TestGateway()
        var ids: [String] = []
        for number in 1...5 {
            let (id, token) = try await gateway.register("0\(number)")
            try await subscribe(token, to: "news", in: gateway)
            ids.append("projects/demo/registrations/\(id)")
        }
        var listed: [String] = []
        var pageToken = ""
        repeat {
            let page = try await gateway.request(
                .get,
                Self.base + "/news/registrations?pageSize=2"
                    + (pageToken.isEmpty ? "" : "&page_token=\(pageToken)"))
            #expect(page.status == 200, "\(page.text)")
            guard case .array(let elements)? = try page.json["registrations"] else { break }
            listed += elements.compactMap { $0["name"]?.stringValue }
            #expect(elements.allSatisfy { $0["subscribeTime"] == .string(TestGateway.startText) })
            #expect(elements.allSatisfy { $0["token"]?.stringValue != nil && $0["state"] == .string("ACTIVE") })
            pageToken = try page.json["nextPageToken"]?.stringValue ?? ""
        } while !pageToken.isEmpty
        #expect(listed == ids)
        #expect(try await gateway.request(.get, Self.base + "/gone/registrations").status == 404)
    }

    @Test(arguments: ["?pageSize=-1", "?pageToken=%25", "?prefix=a%20b", "/a%20b", "/news/registrations?pageToken=x"])
    func aWrongQueryIsRefused(path: String) async throws {
        let gateway = try await TestGateway()
        try await subscribe(gateway.register().token, to: "news", in: gateway)
        #expect(try await gateway.request(.get, Self.base + path).status == 400)
    }

    @Test func tokensAreForAdminsOnly() async throws {
        let gateway = try await TestGateway()
        for role in [Role.sender, .client] {
            #expect(try await gateway.request(.get, Self.base + "/news/registrations", as: role).status == 403)
        }
        #expect(try await gateway.request(.get, Self.base, as: .client).status == 403)
        #expect(try await gateway.request(.get, "/v1/projects/other/topics").status == 403)
    }
}
