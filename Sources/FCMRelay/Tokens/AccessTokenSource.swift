import JSON
import Logging
import PushModel
import Signing
import Synchronization
import Upstream

/// The access token of one service account, shared by all that send as it (fcm-relay.md §2).
///
/// A token is asked for when it is first needed, one request at a time, and again in the background once three quarters
/// of its life are over; the old one serves until it really ends. When none can be had pushes wait: for a second, two,
/// four and so on up to a minute while Google does not answer, for a minute and longer when it refuses the account. What
/// Google calls unauthenticated is replaced, unless it is a minute old at most: then the token is not what is wrong.
///
/// Time is counted on the steady clock. Isolation: every call from any thread, but ``expire(_:)`` and ``current()`` never
/// wait.
final class AccessTokenSource: AuthorizationSource {
    /// Whether pushes may go.
    enum Readiness: Hashable, Sendable {
        case ready
        /// There is no token: why, and for how long.
        case held(Refusal, after: Duration)
    }

    /// Why there is no token.
    struct Failure: Hashable, Sendable {
        let refusal: Refusal
        /// In words, without secrets.
        let detail: String
        let since: Timestamp
        /// When the next try is due, on the steady clock.
        let notBefore: Duration
        let attempts: Int
    }

    /// What allows to send messages (`scope`).
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// A token that is called unauthenticated at this age is not what is wrong.
    static let youngest: Duration = .seconds(60)

    private struct Grant {
        let token: AuthorizationToken
        let givenAt: Duration
        /// A new one is asked for from then on.
        let renewAt: Duration
        let endsAt: Duration
    }

    private struct State {
        var grant: Grant?
        var failure: Failure?
        var isAsking = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        var count = 0

        func valid(at now: Duration) -> Grant? { grant.flatMap { now < $0.endsAt ? $0 : nil } }
    }

    private let account: ServiceAccount
    private let requests: ServiceRequests
    private let wallTime: WallTime
    private let uptime: Uptime
    private let logger: Logger
    private let state = Mutex(State())
    private let changed: @Sendable () -> Void

    /// - Parameter changed: called when it begins or ends that there is no token, without a lock held.
    init(
        account: ServiceAccount, requests: ServiceRequests, wallTime: @escaping WallTime, uptime: @escaping Uptime,
        logger: Logger, changed: @escaping @Sendable () -> Void
    ) {
        self.account = account
        self.requests = requests
        self.wallTime = wallTime
        self.uptime = uptime
        self.changed = changed
        var logger = logger
        logger[metadataKey: "account"] = "\(account.email)"
        self.logger = logger
    }

    func current() throws(AuthorizationFailure) -> AuthorizationToken {
        let now = uptime()
        let (token, isDue, detail) = state.withLock { state in
            let valid = state.valid(at: now)
            let isDue = valid.map { now >= $0.renewAt } ?? true
            return (valid?.token, isDue && begin(&state, at: now), state.failure?.detail)
        }
        if isDue { ask() }
        guard let token else { throw AuthorizationFailure(message: detail ?? "There is no access token yet.") }
        return token
    }

    /// Waits until there is a token, or until it is clear that there is none for now.
    func ready() async -> Readiness {
        var hasWaited = false
        while true {
            let now = uptime()
            let (readiness, isAsker) = state.withLock { state -> (Readiness?, Bool) in
                if state.valid(at: now) != nil { return (.ready, false) }
                if let failure = state.failure, hasWaited || now < failure.notBefore, !state.isAsking {
                    return (.held(failure.refusal, after: max(.zero, failure.notBefore - now)), false)
                }
                return (nil, begin(&state, at: now))
            }
            if let readiness { return readiness }
            if isAsker { ask() }
            await answer()
            hasWaited = true
        }
    }

    func expire(_ issuedAt: Timestamp) {
        let now = uptime()
        state.withLock { state in
            guard let grant = state.grant, grant.token.issuedAt == issuedAt, now - grant.givenAt >= Self.youngest
            else { return }
            state.grant = nil
        }
    }

    /// Why there is no token; `nil`: there is one, or none was needed yet.
    var failure: Failure? {
        let now = uptime()
        return state.withLock { $0.valid(at: now) == nil ? $0.failure : nil }
    }

    /// Whether one is being asked for.
    var isAsking: Bool { state.withLock { $0.isAsking } }

    /// Asks for no more tokens.
    func close(within limit: Duration) async { await requests.close(within: limit) }
}

// MARK: - Asking

extension AccessTokenSource {
    /// Whether the caller is to ask now: no request is under way, and no failure is to be waited out.
    private func begin(_ state: inout State, at now: Duration) -> Bool {
        guard !state.isAsking, state.failure.map({ now >= $0.notBefore }) ?? true else { return false }
        state.isAsking = true
        return true
    }

    /// Waits for the end of the request that is under way.
    private func answer() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard state.isAsking else { return true }
                state.waiters.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Asks for a token. A bridge from synchronous calls: one task at a time, which ends with the request.
    private func ask() {
        Task {
            let assertion: String
            do throws(SigningError) {
                assertion = try ServiceAccountAssertion.signed(
                    keyID: account.keyID, issuer: account.email, audience: account.tokenURL, scope: Self.scope,
                    issuedAt: wallTime().seconds, with: account.key)
            } catch {
                return finish(.failure(TokenRefusal(.tokenRefused, "The assertion can't be signed: \(error.message)")))
            }
            let grantType = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
            // An assertion is base64url with dots: nothing of it is to be escaped.
            let answer = await requests.send(
                "POST", path: account.tokenPath,
                fields: PushRequestFields("content-type", "application/x-www-form-urlencoded"),
                body: Array("grant_type=\(grantType)&assertion=\(assertion)".utf8))
            finish(TokenAnswer.reading(answer, at: wallTime()))
        }
    }

    private func finish(_ result: Result<TokenAnswer, TokenRefusal>) {
        let (now, wallNow) = (uptime(), wallTime())
        let (waiters, before, after) = state.withLock { state in
            let before = state.failure
            switch result {
            case .success(let answer):
                state.count += 1
                let token = AuthorizationToken(
                    authorization: "Bearer \(answer.token)", issuedAt: wallNow, series: 0, number: state.count)
                state.grant = Grant(
                    token: token, givenAt: now, renewAt: now + answer.lifetime * 3 / 4, endsAt: now + answer.lifetime)
                state.failure = nil
            case .failure(let refusal):
                let attempts = (before?.attempts ?? 0) + 1
                state.failure = Failure(
                    refusal: refusal.refusal, detail: refusal.detail, since: before?.since ?? wallNow,
                    notBefore: now + refusal.wait(attempt: attempts), attempts: attempts)
            }
            state.isAsking = false
            defer { state.waiters = [] }
            return (state.waiters, before, state.failure)
        }
        for waiter in waiters { waiter.resume() }
        tell(before, after)
        if before != nil || after != nil { changed() }
    }

    private func tell(_ before: Failure?, _ after: Failure?) {
        if let after, after.refusal != before?.refusal {
            logger.warning(
                "no access token for the service account",
                metadata: ["reason": "\(after.refusal.reason)", "detail": "\(after.detail)"])
        } else if before != nil, after == nil {
            logger.notice("the service account has an access token again")
        }
    }
}
