import Foundation
import TestSupport
import Testing

@testable import HeraldMessaging

/// Options, apps, the environment of APNs, and files.
@Suite(.timeLimit(.minutes(1)))
struct ConfigurationTests {
    /// A provisioning profile: a property list between bytes of a signature.
    private static func profile(_ entitlement: String) -> Data {
        let list = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict><key>Name</key><string>Sample</string>
            <key>Entitlements</key><dict><key>application-identifier</key><string>T.com.example.app</string>\(entitlement)</dict>
            </dict></plist>
            """
        return Data([0x30, 0x82, 0xff, 0x00]) + Data(list.utf8) + Data([0xa0, 0x82, 0x00])
    }

    @Test(
        "the provisioning profile says the environment",
        arguments: [
            ("<key>aps-environment</key><string>development</string>", .sandbox),
            ("<key>aps-environment</key><string>production</string>", .prod),
            ("<key>com.apple.developer.aps-environment</key><string>development</string>", .sandbox),
            ("", .unknown),
        ] as [(String, MessagingAPNSTokenType)])
    func detected(entitlement: String, environment: MessagingAPNSTokenType) {
        #expect(MessagingAPNSTokenType.detected(inProfile: Self.profile(entitlement)) == environment)
    }

    @Test("without a profile an app is from the store; one that can't be read says nothing")
    func withoutProfile() {
        #expect(MessagingAPNSTokenType.detected(inProfile: nil) == .prod)
        #expect(MessagingAPNSTokenType.detected(inProfile: Data("<?xml".utf8)) == .unknown)
    }

    @Test("a property list has the options; without what must be there it has none")
    func propertyList() throws {
        let directory = try TestDirectory()
        let file = directory.file("Herald-Info.plist")
        var list: [String: Any] = [
            "BaseURL": "https://push.example.com", "Project": "demo", "ClientKey": "hk_1", "AppID": "com.example.app",
            "SenderID": "123", "Environment": "sandbox", "AppGroup": "group.com.example", "AutoInitEnabled": false,
            "ReceiptReportingEnabled": false, "InstallationIdEnabled": true,
        ]
        try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0).write(
            to: URL(filePath: file))
        let options = try #require(HeraldOptions(contentsOfFile: file))
        #expect(options == HeraldOptions(propertyList: list))
        #expect(options.baseURL.absoluteString == "https://push.example.com" && options.environment == .sandbox)
        #expect(!options.isAutoInitEnabled && !options.isReceiptReportingEnabled && options.isInstallationIdEnabled)
        #expect(options.appGroup == "group.com.example" && options.senderID == "123")
        for key in ["BaseURL", "Project", "ClientKey"] {
            var other = list
            other[key] = nil
            #expect(HeraldOptions(propertyList: other) == nil, "\(key)")
        }
        list["BaseURL"] = "push.example.com"
        #expect(HeraldOptions(propertyList: list) == nil)
        #expect(HeraldOptions(propertyList: nil) == nil && HeraldOptions(contentsOfFile: file + "x") == nil)
    }

    @Test(
        "versions of an app",
        arguments: [("1.2", "45", "1.2 (45)"), ("1.2", nil, "1.2"), (nil, "45", "45"), (nil, nil, "")])
    func versions(version: String?, build: String?, text: String) {
        var information: [String: Any] = [:]
        information["CFBundleShortVersionString"] = version
        information["CFBundleVersion"] = build
        #expect(HeraldOptions.version(in: information) == text)
    }

    @Test("each app has an install of its own, and the first of a name stays")
    func apps() async throws {
        let gateway = PlayedGateway()
        let names = ["one-\(UUID().uuidString)", "two-\(UUID().uuidString)"]
        for name in names + [names[0]] {
            HeraldApp.configure(name: name, options: try .sample(), transport: gateway, storage: MemoryStorage())
        }
        for name in names {
            let app = try #require(HeraldApp.app(name: name))
            let messaging = Messaging.messaging(app: app)
            messaging.setAPNSToken(Data([1]), type: .prod)
            _ = try await messaging.token()
        }
        #expect(gateway.lines.count { $0.hasSuffix("/installations") } == 2)
        #expect(gateway.requests.last?.body.contains(#""apnsEnvironment":"PROD""#) == true)
        #expect(HeraldApp.app(name: "none") == nil)
    }

    @Test("without an app each call says what to do")
    @MainActor
    func withoutApp() async {
        let messaging = Messaging.messaging()
        #expect(HeraldApp.app() == nil && messaging.fcmToken == nil && !messaging.isAutoInitEnabled)
        let error = await #expect(throws: MessagingError.self) { try await messaging.token() }
        #expect(error?.message.contains("HeraldApp.configure") == true)
        await messaging.flush()
    }

    @Test("files of another app, project or name lie elsewhere, and nowhere above")
    func places() throws {
        var options = try HeraldOptions.sample()
        var paths = [FileMessagingStorage.path("default", options), FileMessagingStorage.path("second", options)]
        #expect(paths[0] == "HeraldMessaging/demo/com.example.app/default")
        options.appID = "com.example.other"
        paths.append(FileMessagingStorage.path("default", options))
        options.project = "other"
        paths.append(FileMessagingStorage.path("default", options))
        options.appID = "../.."
        paths.append(FileMessagingStorage.path("default", options))
        options.appID = ""
        paths.append(FileMessagingStorage.path("default", options))
        #expect(Set(paths).count == paths.count)
        #expect(paths.allSatisfy { path in path.split(separator: "/").count == 4 && !path.contains("/.") })
        #expect(
            FileMessagingStorage(name: "default", options: options).directory.path.hasSuffix("/" + (paths.last ?? "")))
    }

    @Test(
        "an extension is of the app that it lies in",
        arguments: [
            ("/a/App.app/PlugIns/Push.appex", "com.example.app.push", "com.example.app"),
            ("/Applications/App.app/Contents/PlugIns/Push.appex", "com.example.app.push", "com.example.app"),
            ("/a/Other.app/PlugIns/Push.appex", "com.example.other.push", "com.example.other"),
            ("/a/Push.appex", "com.example.other.push", "com.example.other"), ("/a/Push.appex", nil, ""),
            ("/a/App.app", "com.example.app", "com.example.app"), ("/usr/bin", nil, ""),
        ] as [(String, String?, String)])
    func extensions(path: String, identifier: String?, appID: String) {
        let found = HeraldOptions.appID(of: URL(filePath: path), identifier: identifier) { url in
            url.lastPathComponent == "App.app" ? "com.example.app" : nil
        }
        #expect(found == appID)
    }

    @Test("files are replaced, receipts lie beside them and go one by one")
    func files() throws {
        let directory = try TestDirectory()
        let storage = FileMessagingStorage(directory: URL(filePath: directory.file("app")))
        #expect(try storage.read() == nil && storage.laidReceipts().isEmpty)
        try storage.write(Data("1".utf8))
        try storage.write(Data("2".utf8))
        #expect(try storage.read() == Data("2".utf8))
        let attributes = try FileManager.default.attributesOfItem(
            atPath: storage.directory.appending(path: "state.json").path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let names = ["0:1%2/..", "0:1%2"].map {
            MessagingReceipt(message: $0, kind: .received, time: Date(timeIntervalSince1970: 0)).fileName
        }
        #expect(Set(names).count == 2 && names.allSatisfy { !$0.contains("/") })
        for name in names { try storage.lay(Data(name.utf8), named: name) }
        #expect(try storage.laidReceipts().count == 2)
        try storage.removeReceipt(named: names[0])
        try storage.removeReceipt(named: names[0])
        #expect(try storage.laidReceipts() == [names[1]: Data(names[1].utf8)])
    }

    @Test(
        "times of header fields",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sun, 06 Nov 1994 08:49:37 UTC", nil), ("", nil),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nil),
        ] as [(String, Double?)])
    func dates(text: String, time: Double?) {
        #expect(HTTPDate(text: text)?.date.timeIntervalSince1970 == time)
    }

    @Test("errors are those of Firebase's domain")
    func errors() {
        let error = MessagingError(.invalidTopicName, "no", reason: "R") as NSError
        #expect(error.domain == MessagingErrorDomain && error.code == 8)
        #expect(error.localizedDescription == "no" && error.userInfo["reason"] as? String == "R")
    }
}
