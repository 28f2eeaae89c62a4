import Foundation

/// An app install as the gateway knows it.
struct Installation: Hashable, Sendable, Codable {
    /// The FID.
    let id: String
    /// Good for other auth tokens, for good.
    let refreshToken: String
    var auth: AuthToken
}

/// What proves for a week that a request is of the installation.
struct AuthToken: Hashable, Sendable, Codable {
    let text: String
    /// By the device's clock, both.
    let obtainedAt: Date
    let expiresAt: Date

    /// An hour before its end it is renewed, so that none ends under way.
    private static let reserve: TimeInterval = 3600

    /// Whether it may be used. A clock that went back behind the token's begin says nothing of its end.
    func isUsable(at now: Date) -> Bool {
        now < expiresAt.addingTimeInterval(-Self.reserve) && now > obtainedAt.addingTimeInterval(-Self.reserve)
    }
}

/// What a registration says of the app.
struct RegistrationFacts: Hashable, Sendable, Codable {
    let apnsToken: Data
    let environment: MessagingAPNSTokenType
    let appVersion: String
}

/// An install that senders reach.
struct AppRegistration: Hashable, Sendable, Codable {
    /// Its name in paths.
    let id: String
    /// The registration token.
    let token: String
    let facts: RegistrationFacts
    /// By the device's clock.
    let refreshedAt: Date

    /// A week: what the gateway has not heard of for long is stale there.
    static let refreshInterval: TimeInterval = 7 * 86_400

    /// Whether it is time to say that the app is still there; also when the clock was ahead at the last time.
    func isDue(at now: Date) -> Bool {
        // Timers may be a little early.
        let due = refreshedAt.addingTimeInterval(Self.refreshInterval - 0.001)
        return now >= due || now < refreshedAt.addingTimeInterval(-86_400)
    }
}

/// A change of who uses the device.
enum UserChange: Hashable, Sendable, Codable {
    /// The user of a custom token that the backend made.
    case token(String)
    /// No user.
    case signedOut

    /// Whether both are of one user: a backend makes another token for the same one at each launch.
    func isSameUser(as other: UserChange) -> Bool {
        switch (self, other) {
        case (.signedOut, .signedOut): true
        case (.token(let one), .token(let two)):
            one == two || (Self.user(of: one).map { $0 == Self.user(of: two) } ?? false)
        case (.signedOut, .token), (.token, .signedOut): false
        }
    }

    /// The `uid` of a custom token, a JWT, which only the gateway verifies; `nil`: it says none.
    private static func user(of token: String) -> String? {
        struct Claims: Decodable { let uid: String }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var text = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        // What can't be read names no user: that is the question here.
        return Data(base64Encoded: text).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }?.uid
    }
}
