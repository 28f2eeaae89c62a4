import PushModel
import Signing
import Synchronization
import Upstream

/// The provider token of one (team, key), shared by all pools that use the key, and by all gateways of a shared store.
///
/// Apple refuses tokens older than an hour, and new ones that follow each other on a connection within 20 minutes
/// ("Establishing a token-based connection to APNs"). So a token is signed when a batch first needs one, its age is that
/// of its own `iat` and not of a timer, it is replaced before use once it is 45 minutes old, and no 429 ever makes a
/// new one. Only ExpiredProviderToken does, within the limits of ``expire(_:)``. A token that replaces another within 20
/// minutes all the same, because the wall clock was set or other gateways were asked late, begins a new series.
final class ProviderTokenSource: AuthorizationSource {
    /// A token of this age is replaced before it is used.
    static let lifetime: Duration = .seconds(45 * 60)
    /// A token that APNs called expired when it was younger than this is not the problem: the clock is.
    static let youngest: Duration = .seconds(60)
    /// Time between two replacements that APNs' answers asked for.
    static let renewalInterval: Duration = .seconds(20 * 60)
    /// A token may lie this far in the future before the clock counts as set back.
    static let tolerance: Duration = .seconds(5 * 60)

    /// For so long pushes wait for the token that gateways share.
    static let askLimit: Duration = .seconds(2)
    /// A shared token is replaced so much earlier: what others see of it is never over.
    static let lead: Duration = .seconds(60)

    private struct State {
        var token: AuthorizationToken?
        /// The token that APNs called expired, by when it was issued.
        var expired: Timestamp?
        /// When an ExpiredProviderToken answer last replaced a token.
        var lastForcedAt: Timestamp?
        /// When the last token was put in force, on the steady clock.
        var changedAt: Duration?
        var series = 0
        /// Tokens in force so far.
        var count = 0
        /// Whether the token that gateways share is being asked for, and who waits for it.
        var isAsking = false
        var waiters: [CheckedContinuation<Void, Never>] = []

        /// Puts a token in force. One that follows another within 20 minutes begins a series.
        mutating func use(_ jwt: String, issuedAt: Timestamp, at uptime: Duration) -> AuthorizationToken {
            if let changedAt, uptime - changedAt < ProviderTokenSource.renewalInterval { series += 1 }
            count += 1
            changedAt = uptime
            // The scheme in lower case: Apple takes both, other implementations only this one.
            let next = AuthorizationToken(
                authorization: "bearer " + jwt, issuedAt: issuedAt, series: series, number: count)
            token = next
            return next
        }
    }

    private let name: ProviderKeyName
    private let key: ES256PrivateKey
    private let wallTime: WallTime
    private let uptime: Uptime
    /// `nil`: no other gateway pushes with the key.
    private let shared: (any SharedProviderTokens)?
    private let pause: @Sendable (Duration) async -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - shared: where gateways leave the token for each other; `nil`: this one signs all of its own.
    ///   - pause: sleeps; returns early when its task is cancelled.
    init(
        keyID: String, teamID: String, key: ES256PrivateKey, wallTime: @escaping WallTime, uptime: @escaping Uptime,
        shared: (any SharedProviderTokens)? = nil,
        // Cancelled: what it would have ended has ended.
        pause: @escaping @Sendable (Duration) async -> Void = { try? await ContinuousClock().sleep(for: $0) }
    ) {
        name = ProviderKeyName(teamID: teamID, keyID: keyID)
        self.key = key
        self.wallTime = wallTime
        self.uptime = uptime
        self.shared = shared
        self.pause = pause
    }

    /// The token to send now.
    func current() throws(AuthorizationFailure) -> AuthorizationToken {
        do {
            return try signed()
        } catch {
            throw AuthorizationFailure(message: error.message)
        }
    }

    private func signed() throws(SigningError) -> AuthorizationToken {
        let now = wallTime()
        let uptime = uptime()
        // Signed under the lock: two callers must not make two tokens. It takes 50 µs, and it calls nothing back.
        let result: Result<AuthorizationToken, SigningError> = state.withLock { state in
            if let token = state.token, Self.isFresh(token.issuedAt, at: now) { return .success(token) }
            return Result { () throws(SigningError) in
                state.use(try jwt(at: now), issuedAt: Timestamp(seconds: now.seconds), at: uptime)
            }
        }
        return try result.get()
    }

