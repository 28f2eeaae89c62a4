import HTTPListener
import PushModel
import Synchronization

/// Attempts to authenticate that are under way, one for each credential: requests that present it meanwhile wait for its
/// answer. A backend that sends many messages at once with a new access token makes one attempt, not many.
///
/// Attempts that run at the same time count as failed until they are over; a credential that is presented again is no
/// further guess.
final class SharedAttempts: Sendable {
    private typealias Attempt = Task<Result<Caller, FCMError>, Never>

    private let limits: ClientRateLimits
    /// By the SHA-256 of the credential.
    private let running = Mutex<[[UInt8]: Attempt]>([:])

    /// - Parameter limits: how often an address may fail.
    init(_ limits: ClientRateLimits) {
        self.limits = limits
    }

    /// Who presents a credential, as `find` or an attempt under way finds out.
    ///
    /// - Throws: RESOURCE_EXHAUSTED for an address that failed too often, without a call of `find`; and what `find`
    ///   throws. UNAUTHENTICATED counts for each address that presented the credential.
    func caller(
        presenting credential: String, from address: ClientAddress,
        _ find: @escaping @Sendable () async throws(FCMError) -> Caller
    ) async throws(FCMError) -> Caller {
        let (attempt, isOwn) = try attempt(AccessToken.digest(of: credential), from: address, find)
        let outcome = await attempt.value
        if case .failure(let error) = outcome, error.code == .unauthenticated {
            if !isOwn { try limits.take(.failures(address)) }
        } else if isOwn {
            // It worked; or the store could not be asked, which is not the caller's failure.
            limits.giveBack(.failures(address))
        }
        return try outcome.get()
    }

    private func attempt(
        _ digest: [UInt8], from address: ClientAddress, _ find: @escaping @Sendable () async throws(FCMError) -> Caller
    ) throws(FCMError) -> (Attempt, isOwn: Bool) {
        try running.withLock { running throws(FCMError) in
            if let attempt = running[digest] {
                try limits.check(.failures(address))
                return (attempt, false)
            }
            try limits.take(.failures(address))
            // A task of its own: the request that began it may be cancelled, and others wait for it.
            let attempt = Attempt {
                let outcome: Result<Caller, FCMError>
                do throws(FCMError) { outcome = .success(try await find()) } catch { outcome = .failure(error) }
                self.running.withLock { $0[digest] = nil }
                return outcome
            }
            running[digest] = attempt
            return (attempt, true)
        }
    }
}
