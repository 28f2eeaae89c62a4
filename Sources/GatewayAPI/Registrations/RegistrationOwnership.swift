import PushModel
import Store

/// Who uses a device, as far as a request may say it, and what the request was made with.
struct ProvenOwner: Sendable {
    /// The user, or no user; `nil`: no change.
    var owner: RegistrationOwner?
    /// The credentials, for the audit.
    var credential: ProvenCredential
}

extension ProjectCall {
    /// What a request may say of the user. Backends' word is taken. A client's key is in every copy of the app, so with it
    /// a user needs proof, a custom token; what the registration says already needs none, and neither does signing out
    /// with the auth token of the installation.
    ///
    /// - Parameters:
    ///   - installation: the one that proved itself.
    ///   - current: the caller's own registration as it is, if there is one.
    /// - Throws: 403 without proof, or with one that does not count.
    func provenOwner(
        saidBy body: RegistrationBody?, _ installation: Installation?, current: Registration?
    ) async throws(FCMError) -> ProvenOwner {
        var proven = ProvenOwner(owner: body?.owner, credential: ProvenCredential(credential))
        if let installation { proven.credential.proofs.append("installation:\(installation.id)") }
        guard let body else { return proven }
        if let text = body.userToken {
            let token = try await customToken(text)
            guard body.owner == nil || body.owner == .user(token.user) else {
                throw .badRequest("user_token", "userToken is for another user than user; leave user out.")
            }
            proven.owner = .user(token.user)
            proven.credential.proofs.append("customToken:\(token.account)")
            return proven
        }
        guard let owner = body.owner, caller.role == .client else { return proven }
        if owner == .noUser, installation != nil { return proven }
        guard let current, current.isActive || current.end?.cause == .superseded, current.user == owner.user else {
            throw .userNotProven(
                "A client key does not say whose a device is. Send userToken beside it, a Firebase custom token that your "
                    + "backend made (auth.create_custom_token), or let the backend set user by PATCH with a key of the "
                    + "role sender or admin.", field: "user")
        }
        // It stays as it is: whatever happens to it meanwhile is not undone.
        proven.owner = nil
        return proven
    }

    private func customToken(_ text: String) async throws(FCMError) -> CustomToken {
        do throws(CustomToken.Problem) {
            return try await CustomToken(text, of: project.id, in: services.store, at: now)
        } catch {
            if case .assertion(.store(let error)) = error { throw FCMError(error) }
            throw .userNotProven(
                "userToken does not prove a user. \(error.text) Ask the backend for a new custom token.",
                field: "user_token")
        }
    }
}

extension FCMError {
    fileprivate static func userNotProven(_ text: String, field: String) -> FCMError {
        var error = FCMError(.permissionDenied, text, reason: .userNotProven)
        error.violations = [FieldViolation(field: field, description: text)]
        return error
    }
}
