import Foundation
import PushModel
import Signing

/// The app of a benchmark's project on one platform: how it is configured, what answers its pushes, and its devices.
struct PlatformApp {
    let platform: Platform
    /// Where its pushes go, on 127.0.0.1.
    let sinkPort: Int

    init(_ platform: Platform, sinkPort: Int) {
        self.platform = platform
        self.sinkPort = sinkPort
    }

    /// What the project calls it.
    var id: AppID {
        switch platform {
        case .apple: AppID(rawValue: GatewayFiles.app)!
        case .android: AppID(rawValue: "com.example.bench.android")!
        case .web: AppID(rawValue: "bench.example.com")!
        }
    }

    /// The address of device number `number`.
    func address(_ number: Int) -> Address {
        switch platform {
        case .apple: .apple(Audience.deviceToken(number), .production)
        // As long as Google's are.
        case .android:
            .android(
                AndroidToken(
                    rawValue: DevicePath.of(number, prefix: "cBench:APA91b")
                        + DevicePath.of(~number, prefix: ""))!)
        case .web:
            .web(
                WebSubscription(
                    endpoint: DevicePath.of(number, prefix: "https://127.0.0.1:\(sinkPort)/push/"),
                    key: Browser.keys(number).point, secret: Browser.keys(number).secret, applicationKey: nil)!)
        }
    }

    /// Starts what answers its pushes.
    static func sink(
        of platform: Platform, _ scratch: Scratch, cores: String, delay: Duration
    ) throws -> HeraldSink {
        switch platform {
        case .apple, .web: try HeraldSink(scratch, cores: cores, delay: delay)
        case .android:
            try HeraldSink(scratch, cores: cores, streams: googleStreams, delay: delay, answer: googleAnswer)
        }
    }

    /// Streams that Google allows on a connection.
    static let googleStreams = 100
    /// To a push and to the exchange of an assertion alike: each reads its own members.
    private static let googleAnswer =
        #"{"name":"projects/bench/messages/0:1700000000000000%0123456789abcdef","access_token":"\#(accessToken)","#
        + #""expires_in":3600}"#
    /// As long as Google's.
    private static let accessToken = "ya29." + String(repeating: "c", count: 210)
    /// The fields of a request to Google, in h2load's form.
    static let googleFields = ["authorization: Bearer \(accessToken)", "content-type: application/json"]
    /// The path of a request to Google.
    static let googlePath = "/v1/projects/bench/messages:send"

    /// Its block in the project file; makes the files that it names in `folder`.
    func block(in folder: String, trust: String) throws -> String {
        let head = "  - id: \(id.rawValue)\n    platform: \(platform.rawValue)\n"
        switch platform {
        case .apple:
            let key = folder + "/AuthKey_ABC1234567.p8"
            try Self.writeSecret(try ES256PrivateKey.generatedPEM(), to: key)
            return head + """
                    apns:
                      team: TEAM123456
                      key: \(key)
                      environment: production
                      endpoint: 127.0.0.1:\(sinkPort)
                      trust: \(trust)
                """
        case .android:
            let account = folder + "/service-account.json"
            try Self.writeSecret(try serviceAccount(), to: account)
            return head + """
                    fcm:
                      serviceAccount: \(account)
                      endpoint: 127.0.0.1:\(sinkPort)
                      trust: \(trust)
                      maxPerSecond: 0
                """
        case .web:
            let key = folder + "/vapid.pem"
            try Self.writeSecret(try ES256PrivateKey.generatedPEM(), to: key)
            return head + """
                    webPush:
                      subject: mailto:bench@example.com
                      key: \(key)
                      services: [127.0.0.1:\(sinkPort)]
                      trust: \(trust)
                """
        }
    }

    private func serviceAccount() throws -> String {
        let openssl = try Program.find("openssl", package: "openssl")
        let program = try Program(openssl, ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let key = program.waitForOutput()
        guard program.status == 0 else { throw BenchFailure("openssl genpkey failed") }
        let members = [
            "type": "service_account", "project_id": "bench", "private_key_id": "key-1", "private_key": key,
            "client_email": "bench@bench.iam.gserviceaccount.com",
            "token_uri": "https://127.0.0.1:\(sinkPort)/token",
        ]
        return String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
    }

    private static func writeSecret(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}

/// The keys of browsers: a hundred pairs, over and over.
enum Browser {
    private static let points: [[UInt8]] = (0..<100).compactMap { _ in
        // One that fails leaves a pair less.
        try? ES256PrivateKey(pem: ES256PrivateKey.generatedPEM()).publicPoint
    }
    private static let secret = [UInt8](repeating: 7, count: 16)

    /// Those of browser number `number`.
    static func keys(_ number: Int) -> (point: [UInt8], secret: [UInt8]) { (points[number % points.count], secret) }
}
