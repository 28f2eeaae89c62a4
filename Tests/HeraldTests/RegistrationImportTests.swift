import Crypto
import Foundation
import JSON
import Logging
import PushModel
import SQLStorage
import SQLiteStorage
import Store
import TestSupport
import Testing

@testable import herald

/// Files of registrations in and out.
@Suite(.timeLimit(.minutes(5)))
struct RegistrationImportTests {
    private static let project = ProjectID(rawValue: "demo")!
    private static let apps: [AppID: PushEnvironment] = [
        AppID(rawValue: "com.example.app")!: .production, AppID(rawValue: "com.example.dev")!: .sandbox,
    ]
    private static let webApps: [AppID: App] = [
        AppID(rawValue: "www.example.com")!: App(
            web: AppID(rawValue: "www.example.com")!, service: BrowserService(publicKeys: [point])),
        AppID(rawValue: "open.example.com")!: App(web: AppID(rawValue: "open.example.com")!),
    ]
    private static let androidApps: Set<AppID> = [AppID(rawValue: "com.example.android")!]
    /// A point of P-256.
    private static let point = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
    private let directory: TestDirectory

    init() throws {
        directory = try TestDirectory()
    }

    /// Hex digits of a device token with `digits` at its end.
    private static func token(_ digits: String) -> String {
        String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// A store of its own, open.
    private func store(_ name: String) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.file(name), role: .gateway, logger: Logger(label: "test"))
    }

    /// Imports `text`; the rejects come back by line.
    private func take(
        _ text: [UInt8], _ format: RegistrationFormat, _ store: SQLiteStore, continues: Bool = false,
        from position: ImportPosition? = nil
    ) async throws -> (summary: RegistrationImport.Summary, rejects: [Int64: LineProblem]) {
        let path = directory.file(UUID().uuidString)
        try Data(text).write(to: URL(filePath: path))
        let handle = try FileHandle(forReadingFrom: URL(filePath: path))
        var lines = try RegistrationLines(handle)
        let header = format == .csv ? try lines.next(1).first : nil
        let decoder = try RegistrationDecoder(
            format, apps: Self.apps, webApps: Self.webApps, androidApps: Self.androidApps, header: header)
        if let position {
            #expect(position.fingerprint == lines.fingerprint)
            #expect(try lines.skip(to: position.offset, line: position.line))
        }
        var rejects: [Int64: LineProblem] = [:]
        let job = RegistrationImport(
            store: store, project: Self.project, decoder: decoder, source: "file", skipsUnreadable: continues,
            reject: { rejects[$0.record.line] = $0.problem }, progress: { _, _ in }, now: Timestamp(milliseconds: 777))
        let summary = try await job.run(&lines, from: RegistrationImport.Summary())
        return (summary, rejects)
    }

    private func exported(_ format: RegistrationFormat, _ store: SQLiteStore) async throws -> [UInt8] {
        let encoder = RegistrationEncoder(format: format)
        var bytes = Array(encoder.header.utf8)
        var key = RegistrationKey(rawValue: 0)
        while true {
            let page = try await store.exportRegistrations(of: Self.project, after: key, limit: 7)
            for row in page.rows { encoder.append(row, to: &bytes) }
            key = page.last
            if page.isLast { return bytes }
        }
    }

    /// Registrations with everything that may stand in a column.
    private static func rows(_ count: Int) -> [ImportedRegistration] {
        var random = SeededRandom(seed: 4)
        let users = ["alice", "Grüße, \"x\"", "a b", ",", "\"", "\u{1F44B}\u{200D}", "o'hara;--"]
        return (0..<count).map { number in
            var row = ImportedRegistration(
                app: apps.keys.sorted { $0.rawValue < $1.rawValue }[number % 2],
                address: .apple(
                    DeviceToken(bytes: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) })!,
                    .allCases.randomElement(using: &random)!))
            if Bool.random(using: &random) { row.user = UserID(rawValue: users.randomElement(using: &random)!) }
            if Bool.random(using: &random) {
                row.appVersion = ["1.2 (3)", "a,b", "\"2\""].randomElement(using: &random)
            }
            row.createdAt = Timestamp(milliseconds: .random(in: 0...2_000_000_000_000, using: &random))
            row.refreshedAt = row.createdAt! + .milliseconds(Int.random(in: 0...9_999_999, using: &random))
            if Bool.random(using: &random) { row.provenAt = row.refreshedAt }
            if number % 9 == 0 {
                row.quarantine = Quarantine(time: row.refreshedAt!, reason: Reason(rawValue: "BadDeviceToken"))
            }
            for name in ["news", "a.b", "~%-_"].prefix(Int.random(in: 0...3, using: &random)) {
                let since = Bool.random(using: &random) ? nil : row.refreshedAt! + .milliseconds(5)
                row.topics.append(ImportedTopic(Topic(rawValue: name)!, createdAt: since))
            }
            return row
        }
    }

    @Test(arguments: RegistrationFormat.allCases)
    func whatIsExportedImportsToTheSame(format: RegistrationFormat) async throws {
        let first = try store("first")
        let rows = Self.rows(100)
        var bytes = Array(RegistrationEncoder(format: format).header.utf8)
        for row in rows { RegistrationEncoder(format: format).append(row, to: &bytes) }
        #expect(try await take(bytes, format, first).summary == .init(imported: 100))
        let file = try await exported(format, first)
        let second = try store("second")
        #expect(try await take(file, format, second).summary == .init(imported: 100))
        #expect(try await exported(format, second) == file)
        for other in RegistrationFormat.allCases {
            #expect(try await exported(other, second) == exported(other, first))
        }
        let kept = try await second.exportRegistrations(
            of: Self.project, after: RegistrationKey(rawValue: 0), limit: 999)
        // They come in the order of their FIDs, which are random.
        let given = Dictionary(uniqueKeysWithValues: rows.map { ($0.address, $0) })
        #expect(kept.rows.count == rows.count)
        for row in kept.rows {
            var row = row
            row.id = nil
            row.token = nil
            #expect(row == given[row.address])
        }
        // Once more: nothing is new.
        #expect(try await take(file, format, second).summary == .init(imported: 100))
        #expect(try await exported(format, second) == file)
        #expect(try await second.check() == [])
    }

    /// The lines of the article that make an import of OneSignal's export, as they stand there.
    @Test(.enabled { try await ChildProcess.run("/usr/bin/env", ["python3", "-c", ""]).status == 0 })
    func theArticlesLinesReadAnExportOfOneSignal() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let article = try String(
            contentsOf: root.appending(path: "Sources/herald/herald.docc/FromWebPush.md"), encoding: .utf8)
        let lines = try #require(
            article.components(separatedBy: "```python\n").last?.components(separatedBy: "```").first)
        let (script, users) = (directory.file("onesignal.py"), directory.file("users.csv"))
        try Data(lines.utf8).write(to: URL(filePath: script))
        let key = Base64URL.text(Self.point)
        let auth = Base64URL.text(Array(repeating: 7, count: 16))
        let web = "https://updates.push.services.mozilla.com/wpush/v2/one"
        let rows = [
            "id,identifier,device_type,tags,invalid_identifier,external_user_id,web_auth,web_p256",
            #"1,\#(Self.token("aa")),0,"{""news"":""1"",""level"":""7""}",f,alice,,"#,
            "2,device-0001:APA91bExample,1,,f,,,",
            #"3,\#(web),8,"{""news"":""true"",""no topic"":""1""}",f,bob,\#(auth),\#(key)"#,
            "4,\(Self.token("bb")),0,{},t,,,",
            "5,someone@example.com,11,{},f,,,",
        ]
        try Data(rows.joined(separator: "\n").utf8).write(to: URL(filePath: users))
        let made = try await ChildProcess.run("/usr/bin/env", ["python3", script, users])
        #expect(made.status == 0 && made.lines.count == 3, "\(made.lines)")
        let store = try store("onesignal")
        let taken = try await take(Array(made.lines.joined(separator: "\n").utf8), .ndjson, store)
        #expect(taken.summary == .init(imported: 3) && taken.rejects.isEmpty, "\(taken.rejects)")
        let kept = try await store.exportRegistrations(
            of: Self.project, after: RegistrationKey(rawValue: 0), limit: 9
        ).rows
        let byPlatform = Dictionary(uniqueKeysWithValues: kept.map { ($0.address.platform, $0) })
        let apple = try #require(byPlatform[.apple])
        #expect(apple.user?.rawValue == "alice" && apple.topics.map(\.topic.rawValue) == ["news"])
        #expect(byPlatform[.android]?.address.androidToken?.rawValue == "device-0001:APA91bExample")
        let browser = try #require(byPlatform[.web])
        #expect(browser.address.webSubscription?.endpoint == web && browser.topics.map(\.topic.rawValue) == ["news"])
        #expect(browser.address.webSubscription?.key == Self.point && browser.user?.rawValue == "bob")
    }

    @Test(arguments: [
        (#"{"app":"com.example.app"}"#, "device_token"),
        (#"{"device_token":"\#(token("00"))"}"#, "app"),
        (#"{"app":"com.unknown","device_token":"\#(token("00"))"}"#, "app"),
        (#"{"app":"com.example.app","device_token":"0"}"#, "device_token"),
        (#"{"app":"com.example.app","device_token":7}"#, "device_token"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","user":"a\nb"}"#, "user"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","fid":"x"}"#, "fid"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","fid":"channel-AAAAAAAAAAAAAA"}"#, "fid"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","token":"x"}"#, "token"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","environment":"test"}"#, "environment"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","topics":["a b"]}"#, "topics"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","topics":["a@yesterday"]}"#, "topics"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","topics":[1]}"#, "topics"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","created_at":"yesterday"}"#, "created_at"),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","quarantine_reason":"X"}"#, "quarantined_at"),
        (
            #"{"app":"com.example.app","device_token":"\#(token("00"))","quarantined_at":"2026-01-01T00:00:00Z"}"#,
            "quarantine_reason"
        ),
        (#"{"app":"com.example.app","device_token":"\#(token("00"))","tokne":"x"}"#, "tokne"),
        (
            #"{"app":"com.example.app","device_token":"\#(token("00"))","fid":"cAAAAAAAAAAAAAAAAAAAAA","token":"cBAAAAAAAAAAAAAAAAAAAA:APA91b_x1"}"#,
            "token"
        ),
        (#"[]"#, nil), (#"{"app":"#, nil), ("\u{0}", nil),
    ])
    func aWrongLineIsToldByLineColumnAndReason(line: String, column: String?) async throws {
        let store = try store("store")
        let good = #"{"app":"com.example.app","device_token":"\#(Self.token("0011"))"}"#
        let text = Array("\(good)\n\n\(line)\n".utf8)
        let failure = await #expect(throws: Failure.self) { _ = try await take(text, .ndjson, store) }
        let place = column.map { "line 3, column \($0): " } ?? "line 3: "
        #expect(failure?.message.hasPrefix(place) == true, "\(failure?.message ?? "")")
        #expect(
            try await store.exportRegistrations(of: Self.project, after: RegistrationKey(rawValue: 0), limit: 9).rows
                == [])

        let (summary, rejects) = try await take(text, .ndjson, store, continues: true)
        #expect(summary == .init(imported: 1, rejected: 1))
        #expect(rejects.keys.sorted() == [3] && rejects[3]?.column == column)
    }

    /// A registration that can't be taken ends no import, also without `--continue-on-error`: an app install that takes a
    /// FID must not keep others out.
    @Test func registrationsThatCannotBeTakenAreRejectedAndTheOthersTaken() async throws {
        let store = try store("store")
        let taken = try await store.install(
            NewInstallation(
                project: Self.project, id: RegistrationID(rawValue: "dAAAAAAAAAAAAAAAAAAAAA"), app: "1:1:ios:a",
                sdkVersion: nil, refreshDigest: Array(repeating: 1, count: 32),
                token: InstallationToken(
                    digest: Array(repeating: 2, count: 32), expiresAt: Timestamp(milliseconds: 1))),
            at: Timestamp(milliseconds: 1))
        let text = """
            {"app":"com.example.app","device_token":"\(Self.token("01"))"}
            {"app":"com.example.app","device_token":"\(Self.token("02"))","fid":"\(taken)"}
            {"app":"com.example.app","device_token":"\(Self.token("03").dropFirst(2))"}
            {"app":"com.example.app","device_token":"\(Self.token("04"))"}
            """
        let (summary, rejects) = try await take(Array(text.utf8), .ndjson, store)
        #expect(summary == .init(imported: 2, rejected: 2))
        #expect(rejects.mapValues(\.column) == [2: "fid", 3: "device_token"])
        #expect(rejects[3]?.reason == "must be an even number of hex digits, 64 to 4096")
        let kept = try await store.exportRegistrations(of: Self.project, after: RegistrationKey(rawValue: 0), limit: 9)
        #expect(Set(kept.rows.map(\.address.deviceToken?.hex)) == [Self.token("01"), Self.token("04")])
    }

    /// What a spreadsheet would run as a formula has an apostrophe in front in CSV, and comes back without it.
    @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "''-x", "'quoted'", "o'hara", "a=b"])
    func noCellOfARegistrationIsAFormula(text: String) async throws {
        var row = Self.rows(1)[0]
        row.user = UserID(rawValue: text)
        row.appVersion = text
        row.topics = []
        row.token = RegistrationToken(rawValue: "-k3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1")
        var bytes = Array(RegistrationEncoder(format: .csv).header.utf8)
        RegistrationEncoder(format: .csv).append(row, to: &bytes)
        let cells = try CSVFields(ArraySlice(bytes).split(separator: 0x0a)[1].dropLast()).fields
        #expect(cells.allSatisfy { !"=+-@\t\r".utf8.contains($0.utf8.first ?? 0) }, "\(cells)")
        let store = try store("store")
        #expect(try await take(bytes, .csv, store).summary == .init(imported: 1))
        let kept = try await store.exportRegistrations(of: Self.project, after: RegistrationKey(rawValue: 0), limit: 9)
        #expect(kept.rows.map(\.user) == [row.user] && kept.rows.map(\.appVersion) == [text])
        #expect(kept.rows.map(\.token) == [row.token])
    }

    /// Lists of other Web Push senders come in as they are, and go out with the key that each was made with.
    @Test(arguments: RegistrationFormat.allCases)
    func subscriptionsOfBrowsersComeInAndGoOut(format: RegistrationFormat) async throws {
        let endpoint = "https://fcm.googleapis.com/fcm/send/a"
        var row = ImportedRegistration(
            app: try #require(AppID(rawValue: "www.example.com")),
            address: .web(
                try #require(
                    WebSubscription(
                        endpoint: endpoint, key: Self.point, secret: [UInt8](repeating: 7, count: 16),
                        applicationKey: nil))))
        row.topics = [ImportedTopic(try #require(Topic(rawValue: "news")))]
        var bytes = Array(RegistrationEncoder(format: format).header.utf8)
        RegistrationEncoder(format: format).append(row, to: &bytes)
        let first = try store("first")
        #expect(try await take(bytes, format, first).summary == .init(imported: 1))
        let kept = try await first.exportRegistrations(of: Self.project, after: RegistrationKey(rawValue: 0), limit: 9)
        let subscription = try #require(kept.rows.first?.address.webSubscription)
        #expect(subscription.endpoint == endpoint && subscription.applicationKey == Self.point)
        #expect(kept.rows.first?.topics.map(\.topic.rawValue) == ["news"])
        let second = try store("second")
        let file = try await exported(format, first)
        #expect(try await take(file, format, second).summary == .init(imported: 1))
        #expect(try await exported(format, second) == file)
    }

    @Test(arguments: RegistrationFormat.allCases)
    func tokensOfGoogleComeInAndGoOut(format: RegistrationFormat) async throws {
        let app = try #require(AppID(rawValue: "com.example.android"))
        var bytes = Array(RegistrationEncoder(format: format).header.utf8)
        let addresses: [Address] = [
            .android(try #require(AndroidToken(rawValue: "device-0001:APA91bExample"))),
            .relayed(try #require(AndroidToken(rawValue: "device-0002:APA91bExample"))),
        ]
        for address in addresses {
            var row = ImportedRegistration(app: app, address: address)
            row.topics = [ImportedTopic(try #require(Topic(rawValue: "news")))]
            RegistrationEncoder(format: format).append(row, to: &bytes)
        }
        if format == .ndjson {
            // As lists of other senders have them.
            let line =
                #"{"fcm_token":"device-0003:APA91bExample","app":"com.example.android","topics":["news"]}"# + "\n"
            bytes += Array(line.utf8)
        }
        let first = try store("first")
        let count: Int64 = format == .ndjson ? 3 : 2
        #expect(try await take(bytes, format, first).summary == .init(imported: count))
        let kept = try await first.exportRegistrations(of: Self.project, after: RegistrationKey(rawValue: 0), limit: 9)
        #expect(Set(kept.rows.map(\.address)).isSuperset(of: addresses) && kept.rows.count == Int(count))
        #expect(kept.rows.allSatisfy { $0.topics.map(\.topic.rawValue) == ["news"] })
        let second = try store("second")
        let file = try await exported(format, first)
        let taken = try await take(file, format, second)
        #expect(taken.summary == .init(imported: count), "\(taken.rejects)")
        #expect(try await exported(format, second) == file)
    }

    @Test func aWrongTokenOfGoogleNamesItsColumn() async throws {
        let lines = [
            (#"{"fcm_token":"a b","app":"com.example.android"}"#, "fcm_token"),
            (#"{"fcm_token":"device-0001:APA91b","app":"com.example.app"}"#, "app"),
            (#"{"relayed":"true","app":"com.example.android"}"#, "fcm_token"),
            (#"{"fcm_token":"device-0001:APA91b","relayed":"yes","app":"com.example.android"}"#, "relayed"),
            (#"{"fcm_token":"device-0001:APA91b","device_token":"00","app":"com.example.android"}"#, "device_token"),
        ]
        let text = lines.map(\.0).joined(separator: "\n") + "\n"
        let taken = try await take(Array(text.utf8), .ndjson, store("first"), continues: true)
        #expect(taken.summary.imported == 0)
        for (place, line) in lines.enumerated() { #expect(taken.rejects[Int64(place + 1)]?.column == line.1) }
    }

    @Test func aWrongSubscriptionNamesItsColumn() async throws {
        let point = Base64URL.text(Self.point)
        let auth = Base64URL.text([UInt8](repeating: 7, count: 16))
        let good = #""endpoint":"https://fcm.googleapis.com/x","p256dh":"\#(point)","auth":"\#(auth)""#
        let lines: [(String, String?)] = [
            (#"{"app":"www.example.com",\#(good)}"#, nil),
            (
                #"{"app":"open.example.com","endpoint":"https://push.example.com/x","p256dh":"\#(point)=","auth":"\#(auth)"}"#,
                nil
            ),
            (#"{"app":"com.example.app",\#(good)}"#, "app"),
            (#"{"app":"www.example.com","device_token":"\#(Self.token("1"))",\#(good)}"#, "device_token"),
            (#"{"app":"www.example.com","endpoint":"https://fcm.googleapis.com/x","p256dh":"\#(point)"}"#, "auth"),
            (
                #"{"app":"www.example.com","endpoint":"https://fcm.googleapis.com/y","p256dh":"\#(point)","auth":"AAAA"}"#,
                "auth"
            ),
            (
                #"{"app":"www.example.com","endpoint":"https://push.example.com/x","p256dh":"\#(point)","auth":"\#(auth)"}"#,
                "endpoint"
            ),
            (
                #"{"app":"www.example.com","endpoint":"https://fcm.googleapis.com/y","p256dh":"\#(Base64URL.text([4] + [UInt8](repeating: 1, count: 64)))","auth":"\#(auth)"}"#,
                "p256dh"
            ),
        ]
        let (summary, rejects) = try await take(
            Array(lines.map { $0.0 + "\n" }.joined().utf8), .ndjson, try store("store"), continues: true)
        #expect(summary.imported == 2)
        for (index, line) in lines.enumerated() {
            #expect(
                rejects[Int64(index + 1)]?.column == line.1, "\(line) \(String(describing: rejects[Int64(index + 1)]))")
        }
    }

    @Test(arguments: RegistrationFormat.allCases)
    func bytesFlippedAtRandomSpoilTheirLinesOnly(format: RegistrationFormat) async throws {
        var random = SeededRandom(seed: 11)
        let encoder = RegistrationEncoder(format: format)
        let rows = Self.rows(300)
        var lines = rows.map { row in
            var bytes: [UInt8] = []
            encoder.append(row, to: &bytes)
            return bytes
        }
        var spoiled: Set<Int> = []
        for _ in 0..<60 {
            let index = Int.random(in: 0..<lines.count, using: &random)
            let place = Int.random(in: 0..<lines[index].count - 2, using: &random)
            var byte = UInt8.random(in: 0...255, using: &random)
            if byte == 0x0a { byte = 0xff }
            lines[index][place] = byte
            spoiled.insert(index)
        }
        let store = try store("store")
        let text = Array(encoder.header.utf8) + lines.flatMap { $0 }
        let (summary, rejects) = try await take(text, format, store, continues: true)
        #expect(summary.imported + summary.rejected == 300 && summary.rejected == Int64(rejects.count))
        #expect(summary.rejected > 0)
        let first = format == .csv ? 2 : 1
        #expect(rejects.keys.allSatisfy { spoiled.contains(Int($0) - first) }, "\(rejects)")
        #expect(rejects.values.allSatisfy { !$0.reason.isEmpty })
        let kept = Set(
            try await store.exportRegistrations(of: Self.project, after: RegistrationKey(rawValue: 0), limit: 999).rows
                .map(\.address))
        for (index, row) in rows.enumerated() where !spoiled.contains(index) {
            #expect(kept.contains(row.address))
        }
        #expect(try await store.check() == [])
    }

    @Test func anImportThatWasBrokenOffGoesOnBehindItsLastChunk() async throws {
        let store = try store("store")
        let lines = (0..<12_000).map {
            #"{"app":"com.example.app","device_token":"\#(Self.token(String(0x10000 + $0, radix: 16)))"}"#
        }
        var broken = lines
        broken[11_000] = #"{"app":"com.example.app","device_token":"zz"}"#
        let first = await #expect(throws: Failure.self) {
            _ = try await take(Array(broken.joined(separator: "\n").utf8), .ndjson, store)
        }
        #expect(first?.message.contains("line 11001, column device_token") == true)
        let position = try #require(try await store.importPosition(of: "file"))
        #expect(position.line < 11_001 && position.imported == position.line)
        let project = Self.project
        let count = { try await store.activeRegistrations(of: project, after: RegistrationKey(rawValue: 0)) }
        #expect(try await count() == Int(position.imported))
        // The line is mended: what stands before is not read again, so it may be anything.
        var mended = lines
        mended[Int(position.line) - 1] = String(repeating: "x", count: mended[Int(position.line) - 1].utf8.count)
        let summary = try await take(
            Array(mended.joined(separator: "\n").utf8), .ndjson, store, from: position
        ).summary
        #expect(summary.imported == 12_000 - position.imported)
        #expect(try await count() == 12_000)
    }

    @Test func linesAreCutWhereverBlocksEnd() throws {
        let long = String(repeating: "y", count: 3 << 20)
        let path = directory.file("lines")
        try Data("a\r\n\(long)\n\n \nb".utf8).write(to: URL(filePath: path))
        var lines = try RegistrationLines(FileHandle(forReadingFrom: URL(filePath: path)))
        var found: [RegistrationRecord] = []
        while let record = try lines.next(1).first { found.append(record) }
        #expect(found.map(\.line) == [1, 2, 5])
        #expect(found.map { String(decoding: $0.bytes, as: UTF8.self) } == ["a", long, "b"])
        #expect(found.last?.end == Int64("a\r\n\(long)\n\n \nb".utf8.count))
    }

    /// The gateway's lock makes the chunks small, so that the kill comes in the middle.
    @Test func anImportThatWasKilledIsRunAgain() async throws {
        try await GatewayUnderTest.with { test in
            let total = 20_000
            let input = test.directory.file("in.ndjson")
            let lines = (0..<total).map {
                #"{"app":"com.example.app","device_token":"\#(Self.token(String(0x100000 + $0, radix: 16)))","topics":["news"]}"#
            }
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: input))
            let store = try SQLiteStore(
                directory: test.directory.file("data"), role: .gateway, logger: Logger(label: "test"))
            let count = {
                try await store.activeRegistrations(of: Self.project, after: RegistrationKey(rawValue: 0))
            }
            let arguments = ["registration", "import", input, "--project", "demo", "--config", test.configuration]
            let killed = try ChildProcess(
                try GatewayProcess.executable(), arguments, environment: GatewayProcess.environment(with: [:]))
            // Another process writes: no signal comes from there.
            while try await count() == 0 { try await Task.sleep(for: .milliseconds(2)) }
            killed.signal(SIGKILL)
            #expect(await killed.status() == -SIGKILL)
            let taken = try await count()
            #expect(taken > 0 && taken < total)
            #expect(try await store.check() == [])

            let again = try await GatewayProcess.run(arguments)
            #expect(again.lines == ["\(total) registrations imported, 0 rejected"] && again.status == 0)
            #expect(try await count() == total)
            #expect(try await store.audience(of: .topic(Topic(rawValue: "news")!), in: Self.project) == total)
            #expect(try await store.check() == [])
            try store.close()
        }
    }

    @Test func aBatchOfLinesEndsWithItsBytes() throws {
        let path = directory.file("lines")
        try Data("aaaa\nbbbb\ncccc\n".utf8).write(to: URL(filePath: path))
        var lines = try RegistrationLines(FileHandle(forReadingFrom: URL(filePath: path)))
        #expect(try lines.next(9, bytes: 6).map(\.line) == [1, 2])
        #expect(try lines.next(9, bytes: 1).map(\.line) == [3])
        #expect(try lines.next(9, bytes: 1).isEmpty)
    }

    @Test func theCommandsWorkBesideARunningGateway() async throws {
        try await GatewayUnderTest.with { test in
            let process = try await test.start()
            let input = test.directory.file("in.csv")
            let rows = (0..<50).map {
                "\(Self.token(String(0x1000 + $0, radix: 16))),com.example.app,user\($0 % 5),news"
            }
            try Data((["device_token,app,user,topics"] + rows).joined(separator: "\n").utf8).write(
                to: URL(filePath: input))
            let config = test.configuration
            let first = try await GatewayProcess.run(
                ["registration", "import", input, "--project", "demo", "--config", config])
            #expect(first.status == 0 && first.lines == ["50 registrations imported, 0 rejected"], "\(first.lines)")

            let out = test.directory.file("out.ndjson")
            let export = try await GatewayProcess.run(
                ["registration", "export", out, "--project", "demo", "--config", config])
            #expect(export.status == 0, "\(export.lines)")
            let lines = try String(contentsOf: URL(filePath: out), encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 50 && lines.allSatisfy { $0.contains(#""topics":["news"#) })
            let again = try await GatewayProcess.run(
                ["registration", "import", out, "--project", "demo", "--config", config])
            #expect(again.status == 0, "\(again.lines)")

            let environment = [
                "HERALD_GATEWAY": process.baseURL, "HERALD_KEY": test.keys.admin, "HERALD_PROJECT": "demo",
            ]
            let list = try await GatewayProcess.run(
                ["registration", "list", "--user", "user3"], environment: environment)
            #expect(list.status == 0 && list.lines.count == 11, "\(list.lines)")
            let topics = try await GatewayProcess.run(["topic", "list", "--prefix", "ne"], environment: environment)
            #expect(topics.lines == ["TOPIC  REGISTRATIONS", "news   50"])
            let members = try await GatewayProcess.run(
                ["topic", "members", "news", "--limit", "7"], environment: environment)
            #expect(members.status == 0 && members.lines.count == 8, "\(members.lines)")
            #expect(members.lines.first?.split(separator: " ") == ["FID", "APP", "USER", "SUBSCRIBED"])
            let unknown = try await GatewayProcess.run(["topic", "members", "gone"], environment: environment)
            #expect(unknown.status != 0)
            let resumed = try await GatewayProcess.run(
                ["registration", "import", input, "--project", "demo", "--resume", "--config", config])
            #expect(resumed.status == 64 && resumed.lines.first?.contains("leave --resume out") == true)
            #expect(await process.end(with: SIGTERM) == 0)
        }
    }
}
