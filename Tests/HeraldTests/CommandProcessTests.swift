import Foundation
import Simulators
import TestSupport
import Testing

@testable import herald

/// The commands as processes, against a gateway that runs.
@Suite(.timeLimit(.minutes(5)))
struct CommandProcessTests {
    /// Runs a command that talks to the gateway.
    private static func run(
        _ arguments: [String], _ process: GatewayProcess, key: String
    ) async throws -> (status: Int32, lines: [String]) {
        try await GatewayProcess.run(arguments, environment: environment(process, key: key))
    }

    private static func environment(_ process: GatewayProcess, key: String) -> [String: String] {
        [
            "HERALD_GATEWAY": process.baseURL, "HERALD_KEY": key, "HERALD_PROJECT": "demo", "COLUMNS": "80",
        ]
    }

    @Test func theReportPrintsTheAnswerOfTheAPI() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let devices = try await WholeGatewayTests.registerDevices(3, process, test.keys)
            test.simulator.rules.set(Rule(.reject(status: 400, reason: "BadDeviceToken")), for: devices[0])
            test.simulator.rules.set(Rule(.accept, delayMilliseconds: 1500), for: devices[1])
            let message = try await WholeGatewayTests.broadcast(process, test.keys)

            let watch = try await Self.run(["report", message, "--watch"], process, key: test.keys.sender)
            #expect(watch.status == 0)
            #expect(watch.lines.contains { $0.contains(" ACTIVE ") && $0.contains("in flight") })
            #expect(watch.lines.contains { $0.hasSuffix("COMPLETE 3 of 3: 2 accepted, 1 rejected") })
            #expect(watch.lines.contains("State      COMPLETE"))

            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let json = try await Self.run(["report", message, "--json"], process, key: test.keys.sender)
            #expect(json.lines.joined() == (try await api.get("/v1/\(message)").text))

            let id = try #require(message.split(separator: "/").last.map(String.init))
            let table = try await Self.run(["report", id], process, key: test.keys.sender)
            #expect(table.lines.contains("  █ accepted   2"))
            #expect(table.lines.contains("  ▒ rejected   1"))
            #expect(table.lines.contains("      1 BadDeviceToken"))
            #expect(table.lines.allSatisfy { $0.count <= 80 })

            let list = try await Self.run(["report"], process, key: test.keys.sender)
            #expect(list.lines.dropFirst().first?.hasPrefix(id) == true)
            let refused = try await Self.run(["report"], process, key: test.keys.client)
            #expect(refused.status == 1)
            #expect(refused.lines.count == 1)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    @Test(arguments: ["ndjson", "csv"])
    func exportIsTheAPIsAndGoesOnAfterAnInterruption(format: String) async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            _ = try await WholeGatewayTests.registerDevices(7, process, test.keys)
            let message = try await WholeGatewayTests.broadcast(process, test.keys)
            _ = try await WholeGatewayTests.completeReport(message, process, test.keys)
            let api = APIClient(baseURL: process.baseURL, key: test.keys.sender)
            let (start, end) = ("2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z")
            let path = "/v1/projects/demo/export?startTime=\(start)&endTime=\(end)&format=\(format)"
            let whole = try await api.get(path).body
            #expect(whole.count { $0 == UInt8(ascii: "\n") } == (format == "csv" ? 8 : 7))

            let options = ["--format", format, "--start", start, "--end", end, "--page-size", "2"]
            let file = ExportFile(path: test.directory.file("out"))
            let made = try await Self.run(["export", "--out", file.path] + options, process, key: test.keys.sender)
            #expect(made.status == 0)
            #expect(made.lines == ["7 rows in \(file.path)"])
            #expect(try Data(contentsOf: URL(filePath: file.path)) == whole)
            #expect(!FileManager.default.fileExists(atPath: file.cursorPath))

