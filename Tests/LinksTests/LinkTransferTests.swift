import PushModel
import Store
import Testing

@testable import Links

/// Google's export comes in, row by row, and goes out as it came.
@Suite(.timeLimit(.minutes(2)))
struct LinkTransferTests {
    private static let header =
        "Short link,link,apn,afl,amv,ibi,ifl,ius,ipfl,ipbi,isi,imv,efr,ofl,st,sd,si,utm_source,utm_medium,utm_campaign,"
        + "utm_term,utm_content,at,ct,mt,pt,archived?,link name,creation timestamp\r\n"

    private let sample: CountingLinkStore
    private let now = Timestamp(rfc3339: "2026-01-02T03:04:05Z")!

    init() throws {
        sample = try CountingLinkStore()
    }

    private struct Result {
        var summary = LinkFileImport.Summary()
        var refusals: [LinkRefusal] = []
    }

    private func take(
        _ text: String, map: LinkRowReader.Mapping = [:], others: [LinkPrefix] = []
    ) async throws -> Result {
        try await take(Array(text.utf8), map: map, others: others)
    }

    private func take(
        _ bytes: [UInt8], map: LinkRowReader.Mapping = [:], others: [LinkPrefix] = []
    ) async throws -> Result {
        var rest = bytes[...]
        var reader = try CSVReader { count in
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let rows = try LinkRowReader(
            project: CountingLinkStore.project, settings: CountingLinkStore.settings, others: others, reading: &reader,
            mapping: map, now: now)
        var result = Result()
        let job = LinkFileImport(
            store: sample, rows: rows, pace: { ImportPace(chunkTime: .seconds(1), rest: .milliseconds(1)) },
            pause: { _ in })
        result.summary = try await job.run(
            &reader, refuse: { result.refusals.append($0) }, progress: { _ in })
        return result
    }

    private func found(_ suffix: String, prefix: String = "go.example.com") async throws -> Link? {
        try await sample.link(LinkKey(prefix: prefix, suffix: suffix))
    }

    /// A row of Google's columns, the others empty.
    private func row(_ fields: [Int: String]) -> String {
        (0..<29).map { fields[$0] ?? "" }.joined(separator: ",") + "\r\n"
    }

    @Test func googlesColumnsComeInTheirOrder() {
        let titles = Self.header.split(separator: "\r\n")[0].split(separator: ",").map(String.init)
        #expect(titles == LinkColumn.google.map(\.title) && titles.count == 29)
    }

    @Test func everyColumnIsTakenAndGivenBack() async throws {
        let fields = [
            "https://go.example.com/promo/aB-_9", "https://a.example/x?id=1&y=%20", "com.example.app",
            "https://x.b.example/afl", "7", "com.example.ios", "https://a.example/ifl", "myapp",
            "https://a.example/ipfl",
            "com.example.ipad", "123", "1.2", "1", "https://a.example/ofl", "Grüße, \u{1F44B}", "two\r\nlines",
            "https://a.example/i.png", "news\"letter", "mail", "=spring", "t", "c", "AT", "CT", "8", "PT", "true",
            "Sale", "2019-05-01T12:34:56.000Z",
        ]
        let line = fields.map(CSVCell.quoted).joined(separator: ",") + "\r\n"
        let result = try await take(Self.header + line)
        #expect(result.refusals == [] && result.summary.created == 1)
        let link = try #require(try await found("aB-_9", prefix: "go.example.com/promo"))
        let parameters = LinkParameters(query: link.parameters)
        #expect(parameters[.link] == "https://a.example/x?id=1&y=%20" && parameters[.socialTitle] == "Grüße, \u{1F44B}")
        #expect(link.visibility == .archived && link.name == "Sale" && link.kind == .imported)
        #expect(link.createdAt == Timestamp(rfc3339: "2019-05-01T12:34:56Z"))
        var bytes: [UInt8] = []
        let writer = LinkRowWriter(hasAllParameters: false, settings: CountingLinkStore.settings)
        writer.appendHeader(to: &bytes)
        #expect(writer.append(link, to: &bytes))
        let text = String(decoding: bytes, as: UTF8.self)
        // A text that a spreadsheet would run is made inert, and is what it was when it is read again.
        #expect(text.replacing("'=spring", with: "=spring") == Self.header + line && text.contains("'=spring"))
        #expect(try await take(text).summary.unchanged == 1)
    }

    @Test func aFileCanBeImportedTwice() async throws {
        var text = Self.header
        for number in 0..<5000 {
            text += row([0: "https://go.example.com/s\(number)", 1: "https://a.example/\(number)", 27: "n\(number)"])
        }
        #expect(try await take(text).summary.created == 5000)
        let again = try await take(text)
        #expect(again.summary.unchanged == 5000 && again.summary.created == 0 && again.refusals == [])
        #expect(try await found("s4999")?.visibility == .unarchived)
    }

    /// Rows in front of the place where a file can't be read on are taken, and those among them that are refused are told.
    @Test func aFileThatBreaksOffIsTakenUpToThere() async throws {
        struct Unreadable: Error {}
        var text = Self.header
        for number in 0..<20_000 {
            text += row([0: "https://go.example.com/s\(number % 19_999)", 1: "https://a.example/\(number)"])
        }
        var rest = Array(text.utf8)[...]
        var reader = try CSVReader { count in
            guard !rest.isEmpty else { throw Unreadable() }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let rows = try LinkRowReader(
            project: CountingLinkStore.project, settings: CountingLinkStore.settings, reading: &reader, mapping: [:],
            now: now)
        let job = LinkFileImport(
            store: sample, rows: rows, pace: { ImportPace(chunkTime: .seconds(1), rest: .zero) }, pause: { _ in })
        var (refused, done) = ([Int](), LinkFileImport.Summary())
        await #expect(throws: Unreadable.self) {
            _ = try await job.run(&reader, refuse: { refused.append($0.line) }, progress: { done = $0 })
        }
        #expect(done.created == 19_999 && done.rows == 20_000 && refused == [20_001])
        #expect(try await found("s19998") != nil)
    }

    @Test func pageLinksComeToAnotherPrefixWithTheirSuffix() async throws {
        let text = row([0: "https://Demo.page.link/y6N7", 1: "https://a.example/"])
        #expect(try await take(text).refusals.map(\.reason).first?.contains("demo.page.link") == true)
        let result = try await take(text, map: ["demo.page.link": LinkPrefix(host: "go.example.com")])
        #expect(result.summary.created == 1)
        #expect(try await found("y6N7") != nil)
        #expect(try await found("Y6N7") == nil)
        let link = try await found("y6N7")
        #expect(link?.createdAt == now && link?.visibility == .neverShown)
    }

    @Test func refusalsAreToldByLineAndTheOtherRowsAreTaken() async throws {
        let good = "https://a.example/"
        let text =
            Self.header + row([0: "https://go.example.com/a", 1: good])
            + row([0: "https://go.example.com/b", 1: "https://evil.example/"])
            + row([0: "https://go.example.com/c", 1: "javascript:alert(1)"])
            + row([0: "https://go.example.com/d", 1: good, 3: "https://evil.example/"])
            + row([0: "https://other.example/e", 1: good]) + row([0: "https://go.example.com/a.b", 1: good])
            + row([0: "https://go.example.com/link", 1: good]) + row([1: good]) + "a,b\r\n"
            + row([0: "https://go.example.com/a", 1: "https://a.example/other"])
            + row([0: "https://go.example.com/f"]) + row([0: "https://go.example.com/z", 1: good])
        let result = try await take(text)
        #expect(result.refusals.map(\.line) == Array(3...12))
        #expect(result.refusals.first { $0.line == 11 }?.reason.contains("belongs to another link") == true)
        #expect(result.refusals.allSatisfy { !$0.reason.isEmpty })
        #expect(result.summary.created == 2 && result.summary.refused == 10 && result.summary.rows == 12)
        #expect(try await found("z") != nil)
        #expect(try await found("b") == nil)
    }

    @Test(arguments: [
        (28, "last spring", "creation timestamp"), (28, "-9223372036854775808", "creation timestamp"),
        (28, "0000-01-01T00:00:00Z", "creation timestamp"), (28, "2014-12-31T23:59:59Z", "creation timestamp"),
        (28, "2026-01-03T03:04:06Z", "creation timestamp"), (28, "99999999999", "creation timestamp"),
        (28, "0", "creation timestamp"),
        (26, "maybe", "archived?"), (12, "perhaps", "efr"), (27, String(repeating: "n", count: 257), "link name"),
        (27, "a\u{0}b", "link name"), (14, "a\u{0}b", "st"), (0, "https://go.example.com/promo", "Short link"),
        (0, "https://go.example.com/taken", "Short link"), (0, "x", "Short link"), (0, "", "Short link"),
        (1, "https://evil.example/", "link"), (1, "", "link"), (3, "https://evil.example/", "afl"),
    ])
    func aValueThatIsNoneRefusesTheRowByItsColumn(_ index: Int, _ value: String, _ column: String) async throws {
        var fields = [0: "https://go.example.com/a", 1: "https://a.example/", 27: "Spring"]
        fields[index] = value
        let taken = LinkPrefix(host: "go.example.com", path: "/taken")
        let result = try await take(Self.header + row(fields), others: [taken])
        let refusal = try #require(result.refusals.first)
        #expect(refusal.line == 2 && refusal.column == column && result.summary.created == 0, "\(refusal)")
        #expect(refusal.reason.count < 250, "\(refusal)")
        #expect(refusal.shortLink == (fields[0] == "" ? nil : fields[0]))
        #expect(refusal.text.hasPrefix("column '\(column)': "))
    }

    @Test(arguments: ["true", "TRUE", "1", "yes", "Yes"])
    func truthIsReadInAnyOfItsForms(_ text: String) async throws {
        let no = ["true": "false", "TRUE": "FALSE", "1": "0"][text] ?? "no"
        let link = "https://a.example/"
        let result = try await take(
            row([0: "https://go.example.com/a", 1: link, 12: text, 26: text])
                + row([0: "https://go.example.com/b", 1: link, 12: no, 26: no]))
        #expect(result.refusals == [])
        let (yes, other) = (try await found("a"), try await found("b"))
        #expect(yes?.visibility == .archived && other?.visibility == .neverShown)
        #expect(yes?.parameters.contains("efr=1") == true && other?.parameters.contains("efr") == false)
    }

    @Test func aFileWithoutAHeaderIsToldSo() async throws {
        let result = try await take("https://go.example.com/a,https://a.example/\n")
        #expect(result.refusals.first?.reason.contains("header") == true)
    }

    @Test(arguments: [
        ("1556714096", "2019-05-01T12:34:56Z"), ("1556714096000", "2019-05-01T12:34:56Z"),
        ("2019-05-01 12:34:56 UTC", "2019-05-01T12:34:56Z"), ("2019-05-01T12:34:56", "2019-05-01T12:34:56Z"),
        ("2019-05-01T14:34:56+02:00", "2019-05-01T12:34:56Z"), ("", "2026-01-02T03:04:05Z"),
        ("2015-01-01T00:00:00Z", "2015-01-01T00:00:00Z"), ("2026-01-03T03:04:05Z", "2026-01-03T03:04:05Z"),
    ])
    func timesAreRead(_ text: String, _ expected: String) async throws {
        _ = try await take(row([0: "https://go.example.com/a", 1: "https://a.example/", 28: text]))
        #expect(try await found("a")?.createdAt == Timestamp(rfc3339: expected))
    }

    @Test func columnsMayComeInAnotherOrderAndMoreOfThem() async throws {
        let text = "short_link,ppid,link,Archived,link_name\nhttps://go.example.com/a,p1,https://a.example/,no,'+x\n"
        #expect(try await take(text).summary.created == 1)
        let link = try #require(try await found("a"))
        #expect(LinkParameters(query: link.parameters)[.productPage] == "p1" && link.name == "+x")
        var bytes: [UInt8] = []
        #expect(!LinkRowWriter(hasAllParameters: false, settings: CountingLinkStore.settings).append(link, to: &bytes))
        #expect(LinkRowWriter(hasAllParameters: true, settings: CountingLinkStore.settings).append(link, to: &bytes))
        #expect(String(decoding: bytes, as: UTF8.self).contains("p1"))
    }

    @Test(arguments: [
        ("Short link,link,zzz\n", "field 3, \"zzz\", is no column; there are Short link, link, apn"),
        ("short url,link\nhttps://go.example.com/a,https://a.example/\n", "field 1, \"short url\", is no column"),
        ("Kurzlink,Ziel\nhttps://go.example.com/a,https://a.example/\n", "field 1, \"Kurzlink\", is no column"),
        ("Short link,link,link\n", "stands twice"), ("Short link,apn\n", "the column 'link' is missing"),
        ("Short link;link\nhttps://go.example.com/a;https://a.example/\n", "separated by semicolons"),
        ("\"Short link\";\"link, \"\"x\"\"\"\n", "separated by semicolons"),
        ("Short link\tlink\nhttps://go.example.com/a\thttps://a.example/\n", "separated by tabs"),
        ("https://go.example.com/a;" + String(repeating: "x, y;", count: 28) + "\n", "separated by semicolons"),
        ("sep=;\nShort link;link\n", "separated by semicolons"), ("", "the file is empty"),
        ("\u{feff}\r\n\r\n", "the file is empty"), ("PK\u{3}\u{4}x", "a ZIP archive"),
    ])
    func aFileThatIsNoSuchCSVIsRefusedInOneLine(_ text: String, _ problem: String) async throws {
        let refusal = await #expect(throws: LinkRefusal.self) { try await take(text) }
        #expect(refusal?.line == 1 && refusal?.text.contains(problem) == true, "\(refusal?.text ?? "")")
        #expect(try await found("a") == nil)
    }

    @Test(arguments: [true, false], [true, false])
    func aFileInUTF16IsRefusedInOneLine(isBigEndian: Bool, hasMark: Bool) async throws {
        let text = (hasMark ? "\u{feff}" : "") + Self.header
        let bytes = text.utf16.flatMap { unit in
            let (high, low) = (UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit))
            return isBigEndian ? [high, low] : [low, high]
        }
        let refusal = await #expect(throws: LinkRefusal.self) { try await take(bytes) }
        #expect(refusal?.line == 1 && refusal?.reason.contains("UTF-16") == true, "\(refusal?.text ?? "")")
    }

    @Test func aHeaderAloneIsAFileWithoutLinks() async throws {
        let result = try await take(Self.header)
        #expect(result.refusals == [] && result.summary.rows == 0)
    }

    @Test func aRowWithSemicolonsInItsTextsIsNoOtherFormat() async throws {
        let link = "https://a.example/"
        let result = try await take(
            row([0: "https://go.example.com/a", 1: link, 15: String(repeating: ";", count: 20)]))
        #expect(result.refusals == [] && result.summary.created == 1)
    }

    @Test func aFieldOfMoreThanAMegabyteIsRefusedOnceAndTheOthersAreTaken() async throws {
        let link = "https://a.example/"
        let long = String(repeating: "x", count: 2_200_000)
        let result = try await take(
            Self.header + row([0: "https://go.example.com/a", 1: link, 15: long])
                + row([0: "https://go.example.com/b", 1: link]))
        #expect(result.refusals.map(\.line) == [2] && result.summary.created == 1, "\(result.refusals.map(\.text))")
        #expect(result.refusals.first?.reason.contains("field 16") == true)
    }
}
