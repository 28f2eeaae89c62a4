import Crypto
import Foundation
import JSON
import PushModel
import Store
import Synchronization

/// A sign-in at a provider that a browser has begun. The browser keeps it, sealed, in a cookie: so only this browser can end
/// it, and strangers who begin many take no room.
struct SignInAttempt: Hashable, Sendable {
    /// How long it may take.
    static let lifetime: Duration = .seconds(600)

    /// Comes back in the provider's answer.
    var state = SessionSecret.random()
    /// Comes back in the ID token.
    var nonce = SessionSecret.random()
    /// What the code is bound to (RFC 7636).
    var verifier = SessionSecret.random()
    /// The page to go on with.
    var back: String
    /// The public id of the session whose operator proves again who they are; `nil`: it signs in.
    var session: String?
    /// When it began.
    var begunAt: Timestamp

    /// Begins one.
    init(back: String, session: String?, at now: Timestamp) {
        self.back = back
        self.session = session
        begunAt = now
    }

    /// What the provider sees of the verifier (RFC 7636 §4.2).
    var challenge: String { Base64URL.text(SHA256.hash(data: Data(verifier.utf8))) }
}

/// Seals attempts for the browser and opens each once. The key is the process's: after a restart operators begin again.
final class AttemptSeal: Sendable {
    /// How many attempts that ended are remembered; of more the oldest are forgotten. A provider takes no code twice either.
    private static let limit = 10_000

    private let key = SymmetricKey(size: .bits256)
    /// The state of attempts that ended, with when they began.
    private let ended = Mutex<[String: Timestamp]>([:])

    /// An attempt as a cookie's value.
    func seal(_ attempt: SignInAttempt) throws -> String {
        let fields = [
            attempt.state, attempt.nonce, attempt.verifier, attempt.back, attempt.session ?? "",
            String(attempt.begunAt.milliseconds),
        ]
        let text = JSONValue.array(fields.map { .string($0) }).bytes
        let box = try AES.GCM.seal(Data(text), using: key)
        return Base64URL.text(Array(box.nonce) + box.ciphertext + box.tag)
    }

    /// The attempt of a cookie, which ends with that; `nil`: there is none, it is over, or it has ended.
    ///
    /// - Parameter state: that of the provider's answer.
    func open(_ cookie: String?, state: String?, at now: Timestamp) -> SignInAttempt? {
        guard let attempt = attempt(in: cookie), let state, Self.isSame(attempt.state, state),
            now < attempt.begunAt + SignInAttempt.lifetime, attempt.begunAt <= now + .seconds(1)
        else { return nil }
        let isFirst = ended.withLock { ended in
            guard ended.updateValue(attempt.begunAt, forKey: state) == nil else { return false }
            if ended.count > Self.limit {
                ended = ended.filter { now < $0.value + SignInAttempt.lifetime }
                let surplus = ended.sorted { $0.value < $1.value }.prefix(max(0, ended.count - Self.limit / 2))
                for (state, _) in surplus { ended[state] = nil }
            }
            return true
        }
        return isFirst ? attempt : nil
    }

    private func attempt(in cookie: String?) -> SignInAttempt? {
        guard let cookie, cookie.utf8.count < 4096, let bytes = Base64URL.bytes(cookie) else { return nil }
        do {
            let text = try AES.GCM.open(AES.GCM.SealedBox(combined: bytes), using: key)
            let fields = try JSONValue(parsing: Array(text)).elements.compactMap(\.stringValue)
            guard fields.count == 6, let begunAt = Int64(fields[5]) else { return nil }
            var attempt = SignInAttempt(
                back: fields[3], session: fields[4].isEmpty ? nil : fields[4], at: Timestamp(milliseconds: begunAt))
            (attempt.state, attempt.nonce, attempt.verifier) = (fields[0], fields[1], fields[2])
            return attempt
        } catch {
            // Not sealed by this process.
            return nil
        }
    }

    /// Compares in a time that does not depend on where the two differ.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        SHA256.hash(data: Data(left.utf8)) == SHA256.hash(data: Data(right.utf8))
    }
}
