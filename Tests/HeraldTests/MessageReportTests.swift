import JSON
import PushModel
import Testing

@testable import herald

/// Reports as a person sees them.
struct MessageReportTests {
    private static func report(
        state: String = "COMPLETE", audience: Int, _ accepted: Int, _ rejected: Int, _ inFlight: Int = 0
    ) throws -> MessageReport {
        let text = """
            {"name":"projects/demo/messages/0:1-ab","target":{"topic":"weather"},"label":"match","state":"\(state)",
            "acceptTime":"2026-01-02T03:04:05Z","audience":\(audience),
            "ledger":{"recipients":\(accepted + rejected + inFlight),"accepted":\(accepted),"rejected":\(rejected),
            "expired":0,"cancelled":0,"inFlight":\(inFlight)},
            "rejectedByReason":{"BadDeviceToken":1,"Unregistered":\(max(0, rejected - 1))},
            "latency":{"p50":"0.1s","p90":"0.2s","p99":"0.3s"}}
            """
        return MessageReport(try JSONValue(parsing: Array(text.utf8)))
    }

    @Test func theReportShowsEveryFigure() throws {
        let report = try Self.report(audience: 40, 37, 3)
        #expect(
            report.lines(width: 42) == [
                "Message    0:1-ab", "Target     topic weather", "Label      match", "State      COMPLETE",
                "Accepted   2026-01-02T03:04:05Z", "Latency    p50 0.1s  p90 0.2s  p99 0.3s", "",
                "[" + String(repeating: "█", count: 37) + "▒▒▒]", "", "  █ accepted   37", "  ▒ rejected    3",
                "       2 Unregistered", "       1 BadDeviceToken", "  ░ expired     0", "  × cancelled   0",
                "  · in flight   0", "    recipients 40",
            ])
    }

    @Test func aRunningBroadcastShowsItsPaceAndItsEnd() throws {
        let text = """
            {"name":"projects/demo/messages/0:1-ab","target":{"registrations":12},"state":"ACTIVE",
            "pace":{"rate":7},"expectedEndTime":"2026-01-02T04:00:00Z","audience":12}
            """
        let report = MessageReport(try JSONValue(parsing: Array(text.utf8)))
        #expect(report.target == "12 registrations")
        let lines = report.lines(width: 60)
        #expect(lines.contains("Pace       7/s"))
        #expect(lines.contains("Expected   2026-01-02T04:00:00Z"))
    }

    @Test func platformsWithoutDeliveryAreNamed() throws {
        let text = #"{"blocks":{"apple":"SENT","android":"NOT_APPLICABLE","webpush":"NOT_APPLICABLE"}}"#
        let lines = MessageReport(try JSONValue(parsing: Array(text.utf8))).lines(width: 60)
        #expect(lines.contains("Not sent   to android, webpush"))
        #expect(try !Self.report(audience: 1, 1, 0).lines(width: 60).contains { $0.hasPrefix("Not sent") })
    }

    @Test func eachPlatformHasALine() throws {
        let text = """
            {"name":"n","state":"COMPLETE","platforms":{
            "apple":{"audience":12,"passedOver":2,"recipients":10,"accepted":9,"rejected":1,"inFlight":0},
            "web":{"audience":3,"passedOver":0,"recipients":3,"accepted":1,"inFlight":2}}}
            """
        let report = MessageReport(try JSONValue(parsing: Array(text.utf8)))
        let lines = report.lines(width: 60).filter { $0.hasPrefix("Platform") }
        #expect(
            lines == [
                "Platform   apple 10: 9 accepted, 1 rejected, 2 passed by",
                "Platform   web 3: 1 accepted, 2 in flight",
            ])
        let later = MessageReport(
            try JSONValue(parsing: Array(text.replacing("\"accepted\":9", with: "\"accepted\":8").utf8)))
        #expect(later != report)
    }

    @Test func receiptsHaveALine() throws {
        let text = #"{"name":"n","state":"ACTIVE","receipts":{"received":12,"opened":3}}"#
        let lines = MessageReport(try JSONValue(parsing: Array(text.utf8))).lines(width: 60)
        #expect(lines.contains("Devices    12 received  3 opened"))
    }

    @Test func eachTrackedLinkHasALine() throws {
        let text = """
            {"name":"n","state":"COMPLETE","links":[
            {"shortLink":"https://go.example.com/a","clicks":12,"redirects":9,"appInstalls":0,"appReopens":3},
            {"shortLink":"https://go.example.com/b","clicks":0}]}
            """
        let report = MessageReport(try JSONValue(parsing: Array(text.utf8)))
        let lines = report.lines(width: 80)
        #expect(lines.contains("Link       https://go.example.com/a  12 clicks  9 redirects  3 opens"))
        #expect(lines.contains("Link       https://go.example.com/b  0 clicks"))
        let later = MessageReport(try JSONValue(parsing: Array(text.replacing("12", with: "13").utf8)))
        #expect(later != report)
    }

    @Test(arguments: [#"{"state":"CANCELLED"}"#, #"{"state":"PAUSED"}"#, #"{"state":"ACTIVE"}"#])
    func whatIsStillOpenIsNotFinal(text: String) throws {
        #expect(try !MessageReport(JSONValue(parsing: Array(text.utf8))).isFinal)
        let ended = #"{"state":"CANCELLED","completeTime":"2026-01-02T04:00:00Z"}"#
        #expect(try MessageReport(JSONValue(parsing: Array(ended.utf8))).isFinal)
    }

    @Test(arguments: [12, 20, 41, 80, 200])
    func barFillsItsWidthAndShowsTheSmallest(width: Int) throws {
        let bar = try Self.report(audience: 1_000_000, 999_999, 1).bar(width: width)
        #expect(bar.count == width)
        #expect(bar.contains("▒"))
        #expect(bar.contains("█"))
        #expect(!bar.contains(" "))
    }

    @Test func restOfTheAudienceIsBlankWhileActive() throws {
        let report = try Self.report(state: "ACTIVE", audience: 100, 25, 0, 25)
        #expect(
            report.bar(width: 42) == "[" + String(repeating: "█", count: 10) + String(repeating: "·", count: 10)
                + String(repeating: " ", count: 20) + "]")
        #expect(!report.isFinal)
        #expect(report.summary == "0:1-ab ACTIVE 50 of 100: 25 accepted, 25 in flight")
    }

    @Test(arguments: [("ACTIVE", 94), ("COMPLETE", 50)])
    func textAndBarCountTheSame(state: String, expected: Int) throws {
        let text = """
            {"name":"n","state":"\(state)","audience":100,"passedOver":{"quarantined":4,"stale":2},
            "ledger":{"recipients":50,"accepted":47,"rejected":3}}
            """
        let report = MessageReport(try JSONValue(parsing: Array(text.utf8)))
        #expect(report.summary.hasPrefix("n \(state) 50 of \(expected):"))
        #expect(report.bar(width: expected + 2).filter { $0 != " " }.count == 50 + 2)
        let lines = report.lines(width: 60)
        #expect(lines.contains("Passed by  4 quarantined  2 stale"))
        #expect(lines.contains(state == "ACTIVE" ? "State      ACTIVE, 50 of 94" : "State      COMPLETE"))
    }

    @Test func noLineIsWiderThanTheTerminal() throws {
        let lines = try Self.report(audience: 5, 4, 1).lines(width: 20)
        #expect(lines.allSatisfy { $0.count <= 20 })
    }

    @Test func nothingSentIsAnEmptyBar() throws {
        #expect(try Self.report(audience: 0, 0, 0).bar(width: 12) == "[          ]")
    }

    @Test func listIsATable() throws {
        let table = MessageReport.table([try Self.report(audience: 40, 37, 3)])
        #expect(
            table.lines == [
                "MESSAGE  ACCEPTED              TARGET         STATE     RECIPIENTS  ENDED",
                "0:1-ab   2026-01-02T03:04:05Z  topic weather  COMPLETE  40          37 accepted, 3 rejected",
            ])
    }

    @Test func wideColumnsAreCutForATerminal() {
        var table = Table(titles: ["TOPIC", "REGISTRATIONS"])
        table.rows = [[String(repeating: "t", count: 900), "12"], ["news", "3"]]
        #expect(
            table.lines(width: 40) == [
                "TOPIC".padded(to: 25) + "  REGISTRATIONS", String(repeating: "t", count: 24) + "…  12",
                "news".padded(to: 25) + "  3",
            ])
        #expect(table.lines[1].count == 904)
        #expect(table.lines(width: 5).allSatisfy { $0.count <= 18 })
    }

    @Test func foreignTextHasNoControlCharacters() {
        #expect(Table.safe("a\u{1b}[31mb\r\n\u{9b}c") == "a?[31mb???c")
    }
}
