import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Simulators
import TestSupport
import Testing

/// Links of a whole gateway, over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct LinkProcessTests {
    private static let body =
        #"{"longDynamicLink":"https://go.example.com/?link=https%3A%2F%2Fa.example%2Fx&apn=com.example.app"}"#

    private static func links(targets: String, prefix: String = "https://go.example.com") -> String {
        """

        links:
          prefixes: ["\(prefix)"]
          preview: https://preview.example.com
          targets: [\(targets)]

        """
    }

    /// Runs a gateway whose project has links.
    private static func with(
        _ body: (GatewayUnderTest, GatewayProcess) async throws -> Void
    ) async throws {
        try await GatewayUnderTest.with { test in
            try write(links(targets: "a.example"), in: test)
            let process = try await test.start()
            try await body(test, process)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    /// Writes the `links` of the project in place of those that are there.
    private static func write(_ links: String, in test: GatewayUnderTest) throws {
        let file = test.directory.file("projects/demo.yaml")
        let text = try String(contentsOfFile: file, encoding: .utf8).replacing(#/\nlinks:\n(  .*\n)+/#, with: "")
        try (text + links).write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// Asks the gateway for a path of another host.
    private static func open(
        _ process: GatewayProcess, _ path: String, host: String = "go.example.com", agent: String = "Test/1.0"
    ) async throws -> (status: Int, location: String?) {
        var request = HTTPClientRequest(url: process.baseURL + path)
        request.headers.add(name: "host", value: host)
        request.headers.add(name: "user-agent", value: agent)
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(redirectConfiguration: .disallow))
        let response = try await client.execute(request, timeout: TimeAmount(.longerThanAnyTest))
        _ = try await response.body.collect(upTo: 1 << 20)
        try await client.shutdown()
        return (Int(response.status.code), response.headers.first(name: "location"))
    }

    private static func path(of link: String) throws -> String {
        String(try #require(link.firstMatch(of: /^https:\/\/go\.example\.com(\/.*)$/)).1)
    }

    private static func shorten(_ process: GatewayProcess, _ test: GatewayUnderTest) async throws -> String {
        let answer = try await APIClient(baseURL: process.baseURL, key: test.keys.client).post("/v1/shortLinks", body)
        return try #require(try answer.json["shortLink"] as? String, "\(answer.text)")
    }

    @Test("a link is made, opened and counted, and a reload tightens what it may lead to")
    func story() async throws {
        try await Self.with { test, process in
            let link = try await Self.shorten(process, test)
            let path = try Self.path(of: link)
            let answer = try await Self.open(process, path)
            #expect(answer.status == 302 && answer.location == "https://a.example/x")
            #expect(try await Self.open(process, "/healthz").status == 404)
            #expect(try await Self.open(process, "/healthz", host: "push.example.com").status == 200)
            #expect(try await Self.open(process, "/.well-known/apple-app-site-association").status == 200)

            try Self.write(Self.links(targets: "b.example"), in: test)
            process.signal(SIGHUP)
            _ = try #require(await process.line(containing: "project files read again"))
            #expect(try await Self.open(process, path).status == 400)
            try Self.write("", in: test)
            process.signal(SIGHUP)
            while try await Self.open(process, "/healthz").status == 404 {}
            let refused = try await APIClient(baseURL: process.baseURL, key: test.keys.client)
                .post("/v1/shortLinks", Self.body)
            #expect(refused.status == 400)
        }
    }

    @Test("a link in a push is a short link of its message, whose report and command count the clicks")
    func tracked() async throws {
        try await GatewayUnderTest.with { test in
            try Self.write(Self.links(targets: "a.example") + "delivery:\n  trackLinks: true\n", in: test)
            let process = try await test.start()
            let token = try await APIClient(baseURL: process.baseURL, key: test.keys.admin).register(deviceToken: "01")
            let sender = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let message = #"{"token":"\#(token)","notification":{"title":"Hi"},"data":{"link":"https://a.example/x"}}"#
            let sent = try await sender.post("/v1/projects/demo/messages:send", #"{"message":\#(message)}"#)
            let name = try #require(try sent.json["name"] as? String, "\(sent.text)")
            await test.simulator.recording.wait(untilCount: 1)
            let push = try #require(test.simulator.recording.pushes.first)
            let payload = try JSONSerialization.jsonObject(with: Data(push.payload.utf8)) as? [String: Any]
            let link = try #require(payload?["link"] as? String, "\(push.payload)")
            // Only browsers are counted.
            let answer = try await Self.open(
                process, try Self.path(of: link),
                agent: "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0")
            #expect(answer.location == "https://a.example/x?utm_source=herald&utm_medium=push")
            while true {
                let links = try await sender.get("/v1/\(name)").json["links"] as? [[String: Any]]
                let found = try #require(links?.first)
                #expect(links?.count == 1 && found["shortLink"] as? String == link)
                if found["clicks"] as? Int == 1, found["redirects"] as? Int == 1 { break }
                // Counts are written once a second and give no signal: a report is asked for, as its readers do.
                try await Task.sleep(for: .milliseconds(50))
            }
            let environment = [
                "HERALD_GATEWAY": process.baseURL, "HERALD_PROJECT": "demo", "HERALD_KEY": test.keys.sender,
            ]
            let shown = try await GatewayProcess.run(["report", name], environment: environment)
            #expect(shown.lines.contains { $0.hasPrefix("Link       \(link)  1 clicks") }, "\(shown.lines)")
            func exported(_ more: String...) async throws -> [String] {
                let export = ["links", "export", "-", "--config", test.configuration, "--project", "demo"]
                return try await GatewayProcess.run(export + more).lines.filter { $0.contains("https://") }
            }
            #expect(try await exported().isEmpty)
            let rows = try await exported("--tracked")
            #expect(rows.count == 1 && rows.first?.hasPrefix(link + ",https://a.example/x,") == true, "\(rows)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test("a pattern that can't be read leaves the former links in force")
    func badReload() async throws {
        try await Self.with { test, process in
            let path = try Self.path(of: try await Self.shorten(process, test))
            try Self.write(Self.links(targets: "a.example") + "  patterns: [\"(\"]\n", in: test)
            process.signal(SIGHUP)
            let line = try #require(await process.line(containing: "links.patterns"))
            #expect(line.contains("demo.yaml:"))
            #expect(try await Self.open(process, path).status == 302)
        }
    }

    @Test("herald links makes, lists, shows, archives and draws links")
    func commands() async throws {
        try await Self.with { test, process in
            let environment = [
                "HERALD_GATEWAY": process.baseURL, "HERALD_PROJECT": "demo", "HERALD_KEY": test.keys.sender,
            ]
            func links(_ arguments: String...) async throws -> (status: Int32, lines: [String]) {
                try await GatewayProcess.run(["links"] + arguments, environment: environment)
            }
            let made = try await links(
                "create", "https://a.example/x", "--prefix", "https://go.example.com", "--parameter", "amv=7", "--name",
                "Spring", "--suffix", "spring")
            #expect(made.status == 0 && made.lines.contains("https://go.example.com/spring"), "\(made.lines)")
            #expect(
                made.lines.contains {
                    $0.hasPrefix("warning: ") && $0.contains("UNNECESSARY_ANDROID_PACKAGE_MIN_VERSION")
                })
            let list = try await links("list")
            #expect(
                list.lines.contains { $0.contains("go.example.com/spring") && $0.contains("Spring") }, "\(list.lines)")
            let shown = try await links("show", "https://go.example.com/spring")
            #expect(
                shown.lines.contains { $0.contains("androidInfo.androidMinPackageVersionCode") && $0.contains("7") })
            #expect(
                try await links("stats", "https://go.example.com/spring", "--days", "1").lines.first
                    == "Nothing was counted.")
            let archived = try await links("archive", "https://go.example.com/spring", "--json")
            #expect(archived.lines.joined().contains(#""visibility":"ARCHIVED""#))
            #expect(try await links("list").lines.first == "No links.")
            let shownAgain = try await links("unarchive", "https://go.example.com/spring")
            #expect(shownAgain.lines.contains { $0.hasPrefix("state") && $0.hasSuffix("unarchived") }, "\(shownAgain)")
            #expect(try await links("list").lines.count == 2)
            let unknown = try await links("create", "https://a.example/x", "--prefix", "https://none.example.com")
            #expect(unknown.status == 1, "\(unknown)")
            #expect(
                unknown.lines.joined().contains("'https://none.example.com' is no link prefix of this project"),
                "\(unknown)")
            #expect(!unknown.lines.joined().contains("longDynamicLink"), "\(unknown)")
            let file = test.directory.file("code.png")
            #expect(
                try await links("qr", "https://go.example.com/spring", "--format", "png", "--output", file).status == 0)
            #expect(FileManager.default.contents(atPath: file)?.starts(with: [0x89, 0x50, 0x4e, 0x47]) == true)
            let deleted = try await links("delete", "https://go.example.com/spring")
            #expect(deleted.status == 0 && deleted.lines == ["Deleted https://go.example.com/spring."], "\(deleted)")
            #expect(try await Self.open(process, "/spring").status == 404)
            #expect(try await links("delete", "https://go.example.com/spring", "--json").status == 1)
            let none = try await links("show", "https://go.example.com/none")
            #expect(none.status == 1 && none.lines.joined().contains("404"), "\(none)")
            #expect(try await links("create", "https://a.example", "--suffix", "x").status == 64)
            // The project is the key's.
            let other = try await links("list", "--project", "other")
            #expect(other.status == 1 && other.lines.joined().contains("'other'"), "\(other)")
        }
    }

    @Test(
        "what is wrong with an option is told with its value and what would be right",
        arguments: [
            ([], "name the prefix of the short link with --prefix"),
            (["--suffix", "x"], "--suffix x: only a link with a --name"),
            (["--name", "N", "--suffix", "a b"], "has to be 1 to 128 of A-Z"),
            (["--name", "N", "--expires", "tomorrow"], "--expires \"tomorrow\": write 90d, 12h"),
            (["--name", "N", "--expires", "2020-01-01T00:00:00Z"], "--expires 2020-01-01T00:00:00Z: that is not"),
            (["--parameter", "apn=x"], "--parameter \"apn=x\": needs --prefix"),
            (["--prefix", "https://go.example.com", "--parameter", "zzz=1"], "--parameter \"zzz=1\": write a name"),
            (["--prefix", "https://go.example.com", "--parameter", "efr=yes"], "\"efr=yes\": efr takes 1 or 0"),
            (["--prefix", "go"], "--prefix \"go\" is no prefix"),
        ])
    func wrongOptions(options: [String], message: String) async throws {
        let environment = ["HERALD_PROJECT": "demo", "HERALD_KEY": "hk_none"]
        let result = try await GatewayProcess.run(
            ["links", "create", "https://a.example"] + options, environment: environment)
        #expect(result.status == 64 && result.lines.joined(separator: "\n").contains(message), "\(result)")
    }

    @Test("an import lists rows with line, column and value, and says which mapping is wrong")
    func refusedRows() async throws {
        try await GatewayUnderTest.with { test in
            try Self.write(Self.links(targets: "a.example"), in: test)
            let process = try await test.start()
            let file = test.directory.file("links.csv")
            try "Short link,link,archived?\nhttps://go.example.com/a,https://a.example/,maybe\n"
                .write(toFile: file, atomically: true, encoding: .utf8)
            func take(_ more: String...) async throws -> (status: Int32, lines: [String]) {
                try await GatewayProcess.run(
                    ["links", "import", file, "--config", test.configuration, "--project", "demo"] + more)
            }
            let result = try await take()
            #expect(result.status == 1)
            #expect(
                result.lines.contains {
                    $0.contains("line 2: https://go.example.com/a: column 'archived?': \"maybe\" is neither")
                }, "\(result.lines)")
            #expect(try await take("--json").lines.contains { $0.contains(#""column":"archived?""#) })
            let mapped = try await take("--map", "x.page.link=other.example")
            #expect(mapped.status == 64 && mapped.lines.joined().contains("it has go.example.com"), "\(mapped)")
            try "Short link;link\n".write(toFile: file, atomically: true, encoding: .utf8)
            let other = try await take()
            #expect(other.status == 1 && other.lines.count == 1, "\(other)")
            #expect(
                other.lines.first?.hasSuffix(
                    "links.csv: line 1: the fields are separated by semicolons: save the file with commas") == true,
                "\(other)")
            let directory = try await GatewayProcess.run([
                "links", "import", test.directory.path, "--config", test.configuration, "--project", "demo",
            ])
            #expect(directory.status == 74 && directory.lines.count == 1, "\(directory)")
            #expect(directory.lines.first?.contains("is a directory") == true, "\(directory)")
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test("doctor compares what link hosts answer with the configuration, and follows no redirect")
    func doctor() async throws {
        try await Self.with { test, process in
            func findings() async throws -> [String] {
                let arguments = ["doctor", "--config", test.configuration, "--timeout", "5"]
                return try await GatewayProcess.run(arguments).lines.filter { $0.contains(" links ") }
            }
            let host = process.baseURL.replacing("127.0.0.1", with: "localhost")
            try Self.write(
                Self.links(targets: "a.example", prefix: host).replacing(#/  preview.*\n/#, with: ""), in: test)
            // The gateway has not read it yet: nothing there is of links.
            let before = try await findings()
            #expect(
                before.count == 1 && before[0].hasPrefix("failed") && before[0].contains("answers 404"), "\(before)")
            process.signal(SIGHUP)
            _ = try #require(await process.line(containing: "project files read again"))
            let after = try await findings()
            #expect(after.count == 2 && after.allSatisfy { $0.hasPrefix("ok ") }, "\(after)")
            let arguments = ["doctor", "--config", test.configuration, "--timeout", "5"]
            let named = try await GatewayProcess.run(
                arguments, environment: ["HERALD_PUBLIC_URL": "https://localhost/herald"])
            #expect(
                named.lines.contains { $0.hasPrefix("warning") && $0.contains("localhost has links") },
                "\(named.lines)")
        }
    }
}
