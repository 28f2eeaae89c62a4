import Foundation

struct EmptyBody: Encodable {}

/// The body of `installations`.
struct InstallBody: Encodable {
    let appId: String
    let authVersion = "FIS_v2"
    let sdkVersion = MessagingGateway.sdkVersion
}

/// The body of `authTokens:generate`.
struct RenewBody: Encodable {
    struct Installation: Encodable { let sdkVersion = MessagingGateway.sdkVersion }
    let installation = Installation()
}

/// The body of `registrations`.
struct RegisterBody: Encodable {
    struct IOS: Encodable {
        let apnsToken: String
        let bundleId: String
        let apnsEnvironment: String?
        let appVersion: String?
    }

    let ios: IOS
    let fcmSdkVersion = MessagingGateway.sdkVersion
    /// Empty: no user.
    let user: String?
    let userToken: String?

    init(facts: RegistrationFacts, user: UserChange?, app: String) {
        ios = IOS(
            apnsToken: facts.apnsToken.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(),
            bundleId: app, apnsEnvironment: facts.environment.wire,
            appVersion: facts.appVersion.isEmpty ? nil : facts.appVersion)
        switch user {
        case .token(let token): (self.user, userToken) = (nil, token)
        case .signedOut: (self.user, userToken) = ("", nil)
        case nil: (self.user, userToken) = (nil, nil)
        }
    }
}

/// The body of `receipts`.
struct ReceiptsBody: Encodable {
    struct Receipt: Encodable {
        let message: String
        let kind: String
        let time: String
    }

    let receipts: [Receipt]

    init(_ receipts: [MessagingReceipt], clockOffset: TimeInterval) {
        self.receipts = receipts.map {
            Receipt(
                message: $0.message, kind: $0.kind.rawValue,
                time: $0.time.addingTimeInterval(clockOffset).formatted(.iso8601))
        }
    }
}

struct InstallAnswer: Decodable {
    let fid: String
    let refreshToken: String
    let authToken: AuthAnswer
}

struct AuthAnswer: Decodable {
    let token: String
    /// As `604800s`.
    let expiresIn: String

    /// In seconds; one that can't be read is an hour and a half.
    var lifetime: TimeInterval { TimeInterval(expiresIn.prefix { $0 != "s" }) ?? 5400 }
}

struct RegisterAnswer: Decodable {
    /// `projects/<project>/registrations/<fid>`.
    let name: String
    let token: String
}

/// `{"error": {"message", "details": [{"@type", "reason"}]}}`.
struct ErrorEnvelope: Decodable {
    struct Detail: Decodable {
        let type: String?
        let reason: String?

        enum CodingKeys: String, CodingKey {
            case type = "@type"
            case reason
        }
    }
    struct Status: Decodable {
        let message: String?
        let details: [Detail]?

        /// The gateway's own, which no proxy has.
        var reason: String? { details?.last { $0.type?.hasSuffix("/herald.v1.ErrorInfo") ?? false }?.reason }
    }

    let error: Status
}

/// A time as header fields have it (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
struct HTTPDate {
    let date: Date

    init?(text: String) {
        let parts = text.split { $0 == " " || $0 == ":" || $0 == "," }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard parts.count == 8, parts[7] == "GMT", let month = months.firstIndex(of: String(parts[2])),
            let day = Int(parts[1]), let year = Int(parts[3]), let hour = Int(parts[4]), let minute = Int(parts[5]),
            let second = Int(parts[6])
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parsed = calendar.date(
            from: DateComponents(
                year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second))
        guard let parsed else { return nil }
        date = parsed
    }
}
