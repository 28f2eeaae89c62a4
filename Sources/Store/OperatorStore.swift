package import PushModel

/// The operators of the console, their sessions and what they are writing.
package protocol OperatorStore: Sendable {
    /// Gives an operator a role in a project, with an audit entry; one who is not there is made, and one who was revoked
    /// can sign in again.
    func grant(
        _ role: OperatorRole, in project: ProjectID, to name: OperatorName, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> Operator

    /// Gives an operator a role, as an admin of the project alone may: one of the project gets the role, one who is new or
    /// revoked also `link`, which signs in. One who has roles in other projects alone is left as is: a link of an admin there
    /// may be in other hands. One transaction, with audit entries.
    func invite(
        _ role: OperatorRole, in project: ProjectID, with link: SignInLink, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> OperatorInvitation

    /// One operator, also a revoked one. Cheap: asked for each request.
    func console(operator name: OperatorName) async throws(StoreError) -> Operator?

    /// The operators that have a role in a project, or all operators, by name.
    func operators(of project: ProjectID?) async throws(StoreError) -> [Operator]

    /// Takes away an operator's role in a project, or all roles, with audit entries. Who has no role left is revoked:
    /// sessions and links end, password and key of one-time codes are gone.
    ///
    /// - Returns: `false`: there was no such role.
    func revoke(
        _ name: OperatorName, in project: ProjectID?, at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Sets what an operator proves who they are with, with an audit entry in each of the projects; other sessions than
    /// `session` end.
    ///
    /// - Returns: `false`: there is no such operator.
    func set(
        _ secret: OperatorSecret, of name: OperatorName, keeping session: [UInt8]?, at time: Timestamp,
        by credential: CredentialUse
    ) async throws(StoreError) -> Bool

    /// Notes that a one-time code of a time step was used; `false`: that step, or a later one, was used before.
    func useOneTimeCode(ofStep step: Int64, by name: OperatorName) async throws(StoreError) -> Bool

    /// Keeps a link that signs in once; `false`: there is no such operator, or it is revoked.
    func insert(_ link: SignInLink) async throws(StoreError) -> Bool

    /// Whom a link signs in at `time`: it does so once. `nil`: it is unknown, used or over.
    func redeem(link digest: [UInt8], at time: Timestamp) async throws(StoreError) -> OperatorName?

    /// Begins a session, with an audit entry in each of the operator's projects. Of more than a hundred sessions of one
    /// operator those used longest ago end.
    func begin(_ session: OperatorSession) async throws(StoreError)

    /// A session with whose it is, whatever its age; `nil` when it has ended. Cheap: asked for each request.
    func session(
        _ digest: [UInt8]
    ) async throws(StoreError) -> (session: OperatorSession, owner: Operator)?

    /// Notes that a session was used; with `isProof` that its operator proved again who they are.
    func noteUse(ofSession digest: [UInt8], at time: Timestamp, isProof: Bool) async throws(StoreError)

    /// The sessions of an operator, the one used last first.
    func sessions(of name: OperatorName) async throws(StoreError) -> [OperatorSession]

    /// Ends a session by its public id; `false` if the operator has none of it.
    func endSession(_ id: String, of name: OperatorName) async throws(StoreError) -> Bool

    /// Keeps a draft in place of the one with its id, if that is the same operator's in the same project.
    func keep(_ draft: ComposerDraft) async throws(StoreError)

    /// The drafts of an operator in a project, the one changed last first.
    func drafts(of name: OperatorName, in project: ProjectID) async throws(StoreError) -> [ComposerDraft]

    /// Drops a draft; no error if there is none.
    func dropDraft(_ id: String, of name: OperatorName) async throws(StoreError)

    /// Forgets links that ended before `time` and sessions that began or were used too long ago: at most `limit` of each.
    ///
    /// - Returns: how many; fewer than `limit`: no other is as old.
    func forgetSignIns(
        linksBefore time: Timestamp, sessionsBegunBefore begun: Timestamp, usedBefore used: Timestamp, limit: Int
    ) async throws(StoreError) -> Int
}