            // What a kill in the second page leaves: the first page, its cursor, and half a row.
            let page = try await api.get(path + "&pageSize=2")
            let half = ExportFile(path: test.directory.file("half"))
            var cursor = try half.begun(
                with: ExportCursor(
                    project: "demo", start: start, end: end, format: format, pageToken: nil, bytes: 0, rows: 0))
            try half.append(Array(page.body), then: page.headers["x-next-page-token"], &cursor)
            #expect(cursor.pageToken != nil)
            try (page.body + Data("half a row".utf8)).write(to: URL(filePath: half.partPath))
            let resumed = try await Self.run(
                ["export", "--out", half.path, "--resume"] + options, process, key: test.keys.sender)
            #expect(resumed.status == 0)
            #expect(resumed.lines == ["7 rows in \(half.path)"])
            #expect(try Data(contentsOf: URL(filePath: half.path)) == whole)
            #expect(!FileManager.default.fileExists(atPath: half.cursorPath))

            let refused = try await Self.run(["export", "--out", file.path] + options, process, key: "hk_no_key")
            #expect(refused.status != 0)
            #expect(try Data(contentsOf: URL(filePath: file.path)) == whole)
            #expect(!FileManager.default.fileExists(atPath: file.partPath))
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }

    // MARK: herald dev

    @Test func demoStartedAgainKeepsKeysAndDevices() async throws {
        let directory = try TestDirectory()
        let state = directory.file("it's state")
        let first = try await Demo(state: state)
        let api = APIClient(baseURL: first.baseURL, key: first.adminKey)
        let token = try await api.register(deviceToken: "00aa11bb22cc")
        let subscribed = try await api.post(
            "/v1/projects/demo/registrations/\(token)/topicSubscriptions/weather:subscribe", "")
        #expect(subscribed.status == 200, "\(subscribed.text)")
        first.process.signal(SIGINT)
        #expect(await first.process.status() == 0)

        let second = try await Demo(state: state)
        #expect(second.adminKey == first.adminKey)
        #expect(second.keys == first.keys)
        #expect(Set(second.keys).count == 2)
        let again = APIClient(baseURL: second.baseURL, key: second.adminKey)
        #expect(try await again.get("/v1/projects/demo/registrations/\(token)").status == 200)
        let sent = try await again.post("/v1/projects/demo/messages:send", WholeGatewayTests.sample)
        #expect(sent.status == 200)
        #expect(await second.process.output.first(containing: "│ great match!") != nil)
        second.process.signal(SIGINT)
        #expect(await second.process.status() == 0)
    }

    /// The page that subscribes a browser, and the lines that play one.
    @Test func demoServesAPageAndPlaysABrowser() async throws {
        let directory = try TestDirectory()
        let demo = try await Demo(state: directory.file("it's state"))
        let page = APIClient(baseURL: demo.baseURL, key: demo.adminKey)
        let html = try await page.get("/try/")
        #expect(html.status == 200 && html.headers["content-type"] == "text/html; charset=utf-8")
        #expect(html.headers["content-security-policy"] == "default-src 'self'")
        let script = try await page.get("/try/page.js").text
        let text = demo.process.output.lines.joined(separator: "\n")
        let key = try #require(text.firstMatch(of: /"applicationServerKey":"([A-Za-z0-9_-]+)"/)).output.1
        #expect(script.contains(key) && !script.contains(demo.adminKey))
        let worker = try await page.get("/client/herald-messaging-sw.js")
        #expect(worker.text.contains("showNotification") && worker.headers["service-worker-allowed"] == "/")
        let block = try #require(text.firstMatch(of: /(?s)SUBSCRIPTION=.*?weather:subscribe"; echo\n/)).output
        let played = try await ChildProcess.run("/bin/bash", ["-euo", "pipefail", "-c", String(block)])
        #expect(played.status == 0, "\(played.lines)")
        #expect(try await page.post("/v1/projects/demo/messages:send", WholeGatewayTests.sample).status == 200)
        #expect(await demo.process.output.first(containing: "┌ browser · normal · ") != nil)
        #expect(await demo.process.output.first(containing: "│ great match!") != nil)
        demo.process.signal(SIGINT)
        #expect(await demo.process.status() == 0)
    }

    /// The lines that play an Android device, whose push goes to the simulated Google. The app has the id of the Apple app.
    @Test func demoPlaysAnAndroidDevice() async throws {
        let directory = try TestDirectory()
        let demo = try await Demo(state: directory.file("it's state"))
        let text = demo.process.output.lines.joined(separator: "\n")
        let block = try #require(
            text.firstMatch(of: /(?s)joins the topic with these lines:\n\n(.*?weather:subscribe"; echo\n)/)
        ).output.1
        let played = try await ChildProcess.run("/bin/bash", ["-euo", "pipefail", "-c", String(block)])
        #expect(played.status == 0, "\(played.lines)")
        let sender = APIClient(baseURL: demo.baseURL, key: demo.adminKey)
        let phone = try await sender.register(deviceToken: "00aa11bb22cc")
        let subscribed = try await sender.post(
            "/v1/projects/demo/registrations/\(phone)/topicSubscriptions/weather:subscribe", "")
        #expect(subscribed.status == 200, "\(subscribed.text)")
        let check = try await sender.post(
            "/v1/projects/demo/messages:send", "{\"validateOnly\":true," + WholeGatewayTests.sample.dropFirst())
        let sizes = try #require(try check.json["payloadBytes"] as? [String: Int], "\(check.text)")
        #expect(Set(sizes.keys).isSuperset(of: ["apple:com.example.app", "android:com.example.app"]), "\(sizes)")
        #expect(try await sender.post("/v1/projects/demo/messages:send", WholeGatewayTests.sample).status == 200)
        #expect(await demo.process.output.first(containing: "┌ android · normal · …1bDemo") != nil)
        #expect(await demo.process.output.first(containing: "┌ alert · com.example.app · ") != nil)
        #expect(await demo.process.output.first(containing: "│ great match!") != nil)
        let environment = ["HERALD_GATEWAY": demo.baseURL, "HERALD_KEY": demo.adminKey, "HERALD_PROJECT": "demo"]
        for (app, isLifted, text) in [
            ("com.example.app", false, "say android:com.example.app or apple:com.example.app"),
            ("android:com.example.app", true, "0 registrations are out of quarantine."),
        ] {
            let lifted = try await GatewayProcess.run(["quarantine", "lift", "--app", app], environment: environment)
            #expect((lifted.status == 0) == isLifted, "\(lifted)")
            #expect(lifted.lines.contains { $0.contains(text) }, "\(lifted.lines)")
        }
        demo.process.signal(SIGINT)
        #expect(await demo.process.status() == 0)
    }

    @Test(.enabled(Python.current.expectation, { try await Python.current.isFound() }))
    func demoShowsHowPythonSends() async throws {
        let directory = try TestDirectory()
        let state = directory.file("it's state")
        var credentials: [String: Any] = [:]
        for run in 0..<2 {
            let demo = try await Demo(state: state)
            #expect(demo.python.contains(#"FCM_BATCH_URL = BASE + "/batch""#))
            let answer = try await Python.current.run(program: demo.python)
            #expect(answer.status == 0)
            #expect(answer.lines.last?.hasPrefix("projects/demo/messages/") == true, "\(answer.lines)")
            let data = try Data(contentsOf: URL(filePath: state + "/sa.json"))
            let now = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            #expect(now["token_uri"] as? String == demo.baseURL + "/token")
            if run > 0 { #expect(now["private_key"] as? String == credentials["private_key"] as? String) }
            credentials = now
            demo.process.signal(SIGINT)
            #expect(await demo.process.status() == 0)
        }
    }

    @Test func busyPortsOfTheDemoAreReportedWithTheirOptions() async throws {
        let directory = try TestDirectory()
        let first = try await Demo(state: directory.file("first"))
        let port = try #require(first.baseURL.split(separator: ":").last.map(String.init))
        let options = ["--port", "--apns-port", "--google-port", "--push-port"]
        for option in options {
            let others = options.filter { $0 != option }.flatMap { [$0, "0"] }
            let result = try await GatewayProcess.run(
                ["dev", option, port] + others + ["--state", directory.file("second")])
            #expect(result.status == 69)
            #expect(result.lines.count == 1)
            #expect(result.lines.first?.contains(option) == true)
            #expect(result.lines.first?.contains("127.0.0.1:\(port)") == true)
        }
        first.process.signal(SIGTERM)
        #expect(await first.process.status() == 0)
    }

    // MARK: herald simulate apns

    @Test func aFileWithoutClientAuthoritiesIsReportedInOneLine() async throws {
        let fixture = try ServeFixture()
        let ended = try await GatewayProcess.run([
            "simulate", "apns", "--port", "0", "--state", fixture.directory.file("apns"), "--client-ca", "none.pem",
        ])
        #expect(ended.status == 69)
        #expect(ended.lines == ["herald: none.pem: no PEM certificates of authorities can be read from it"])
    }

    @Test func simulatorAsAProcessTakesPushesAndRules() async throws {
        let fixture = try ServeFixture()
        let simulator = try ChildProcess(
            try GatewayProcess.executable(),
            [
                "simulate", "apns", "--port", "0", "--control-port", "0", "--state", fixture.directory.file("apns"),
                "--topic", "com.example.app",
            ], environment: GatewayProcess.environment(with: [:]))
        #expect(await simulator.output.first(containing: "Press Ctrl-C to stop") != nil)
        let text = simulator.output.lines.joined(separator: "\n")
        let control = APIClient(
            baseURL: try #require(text.firstMatch(of: /control endpoint is (http:\/\/127\.0\.0\.1:\d+)\./)).output.1
                .description, key: "")
        // The block that it prints, as an operator pastes it.
        let block = text.split(separator: "\n").filter { $0.contains(/^ {2}(team|key|endpoint|trust):/) }
            .map { "    " + $0 }
        #expect(block.count == 4)
        try fixture.write(
            "project: demo\nnumber: 1\napps:\n  - id: com.example.app\n    platform: apple\n    apns:\n"
                + block.joined(separator: "\n") + "\n    firebaseKeys: none\n", to: fixture.projectFile)
        let made = try await GatewayProcess.run([
            "key", "create", "--config", fixture.file, "--project", "demo", "--role", "admin",
        ])
        let process = try await GatewayProcess.serving(config: fixture.file)
        let api = APIClient(baseURL: process.baseURL, key: try #require(made.lines.last))
        let token = try await api.register(deviceToken: "0a1b2c3d")
        let body = #"{"message":{"token":"\#(token)","notification":{"title":"Hello","body":"you"}}}"#
        #expect(try await api.post("/v1/projects/demo/messages:send", body).status == 200)
        #expect(await simulator.output.first(containing: "Hello") != nil)
        let push = try await control.get("/pushes").json
        #expect(push["deviceToken"] as? String == "0a1b2c3d".deviceToken)
        #expect(push["payload"] as? String == #"{"aps":{"alert":{"body":"you","title":"Hello"}}}"#)

        let rule = try await control.send(
            "PUT", "/rules/\("0a1b2c3d".deviceToken)", #"{"reject":{"status":400,"reason":"BadDeviceToken"}}"#)
        #expect(rule.status == 204)
        let sent = try await api.post("/v1/projects/demo/messages:send", body)
        let name = try #require(try sent.json["name"] as? String)
        let keys = GatewayUnderTest.Keys(admin: api.key, sender: api.key, client: api.key)
        let report = try await WholeGatewayTests.completeReport(name, process, keys)
        #expect(report["rejectedByReason"] as? [String: Int] == ["BadDeviceToken": 1])
        #expect(try await control.send("DELETE", "/pushes", nil).status == 204)
        #expect(try await control.get("/pushes").body.isEmpty)
        #expect(await process.end(with: SIGTERM) == 0)
        simulator.signal(SIGINT)
        #expect(await simulator.status() == 0)
    }
}
