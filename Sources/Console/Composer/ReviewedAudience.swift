import Crypto
import Foundation
import JSON
import PushModel
import Synchronization

/// What an operator saw at Review. It goes through the form, signed with the session, the draft and what that says: Send
/// compares with it and counts nothing again.
struct ReviewedAudience: Hashable, Sendable {
    /// How long it counts.
    static let lifetime: Duration = .seconds(15 * 60)

    /// How many it goes to, as counted.
    let count: Int
    /// The most that it could go to then, from counts that are kept.
    let bound: Int
    /// When it was reviewed: times of the message count from it.
    var time: Timestamp

    /// Whether the number is to be typed.
    var isMass: Bool { count > ComposerCheck.massLimit }

    /// Puts figures together.
    init(count: Int, bound: Int, time: Timestamp) {
        self.count = count
        self.bound = bound
        self.time = time
    }

    /// Reads what ``text(of:_:secret:)`` made; `nil`: it is of another session or draft, of other words, or too old.
    init?(_ text: String, of draft: String, _ form: ComposerForm, secret: String, at now: Timestamp) {
        let parts = text.split(separator: ".")
        guard parts.count == 4, let count = Int(parts[0]), let bound = Int(parts[1]), let time = Int64(parts[2]),
            let code = Base64URL.bytes(parts[3])
        else { return nil }
        self.init(count: count, bound: bound, time: Timestamp(milliseconds: time))
        let isOurs = HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: signed(draft, form), using: SymmetricKey(data: Data(secret.utf8)))
        guard isOurs, now < self.time + Self.lifetime else { return nil }
    }

    /// What the form of Review carries.
    func text(of draft: String, _ form: ComposerForm, secret: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: signed(draft, form), using: SymmetricKey(data: Data(secret.utf8)))
        return "\(figures).\(Base64URL.text(code))"
    }

    private var figures: String { "\(count).\(bound).\(time.milliseconds)" }

    private func signed(_ draft: String, _ form: ComposerForm) -> Data {
        Data("review \(figures) \(draft) \(form.draft)".utf8)
    }

    /// Whether many more than were reviewed could get it now.
    func isOutgrown(by bound: Int) -> Bool {
        bound > ComposerCheck.massLimit && bound > self.bound + self.bound / 10
    }
}

/// Audiences as they were counted at Review: each is kept for a minute, and a session counts one at a time.
final class AudienceCounts: Sendable {
    /// How long a count is used again.
    static let lifetime: Duration = .seconds(60)
    /// The most counts that are kept.
    private static let limit = 1000

    private struct State {
        var counts: [String: ReviewedAudience] = [:]
        var counting: Set<[UInt8]> = []
    }

    private let state = Mutex(State())

    /// A count of a target, if it is young and the target's kept counts are about the same.
    func found(_ target: String, bound: Int, at now: Timestamp) -> ReviewedAudience? {
        state.withLock { state in
            guard let found = state.counts[target], now < found.time + Self.lifetime,
                abs(found.bound - bound) <= found.bound / 10
            else { return nil }
            return found
        }
    }

    /// Keeps a count; of too many none is kept but this.
    func keep(_ reviewed: ReviewedAudience, of target: String) {
        state.withLock { state in
            if state.counts.count >= Self.limit { state.counts = [:] }
            state.counts[target] = reviewed
        }
    }

    /// Begins to count for a session; `false`: it counts already.
    func begin(_ session: [UInt8]) -> Bool {
        state.withLock { $0.counting.insert(session).inserted }
    }

    /// Ends what ``begin(_:)`` began.
    func end(_ session: [UInt8]) {
        _ = state.withLock { $0.counting.remove(session) }
    }
}