    /// Takes note that APNs called the token with this `iat` expired. The next ``current()`` signs a new one, unless
    ///
    /// - it was replaced in the meantime,
    /// - it was younger than a minute: a new one would not be any better,
    /// - another was replaced for this reason less than 20 minutes ago.
    ///
    /// Does not sign itself, since it is called on a loop thread.
    func expire(_ issuedAt: Timestamp) {
        let now = wallTime()
        state.withLock { state in
            guard let token = state.token, token.issuedAt == issuedAt, now - issuedAt >= Self.youngest else { return }
            if let last = state.lastForcedAt, last <= now, now - last < Self.renewalInterval { return }
            state.lastForcedAt = now
            state.expired = issuedAt
            state.token = nil
        }
    }

    /// By our own clock; one that was set back makes a token from the future, which APNs would refuse.
    private static func isFresh(_ issuedAt: Timestamp, for time: Duration = lifetime, at now: Timestamp) -> Bool {
        let age = now - issuedAt
        return age < time && age >= .zero - tolerance
    }

    private func jwt(at now: Timestamp) throws(SigningError) -> String {
        try ProviderJWT.signed(keyID: name.keyID, teamID: name.teamID, issuedAt: now.seconds, with: key)
    }
}

// MARK: - Gateways that share a key

extension ProviderTokenSource {
    /// Takes the token of all gateways in force, or leaves them one, when there is none that is good for a while. A store that
    /// does not answer within ``askLimit`` is not waited for: then ``current()`` signs one of this gateway's own.
    func prepare() async {
        guard let shared else { return }
        let now = wallTime()
        let isAsker = state.withLock { state -> Bool? in
            if let token = state.token, Self.isFresh(token.issuedAt, for: Self.sharedLifetime, at: now) { return nil }
            defer { state.isAsking = true }
            return !state.isAsking
        }
        guard let isAsker else { return }
        if isAsker { ask(shared) }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isAsking { state.waiters.append(continuation) }
                return !state.isAsking
            }
            if isOver { continuation.resume() }
        }
    }

    private static var sharedLifetime: Duration { lifetime - lead }

    /// Bridges: who waits is released when the first of the two tasks ends, and an answer that comes later does no harm. The
    /// second ends with the store's own limits.
    private func ask(_ shared: any SharedProviderTokens) {
        let timer = Task {
            await pause(Self.askLimit)
            if !Task.isCancelled { release() }
        }
        Task {
            await agree(by: shared)
            timer.cancel()
            release()
        }
    }

    private func release() {
        let waiters = state.withLock { state in
            state.isAsking = false
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Puts the token that others left in force, or one that is left for them.
    private func agree(by shared: any SharedProviderTokens) async {
        do {
            let seal = try ProviderTokenSeal(name, key)
            let found = try await shared.token(of: name)
            if let found, let jwt = usable(found, by: seal) { return adopt(jwt, found.issuedAt) }
            let now = wallTime()
            let own = try jwt(at: now)
            let left = try seal.seal(own, issuedAt: Timestamp(seconds: now.seconds))
            let kept = try await shared.keep(left, of: name, replacing: found)
            if kept != left, let jwt = usable(kept, by: seal) { return adopt(jwt, kept.issuedAt) }
            adopt(own, left.issuedAt)
        } catch {
            // Said by who was asked; this gateway goes on with tokens of its own.
        }
    }

    /// A token that others left, if it is good for a while; `nil`: it is too old, or sealed with another key of this name.
    private func usable(_ token: SealedProviderToken, by seal: ProviderTokenSeal) -> String? {
        guard Self.isFresh(token.issuedAt, for: Self.sharedLifetime, at: wallTime()),
            state.withLock({ $0.expired != token.issuedAt })
        else { return nil }
        do throws(SigningError) {
            return try seal.open(token)
        } catch {
            // Replaced by one of this gateway's.
            return nil
        }
    }

    /// Not in the place of one that was signed meanwhile, because the answer took too long.
    private func adopt(_ jwt: String, _ issuedAt: Timestamp) {
        let (now, uptime) = (wallTime(), uptime())
        state.withLock { state in
            if let token = state.token, Self.isFresh(token.issuedAt, for: Self.sharedLifetime, at: now) { return }
            _ = state.use(jwt, issuedAt: issuedAt, at: uptime)
        }
    }
}
