import HTTPTypes
import JSON
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import Testing

@testable import GatewayAPI

@Suite(.timeLimit(.minutes(5)))
struct ExportTests {
    private static let path = "/v1/projects/demo/export?startTime=2026-01-01T00:00:00Z&endTime=2026-02-01T00:00:00Z"
    private static let columns =
        "event_timestamp,project_number,message_id,instance_id,message_type,sdk_platform,app_name,collapse_key,priority,"
        + "ttl,topic,bulk_id,event,analytics_label,outcome,reason,attempts,latency_ms,apns_id,"
        + "credential_id,credential_name,credential_role,credential_address,upstream_id"

    @Test func aRowHasBigQuerysColumns() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.register()
        let name = try await gateway.send(
            #""token":"\#(install.token)""#,
            #""notification":{"title":"Hi"},"apns":{"headers":{"apns-collapse-id":"a,\"b\""}}"#)
        let message = name.split(separator: "/").last ?? ""
        try await gateway.finish(.interactive) { _ in (.rejected, "Unregistered") }
        let answer = try await gateway.request(.get, Self.path)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/x-ndjson")
        let row = try JSONValue(parsing: Array(answer.text.utf8.dropLast()))
        #expect(row["event_timestamp"] == .string("2026-01-02T03:04:05.928Z"))
        #expect(row["project_number"] == .number("123456789012"))
        #expect(row["message_id"] == .string(String(message)))
        #expect(row["instance_id"] == .string(install.id))
        #expect(row["message_type"] == .string("DISPLAY_NOTIFICATION"))
        #expect(row["sdk_platform"] == .string("IOS"))
        #expect(row["app_name"] == .string("com.example.app"))
        #expect(row["collapse_key"] == .string("a,\"b\""))
        #expect(row["priority"] == .number("10"))
        #expect(row["event"] == .string("UNAUTHORIZED_REGISTRATION"))
        #expect(row["outcome"] == .string("REJECTED"))
        #expect(row["reason"] == .string("Unregistered"))
        #expect(row["attempts"] == .number("1"))
        #expect(row["latency_ms"] == .number("250"))
        #expect(row["topic"] == nil)
        #expect(row["bulk_id"] == nil)
        let csv = try await gateway.request(.get, Self.path + "&format=csv")
        let lines = csv.text.split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3)
        #expect(lines[0] == Self.columns)
        #expect(lines[1].contains(#","a,""b""","#))
        #expect(lines[2] == "")
    }

    @Test func aWindowThatWasRemovedAnswersGoneWithTheOldestMoment() async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.register()
        let name = try await gateway.send(#""token":"\#(install.token)""#, #""notification":{"title":"Hi"}"#)
        try await gateway.finish(.interactive)
        let now = try #require(Timestamp(rfc3339: "2026-06-01T00:00:00Z"))
        let rules = RetentionRules(standard: RetentionPolicy())
        while try await !gateway.store.remove(.payloads, by: rules, at: now).isDone {}
        let report = try await gateway.request(.get, "/v1/\(name)").json
        #expect(report["payloadRemoved"] == .bool(true) && report["blocks"] == nil)
        #expect(report["ledger"]?["accepted"] == .number("1"))
        while try await !gateway.store.remove(.messages, by: rules, at: now).isDone {}
        #expect(try await gateway.request(.get, "/v1/\(name)").status == 404)
        let answer = try await gateway.request(.get, Self.path)
        #expect(answer.status == 410)
        let error = try answer.json["error"]
        #expect(error?["status"] == .string("OUT_OF_RANGE"))
        guard case .array(let all)? = error?["details"], let details = all.last else {
            Issue.record("no details")
            return
        }
        #expect(details["reason"] == .string("EXPORT_REMOVED"))
        let oldest = try #require(details["metadata"]?["oldestTime"]?.stringValue)
        #expect(oldest.hasPrefix("2026-01-02T03:04:0"))
        gateway.clock.advance(by: .seconds(3600))
        #expect(try await gateway.request(.get, "/v1/projects/demo/export?startTime=\(oldest)").status == 200)
        #expect(try await gateway.request(.get, "/v1/projects/demo/export").status == 200)
    }

    /// Texts that a sender chooses; NDJSON has them as they are, and numbers of ours are no texts.
    @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "'=1"])
    func noCellIsAFormula(key: String) async throws {
        let gateway = try await TestGateway()
        let install = try await gateway.register()
        _ = try await gateway.send(
            #""token":"\#(install.token)""#,
            #""notification":{"title":"Hi"},"fcm_options":{"analytics_label":"-label"},"#
                + #""apns":{"headers":{"apns-collapse-id":"\#(key)"}}"#)
        try await gateway.finish(.interactive)
        let csv = try await gateway.request(.get, Self.path + "&format=csv").text
        let cells = try #require(csv.split(separator: "\r\n").last).split(separator: ",")
        #expect(cells.allSatisfy { !"=+-@\t\r".utf8.contains($0.utf8.first ?? 0) }, "\(cells)")
        #expect(cells.contains("'\(key)") && cells.contains("'-label") && cells.contains("123456789012"))
        let row = try JSONValue(parsing: Array(try await gateway.request(.get, Self.path).text.utf8.dropLast()))
        #expect(row["collapse_key"] == .string(key) && row["analytics_label"] == .string("-label"))
    }

    @Test(arguments: [
        ("\t1", "'\t1"), ("\r1", "'\r1"), ("\r\n=1", "'\r\n=1"), ("'", "'"), ("", ""), ("a=1", "a=1"),
        ("-", "'-"), ("''+1", "\'\'\'+1"), ("=\u{301}", "'=\u{301}"),
    ])
    func aTextComesBackFromItsCell(text: String, cell: String) {
        #expect(CSVCell.inert(text) == cell)
        #expect(CSVCell.original(cell) == text)
    }

    @Test func aBroadcastIsStreamedRowByRow() async throws {
        let gateway = try await TestGateway()
        let installs = try await gateway.subscribe(5)
        _ = try await gateway.send(#""topic":"news""#)
        try await gateway.finish(.bulk)
        let answer = try await gateway.request(.get, Self.path + "&format=ndjson")
        let rows = try answer.text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(Set(rows.compactMap { $0["instance_id"]?.stringValue }) == Set(installs.map(\.id)))
        #expect(rows.allSatisfy { $0["topic"] == .string("news") })
        #expect(Set(rows.map { $0["bulk_id"] }).count == 1)
        #expect(rows[0]["bulk_id"] != nil)
    }

    @Test func aStreamGoesOnBeyondOneRead() async throws {
        let gateway = try await TestGateway()
        let app = try #require(AppID(rawValue: "com.example.app"))
        let demo = try #require(ProjectID(rawValue: "demo"))
        var keys: [RegistrationKey] = []
        for index in 0..<1005 {
            let request = RegistrationRequest(
                project: demo, app: app,
                address: .apple(try #require(DeviceToken(hex: "\(100_000 + index)")), .production), appVersion: nil)
            keys.append(try await gateway.store.register(request, at: gateway.clock.now).registration.key)
        }
        _ = try await gateway.store.subscribe(keys, to: #require(Topic(rawValue: "news")), at: gateway.clock.now)
        _ = try await gateway.send(#""topic":"news""#)
        for _ in 0..<2 { try await gateway.finish(.bulk) }
        let csv = try await gateway.request(.get, Self.path + "&format=csv").text.split(separator: "\r\n")
        #expect(csv.count == 1006)
        #expect(csv.count { $0 == Self.columns } == 1)
        #expect(Set(csv).count == 1006)
    }

    @Test(arguments: ["ndjson", "csv"])
    func pagesJoinToTheWhole(format: String) async throws {
        let gateway = try await TestGateway()
        _ = try await gateway.subscribe(5)
        _ = try await gateway.send(#""topic":"news""#)
        try await gateway.finish(.bulk)
        let whole = try await gateway.request(.get, Self.path + "&format=\(format)").text
        var joined = ""
        var pages = 0
        var token: String?
        repeat {
            let page = try await gateway.request(
                .get, Self.path + "&format=\(format)&pageSize=2" + (token.map { "&pageToken=\($0)" } ?? ""))
            #expect(page.status == 200)
            joined += page.text
            pages += 1
            token = page.headers[.nextPageToken]
        } while token != nil && pages < 10
        #expect(joined == whole)
        #expect(pages >= 3)
    }

    @Test func theRangeIsHalfOpen() async throws {
        let gateway = try await TestGateway()
        let token = try await gateway.register().token
        _ = try await gateway.send(#""token":"\#(token)""#)
        try await gateway.finish(.interactive)
        let end = "2026-01-02T03:04:05.928Z"
        let base = "/v1/projects/demo/export?"
        #expect(try await gateway.request(.get, base + "endTime=\(end)").text.isEmpty)
        #expect(try await !gateway.request(.get, base + "startTime=\(end)&endTime=2027-01-01T00:00:00Z").text.isEmpty)
    }

    @Test(arguments: [
        ("format=xml", "format"), ("startTime=today", "start_time"), ("endTime=2026", "end_time"),
        ("startTime=2026-02-01T00:00:00Z&endTime=2026-01-01T00:00:00Z", "end_time"),
        ("startTime=9999-12-31T00:00:00Z", "start_time"), ("pageSize=-2", "page_size"),
        ("pageToken=nonsense!", "page_token"), ("cursor=nonsense!", "page_token"),
    ])
    func aWrongParameterIsNamed(query: String, field: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/v1/projects/demo/export?\(query)")
        #expect(answer.status == 400)
        #expect(try answer.badFields == [field])
    }

    @Test func aStoreThatFailsGivesAnErrorAndNoFile() async throws {
        let gateway = try await TestGateway(isBroken: true)
        let answer = try await gateway.request(.get, Self.path)
        #expect(answer.status == 503)
    }

    @Test(arguments: ["/export/schema", "/export?format=schema"])
    func theSchemaListsTheColumns(path: String) async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.request(.get, "/v1/projects/demo" + path)
        guard case .array(let columns) = try answer.json else {
            Issue.record("\(answer.text)")
            return
        }
        #expect(columns.compactMap { $0["name"]?.stringValue }.joined(separator: ",") == Self.columns)
        #expect(columns[0]["type"] == .string("TIMESTAMP"))
        #expect(columns[1]["type"] == .string("INTEGER"))
    }
}
