import ArgumentParser
import Foundation
import JSON
import NIOHTTP1
import PushModel
import TestSupport
import Testing

@testable import herald

/// What the commands make of their arguments.
struct CommandTests {
    private static func message(_ arguments: [String]) throws -> String {
        let command = try #require(try Herald.parseAsRoot(["send"] + arguments) as? SendCommand)
        return String(decoding: try #require(try command.request()["message"]).bytes, as: UTF8.self)
    }

    @Test func sendBuildsAWholeMessage() throws {
        let text = try Self.message([
            "--topic", "weather", "--title", "T", "--body", "B", "--data", "k=v=w", "--badge", "1", "--sound",
            "default",
            "--priority", "5", "--collapse-id", "c", "--label", "l",
        ])
        #expect(
            text == #"{"topic":"weather","notification":{"title":"T","body":"B"},"data":{"k":"v=w"},"#
                + #""apns":{"headers":{"apns-priority":"5","apns-collapse-id":"c"},"#
                + #""payload":{"aps":{"badge":1,"sound":"default"}}},"fcm_options":{"analytics_label":"l"}}"#)
    }

    private static func request(_ arguments: [String]) throws -> String {
        let command = try #require(try Herald.parseAsRoot(["send"] + arguments) as? SendCommand)
        return String(decoding: try command.request().bytes, as: UTF8.self)
    }

    @Test func sendBuildsDeliveryOptions() throws {
        #expect(
            try Self.request(["--user", "alice", "--body", "B", "--rate", "5", "--keep-repeats"])
                == #"{"message":{"notification":{"body":"B"}},"target":{"user":"alice"},"#
                + #""delivery":{"rate":5,"collapseRepeats":false}}"#)
        #expect(
            try Self.request([
                "--condition", "'a' in topics", "--body", "B", "--finish-by", "2026-01-02T03:04:05Z", "--dry-run",
            ])
                == #"{"message":{"condition":"'a' in topics","notification":{"body":"B"}},"#
                + #""delivery":{"finishBy":"2026-01-02T03:04:05Z"},"validate_only":true}"#)
    }

    @Test func aPreflightIsPrintedInWords() throws {
        let answer = #"""
            {"name":"n","audience":12,"payloadBytes":{"com.example.app":93},"expectedDuration":"2.500s",
            "refusals":[{"code":429,"message":"Too many messages."}]}
            """#
        #expect(
            SendCommand.preflight(try JSONValue(parsing: Array(answer.utf8))) == """
                The message is valid.
                Audience   12
                Payload    93 bytes for com.example.app
                Duration   2.500s
                Refused    Too many messages.
                """)
    }

    @Test func aBacklogNamesThePlatformOfEachApp() throws {
        let answer = #"""
            {"store":{"writable":true,"problems":[]},"pauses":[],"reasons":[],"upstreams":[],"certificates":[],"backlog":[
            {"lane":"interactive","app":"com.example.app","platform":"ANDROID","waiting":2,"inFlight":1,"paused":0},
            {"lane":"interactive","app":"com.example.app","waiting":3,"inFlight":0,"paused":0},
            {"lane":"bulk","waiting":7,"inFlight":5,"paused":0}]}
            """#
        let lines = StatusCommand.lines(try JSONValue(parsing: Array(answer.utf8)))
        let words = lines.map { $0.split(separator: " ").joined(separator: " ") }
        let title = try #require(words.firstIndex(of: "LANE APP PLATFORM WAITING IN FLIGHT PAUSED"), "\(lines)")
        #expect(
            words[(title + 1)...].prefix(3) == [
                "interactive com.example.app android 2 1 0", "interactive com.example.app apple 3 0 0",
                "bulk (broadcasts) - 7 5 0",
            ])
    }

    @Test func aCredentialNamesThePlatformOfAnAppWhoseIdIsOfSeveral() throws {
        let answer = #"""
            {"store":{"writable":true,"problems":[]},"credentials":[
            {"app":"com.example.app","kind":"APNS_KEY","name":"T/K"},
            {"app":"com.example.app","platform":"ANDROID","kind":"SERVICE_ACCOUNT","name":"a@b"},
            {"app":"com.example.app","platform":"ANDROID","kind":"SERVICE_ACCOUNT","name":"c@d"},
            {"app":"com.example.site","platform":"WEB","kind":"VAPID_KEY","name":"B"},
            {"app":"com.example.site","platform":"WEB","kind":"VAPID_KEY","name":"C"}]}
            """#
        let lines = StatusCommand.lines(try JSONValue(parsing: Array(answer.utf8)))
        let title = try #require(lines.firstIndex { $0.contains("LAST USED") }, "\(lines)")
        #expect(
            lines[(title + 1)...].map { $0.split(separator: " ").prefix(1).joined() } == [
                "apple:com.example.app", "android:com.example.app", "android:com.example.app", "com.example.site",
                "com.example.site",
            ])
    }

    @Test(arguments: ["0:1-ab", "projects/demo/messages/0:1-ab"])
    func aMessageIsNamedByItsIdOrItsWholeName(text: String) throws {
        for verb in ["report", "pause", "resume", "cancel"] {
            let command = try Herald.parseAsRoot(["message", verb, text])
            let id =
                switch command {
                case let command as ReportCommand: try command.message.map(MessageCommand.id)
                case let command as MessageCommand.Pause: try command.name.id
                case let command as MessageCommand.Resume: try command.name.id
                case let command as MessageCommand.Cancel: try command.name.id
                default: MessageID?.none
                }
            #expect(id?.rawValue == "0:1-ab")
        }
        let wrong = try MessageCommand.Name.parse(["a b"])
        #expect(throws: Failure.self) { try wrong.id }
    }

    @Test func sendLeavesOutMissingFields() throws {
        #expect(try Self.message(["--fid", "f", "--body", "B"]) == #"{"fid":"f","notification":{"body":"B"}}"#)
    }

    @Test func messageOfAFileTakesTheTargetOfTheOption() throws {
        let directory = try TestDirectory()
        let path = directory.file("m.json")
        try #"{"message":{"token":"old","data":{"n":"1"}}}"#.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try Self.message(["--message", path]) == #"{"token":"old","data":{"n":"1"}}"#)
        #expect(
            try Self.message(["--topic", "t", "--message", path]) == #"{"topic":"t","data":{"n":"1"}}"#)
    }

    @Test func whatStandsBesideTheMessageOfAFileIsSentToo() throws {
        let directory = try TestDirectory()
        let path = directory.file("m.json")
        func write(_ text: String) throws { try text.write(toFile: path, atomically: true, encoding: .utf8) }
        let whole =
            #"{"validate_only":true,"message":{"topic":"t"},"delivery":{"rate":3,"collapse_repeats":false},"valdate":1}"#
        try write(whole)
        #expect(try Self.request(["--message", path]) == whole)
        #expect(
            try Self.request(["--message", path, "--rate", "9", "--dry-run"])
                == #"{"message":{"topic":"t"},"valdate":1,"delivery":{"collapse_repeats":false,"rate":9},"#
                + #""validate_only":true}"#)
        try write(#"{"message":{"data":{"n":"1"}},"target":{"user":"alice"}}"#)
        #expect(
            try Self.request(["--message", path])
                == #"{"message":{"data":{"n":"1"}},"target":{"user":"alice"}}"#)
        #expect(
            try Self.request(["--topic", "t", "--message", path]) == #"{"message":{"topic":"t","data":{"n":"1"}}}"#)
        #expect(
            try Self.request(["--user", "bob", "--message", path])
                == #"{"message":{"data":{"n":"1"}},"target":{"user":"bob"}}"#)
        // Not a request: the message itself, and the gateway says what is wrong with it.
        try write(#"{"mesage":{"topic":"t"},"validate_only":true}"#)
        #expect(
            try Self.request(["--message", path])
                == #"{"message":{"mesage":{"topic":"t"},"validate_only":true}}"#)
        try write("[]")
        #expect(throws: Failure.self) { try Self.request(["--message", path]) }
    }

    @Test func warningsAreToldInWords() throws {
        let answer = #"""
            {"name":"n","warnings":[{"reason":"MISSPELLED_KEY","field":"message.apns.payload.aps.contentAvailable",
            "description":"Apple has no key contentAvailable: did you mean content-available? It is sent as it is."}]}
            """#
        #expect(
            SendCommand.warnings(try JSONValue(parsing: Array(answer.utf8))) == [
                "warning: message.apns.payload.aps.contentAvailable: Apple has no key contentAvailable: did you mean "
                    + "content-available? It is sent as it is."
            ])
    }

    @Test(arguments: [
        ["send", "--title", "x"], ["send", "--topic", "a", "--token", "b"], ["send", "--topic", "a", "--data", "x"],
        ["send", "--topic", "a", "--message", "f", "--title", "t"], ["report", "--watch"],
        ["send", "--topic", "a", "--user", "b"], ["send", "--topic", "a", "--rate", "1", "--finish-by", "x"],
        ["message", "list", "--state", "gone"], ["message", "list", "--limit", "0"], ["message", "pause"],
        ["report", "--limit", "0"], ["why"], ["why", "--user", "a", "--fid", "b"],
        ["registration", "prune", "--older-than", "9d"],
        ["registration", "prune", "--quarantined", "--older-than", "soon"],
        ["export"], ["export", "--out", "f", "--start", "yesterday"],
        ["register", "--app", "a", "--device-token", "xyz"],
        ["topic", "subscribe", "a b", "t"], ["key", "create", "--project", "a b", "--role", "admin"],
        ["key", "create", "--project", "p", "--role", "king"], ["dev", "--port", "70000"], ["nonsense"],
    ])
    func wrongArgumentsAreRefusedWith64(arguments: [String]) {
        do {
            _ = try Herald.parseAsRoot(arguments)
            Issue.record("accepted")
        } catch {
            #expect(Herald.exitCode(for: error).rawValue == 64)
        }
    }

    @Test func gatewayOptionsComeFromTheEnvironment() throws {
        let options = try GatewayOptions.parse([])
        let client = try options.client(
            environment: ["HERALD_GATEWAY": "https://push.example/", "HERALD_KEY": "hk_1_2", "HERALD_PROJECT": "demo"])
        #expect(client.base == "https://push.example")
        #expect(client.key == "hk_1_2")
        #expect(client.project.rawValue == "demo")
        let given = try GatewayOptions.parse(["--gateway", "http://a:1", "--key", "k", "--project", "p"])
        let other = try given.client(environment: ["HERALD_GATEWAY": "x", "HERALD_KEY": "x", "HERALD_PROJECT": "x"])
        #expect((other.base, other.key, other.project.rawValue) == ("http://a:1", "k", "p"))
    }

    @Test(arguments: [
        ([:], "an API key is needed"), (["HERALD_KEY": "k"], "a project is needed"),
        (
            ["HERALD_KEY": "k", "HERALD_PROJECT": "p", "HERALD_GATEWAY": "push.example"],
            "HERALD_GATEWAY \"push.example\" is not an address"
        ),
        (["HERALD_KEY": "k", "HERALD_PROJECT": "p", "HERALD_GATEWAY": ""], "HERALD_GATEWAY is empty"),
        (["HERALD_KEY": "", "HERALD_PROJECT": "p"], "HERALD_KEY is empty"),
        (["HERALD_KEY": "k", "HERALD_PROJECT": ""], "HERALD_PROJECT is empty"),
        (["HERALD_KEY": "k", "HERALD_PROJECT": "a b"], "HERALD_PROJECT \"a b\" is no project"),
    ])
    func missingOptionsAreToldWithTheWayOut(environment: [String: String], text: String) throws {
        let failure = #expect(throws: Failure.self) {
            _ = try GatewayOptions.parse([]).client(environment: environment)
        }
        #expect(failure?.message.contains(text) == true)
        #expect(failure?.code == .usage)
    }

    @Test func refusalCarriesTheGatewaysMessage() {
        let body = #"{"error":{"code":403,"message":"The API key\u001b does not work.","status":"PERMISSION_DENIED"}}"#
        let failure = GatewayClient.refusal(status: 403, body: Array(body.utf8))
        #expect(
            failure.description == "herald: the gateway answered 403 PERMISSION_DENIED: The API key? does not work.")
        #expect(GatewayClient.refusal(status: 502, body: Array("<html>".utf8)).message == "the gateway answered 502")
    }

    @Test func refusalCarriesCauseHintAndRequest() {
        let body = """
            {"error":{"code":400,"message":"Not valid.","status":"INVALID_ARGUMENT","details":[
            {"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},
            {"@type":"type.googleapis.com/herald.v1.ErrorInfo","reason":"MALFORMED_TOKEN","field":"message.token",
            "metadata":{"hint":"That is a device token.","length":"64"}}]}}
            """
        #expect(
            GatewayClient.refusal(status: 400, body: Array(body.utf8), requestID: "4f2a").description == """
                herald: the gateway answered 400 INVALID_ARGUMENT: Not valid. \
                (MALFORMED_TOKEN; field message.token; length 64; request 4f2a)
                herald: hint: That is a device token.
                """)
        let bare = GatewayClient.refusal(status: 400, body: Array(#"{"error":"InvalidToken"}"#.utf8))
        #expect(bare.message == "the gateway answered 400: InvalidToken")
    }

    @Test(arguments: [
        (["sedn"], "there is no command herald sedn; did you mean send?"),
        (["message", "resmue", "x"], "there is no command herald message resmue; did you mean resume?"),
        (["xyzzy"], "there is no command herald xyzzy; herald --help lists the commands"),
    ])
    func aMisspeltCommandIsToldTheOneThatWasMeant(arguments: [String], text: String) {
        let failure = Herald.unknownCommand(in: arguments)
        #expect(failure?.code == .usage)
        #expect(failure?.message == text)
    }

    @Test(arguments: [
        ["send", "--topic", "a"], ["message", "report", "x"], ["--help"], ["help", "sned"], ["report", "x"],
    ])
    func aKnownCommandIsNotSpeltOtherwise(arguments: [String]) {
        #expect(Herald.unknownCommand(in: arguments) == nil)
    }

    @Test(arguments: [
        (["send", "--tpoic", "weather"], "herald send has no option --tpoic; did you mean --topic?"),
        (["send", "--title", "x", "--tokne=a"], "herald send has no option --tokne; did you mean --token?"),
        (
            ["registration", "import", "f", "--porject", "demo"],
            "herald registration import has no option --porject; did you mean --project?"
        ),
        (["status", "--xyzzyx"], "herald status has no option --xyzzyx; herald status --help lists the options"),
    ])
    func aMisspeltOptionIsToldTheOneThatWasMeant(arguments: [String], text: String) {
        let failure = Herald.unknownOption(in: arguments)
        #expect(failure?.code == .usage)
        #expect(failure?.message == text)
    }

    @Test(arguments: [
        ["send", "--topic", "a", "--dry-run", "--gateway", "http://x"], ["message", "report", "x", "--watch"],
        ["--version"], ["send", "--help"], ["send", "--topic", "a", "--", "--tpoic"], ["send", "--title=--tpoic"],
        ["registration", "import", "-", "--continue-on-error"], ["dev", "--help-hidden"], ["key"],
    ])
    func aKnownOptionIsNotSpeltOtherwise(arguments: [String]) {
        #expect(Herald.unknownOption(in: arguments)?.message == nil)
    }

    @Test func oneReportHasTwoSpellings() throws {
        #expect(try Herald.parseAsRoot(["report", "0:1-ab", "--watch"]) is ReportCommand)
        #expect(try Herald.parseAsRoot(["message", "report", "0:1-ab", "--watch"]) is ReportCommand)
    }

    @Test func manyRecipientsAreConfirmed() throws {
        var asked: [String] = []
        func confirm(_ audience: Int, _ answer: String?) throws(Failure) {
            try SendCommand.confirm(audience: audience) { question in
                asked.append(question)
                return answer
            }
        }
        try confirm(1000, nil)
        #expect(asked.isEmpty)
        try confirm(1001, "y")
        #expect(asked == ["Send to 1001 registrations? [y/N] "])
        for answer in ["n", "", nil] as [String?] {
            #expect(throws: Failure.self) { try confirm(1001, answer) }
        }
    }

    @Test(arguments: [("90d", 7_776_000), ("1h", 3600), ("0s", 0), ("5m", 300)])
    func anAgeHasAUnit(text: String, seconds: Int) {
        #expect(RegistrationCommand.Prune.Age(argument: text)?.seconds == seconds)
    }

    @Test(arguments: ["90", "d", "-1d", "1y", "99999999999999999999d", ""])
    func otherAgesAreRefused(text: String) {
        #expect(RegistrationCommand.Prune.Age(argument: text) == nil)
    }

    @Test func whyShowsTheVerdictAndItsRows() throws {
        let answer = """
            {"name":"projects/demo/registrations/abc","app":"com.example.app","verdict":"REJECTED","text":"APNs refused it.",
            "deliveries":[{"message":"projects/demo/messages/0:1-ab","outcome":"REJECTED","reason":"BadDeviceToken",
            "attempts":2,"endTime":"2026-01-02T03:04:05Z"}]}
            """
        #expect(
            WhyCommand.lines(try JSONValue(parsing: Array(answer.utf8))) == [
                "abc (com.example.app): APNs refused it.", "",
                "MESSAGE  OUTCOME   REASON          ATTEMPTS  ENDED",
                "0:1-ab   REJECTED  BadDeviceToken  2         2026-01-02T03:04:05Z",
            ])
    }

    @Test func unreachableGatewayEndsWith69() async throws {
        let client = GatewayClient(
            base: "http://127.0.0.1:1", key: "k", project: try #require(ProjectID(rawValue: "p")))
        let failure = await #expect(throws: Failure.self) { _ = try await client.project(.GET, "messages") }
        #expect(failure?.code == .unavailable)
        #expect(
            failure?.message
                == "can't reach http://127.0.0.1:1: connection refused; is the gateway running? (--gateway)")
    }

    @Test func valuesArePercentEncodedOnce() {
        #expect(GatewayClient.escaped("a/b:c%d é~") == "a%2Fb%3Ac%25d%20%C3%A9~")
    }
}

/// Exports that are interrupted and go on.
struct ExportFileTests {
    private static func cursor(_ format: String) -> ExportCursor {
        ExportCursor(project: "demo", start: "s", end: "e", format: format, pageToken: nil, bytes: 0, rows: 0)
    }

    @Test func pagesAddUpAndTheCursorGoesAtTheEnd() throws {
        let directory = try TestDirectory()
        let file = ExportFile(path: directory.file("out.csv"))
        var cursor = try file.begun(with: Self.cursor("csv"))
        try file.append(Array("h1,h2\r\n1,2\r\n".utf8), then: "p2", &cursor)
        #expect(FileManager.default.fileExists(atPath: file.cursorPath))
        try file.append(Array("3,4\r\n".utf8), then: nil, &cursor)
        #expect(cursor.rows == 2)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "h1,h2\r\n1,2\r\n3,4\r\n")
        #expect(!FileManager.default.fileExists(atPath: file.cursorPath))
    }

    @Test func resumeCutsOffTheHalfPageAndKeepsTheToken() throws {
        let directory = try TestDirectory()
        let file = ExportFile(path: directory.file("out.ndjson"))
        var cursor = try file.begun(with: Self.cursor("ndjson"))
        try file.append(Array("{}\n".utf8), then: "p2", &cursor)
        let handle = try FileHandle(forWritingTo: URL(filePath: file.partPath))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("{\"half".utf8))
        try handle.close()
        var resumed = try file.resumed(given: nil, nil, matching: Self.cursor("ndjson"))
        #expect(resumed.pageToken == "p2")
        #expect(resumed == cursor)
        try file.append(Array("{}\n{}\n".utf8), then: nil, &resumed)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "{}\n{}\n{}\n")
        #expect(resumed.rows == 3)
    }

    @Test func resumeOfAnotherExportIsRefused() throws {
        let directory = try TestDirectory()
        let file = ExportFile(path: directory.file("out"))
        _ = try file.begun(with: Self.cursor("csv"))
        let other = #expect(throws: Failure.self) { try file.resumed(given: nil, nil, matching: Self.cursor("ndjson")) }
        #expect(other?.code == .usage)
        let range = #expect(throws: Failure.self) { try file.resumed(given: "x", nil, matching: Self.cursor("csv")) }
        #expect(range?.code == .usage)
        let none = #expect(throws: Failure.self) {
            try ExportFile(path: directory.file("none")).resumed(given: nil, nil, matching: Self.cursor("csv"))
        }
        #expect(none?.message.contains("nothing to resume") == true)
    }
}

/// The lines that `herald dev` prints.
struct DevelopmentBlockTests {
    private static let block = DevelopmentBlock(
        base: "http://127.0.0.1:8080",
        keys: DevelopmentState.Keys(admin: "hk_a", sender: "hk_s", client: "hk_c"), deviceToken: "0a1b",
        herald: "echo")

    @Test func beginsAndEndsWithItsMarks() {
        let lines = Self.block.text.split(separator: "\n")
        #expect(lines.first?.hasPrefix("# 1.") == true)
        #expect(lines.last == "# End")
    }

    @Test func shellTakesItAndItsBodiesAreJSON() async throws {
        let directory = try TestDirectory()
        // A curl that prints its body, or an answer with a token: what a gateway would say is not the matter here.
        try """
        #!/bin/sh
        for argument in "$@"; do
          case $last in -d) printf '%s\\n' "$argument" >>"\(directory.file("bodies"))";; esac
          last=$argument
        done
        echo '{"name": "projects/demo/messages/1", "token": "abc:def"}'
        """.write(toFile: directory.file("curl"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes(
            [.posixPermissions: NSNumber(value: 0o755)], ofItemAtPath: directory.file("curl"))
        let answer = try await ChildProcess.run(
            "/bin/bash", ["-euo", "pipefail", "-c", Self.block.text],
            environment: ["PATH": directory.path + ":/usr/bin:/bin"])
        #expect(answer.status == 0)
        #expect(answer.lines.first == "abc:def")
        let bodies = try String(contentsOfFile: directory.file("bodies"), encoding: .utf8).split(separator: "\n")
            .map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(bodies.count == 6)
        #expect(bodies[0]["appId"]?.stringValue == "1:123456789012:ios:0a1b2c3d")
        #expect(bodies[1]["ios"]?["apns_token"]?.stringValue == "0a1b")
        #expect(bodies[2]["message"]?["token"]?.stringValue == "abc:def")
        #expect(bodies[3]["message"]?["notification"]?["title"]?.stringValue == "Portugal vs. Denmark")
        #expect(bodies[3]["message"]?["apns"]?["payload"]?["customKey"]?.stringValue == "customValue")
        #expect(bodies[4]["delivery"]?["rate"] == .number("5"))
        #expect(bodies[5]["dynamicLinkInfo"]?["dynamicLinkDomain"]?.stringValue == "go.localhost")
        #expect(answer.lines.contains("message list"))
    }
}
