import Foundation
import TestSupport
import Testing

@testable import herald

/// The tables of the articles against the code.
@Suite(.timeLimit(.minutes(5)))
struct ArticleTests {
    /// The first two cells of each row of an article's tables whose first cell is code.
    private static func rows(of article: String) throws -> [(first: String, second: String)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let text = try String(
            contentsOf: root.appending(path: "Sources/herald/herald.docc/\(article).md"), encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^\| `([^`]+)` \| ([^|]+) \|/).map { (String($0.1), String($0.2)) }
        }
    }

    /// Fails unless both hold the same, each as often as the other.
    private static func expectSame(_ listed: [String], _ known: [String]) {
        #expect(Set(listed).subtracting(known).sorted() == [], "in the article only")
        #expect(Set(known).subtracting(listed).sorted() == [], "missing in the article")
        #expect(listed.sorted() == known.sorted(), "a row is there twice")
    }

    @Test func theAPIArticleHasEveryRouteWithItsRolesAndNoOther() async throws {
        let rows = try Self.rows(of: "API")
        let operations = try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let answer = try await APIClient(baseURL: process.baseURL, key: "").get("/openapi.json")
            await process.end(with: SIGTERM)
            return try Self.operations(of: answer.json)
        }
        #expect(operations.count > 50)
        Self.expectSame(rows.map(\.first), Array(operations.keys))
        for (route, roles) in rows {
            let listed = roles == "none" ? [] : roles.split(separator: ", ").map(String.init)
            #expect(Set(listed) == Set(operations[route] ?? []), "\(route)")
        }
    }

    /// Method and path of each operation of an OpenAPI document, with the roles that may use it.
    private static func operations(of document: [String: Any]) throws -> [String: [String]] {
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        var operations: [String: [String]] = [:]
        for (path, methods) in paths {
            for (method, operation) in methods {
                let roles = (operation["description"] as? String)?.firstMatch(of: /^For the role (.*)\.$/)
                operations["\(method.uppercased()) \(path)"] =
                    roles?.1.split(separator: " or ").map(String.init) ?? []
            }
        }
        return operations
    }

    @Test func theConfigurationArticleHasEverySettingAndFieldAndNoOther() throws {
        let known =
            Self.leaves(
                of: GatewayConfiguration.keys.merging(GatewayConfiguration.lists.filter { !$0.value.isEmpty }) { $1 })
            // A section that may be one value instead.
            + Self.leaves(of: ProjectFile.keys)
            + ["apps.apns.endpoint", "apps.apns.broadcastEndpoint", "apps.apns.channelEndpoint"]
        Self.expectSame(try Self.rows(of: "Configuration").map(\.first), known)
    }

    /// The paths of the keys that are no sections.
    private static func leaves(of keys: [String: [String]]) -> [String] {
        keys.flatMap { section, keys in keys.map { section.isEmpty ? $0 : "\(section).\($0)" } }
            .filter { keys[$0] == nil }
    }
}
