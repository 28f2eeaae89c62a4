package import PushModel

/// What operators do with a store, and what a gateway asks of it beside messages.
package protocol StoreAdministration: Sendable {
    /// The newest time of recording in the ledger when the store was opened; `nil` when there was none. The wall clock
    /// may have been set back since.
    var lastRecordedAt: Timestamp? { get }

    /// Whether a write goes through right now, and what is wrong with the store.
    func state() async -> StoreState

    /// Checks everything that must hold between the parts of the store: reads all of it, beside a running gateway.
    ///
    /// - Parameter progress: called now and then with how many messages are checked, and about how many there are.
    /// - Returns: what does not hold, a sentence each; empty when all is well.
    func check(progress: @Sendable (Int, Int) -> Void) async throws(StoreError) -> [String]

    /// Takes a chunk of an import in one transaction, but for what is refused. What is there already, by (project, app, device token), is
    /// refreshed; its times only go forward, and it keeps topics that the row does not name.
    ///
    /// - Parameters:
    ///   - source: the name under which the position is kept.
    ///   - credential: who imports, for the audit.
    /// - Returns: why rows are not in the store, by their place in the chunk; the others are, with the position.
    func importRegistrations(
        _ rows: [ImportedRegistration], into project: ProjectID, source: String, position: ImportPosition,
        at time: Timestamp, by credential: CredentialUse
    ) async throws(StoreError) -> [Int: ImportRefusal]

    /// How an import is to share the writer now: a gateway may start or end during an import.
    var importPace: ImportPace { get }

    /// How far an import of `source` came; `nil` when none was broken off.
    func importPosition(of source: String) async throws(StoreError) -> ImportPosition?

    /// Forgets the position of an import that is done or begins anew.
    func forgetImportPosition(of source: String) async throws(StoreError)

    /// A page of a project's active registrations with all that an import takes, in the order of their keys after `key`.
    /// Those of web apps are left out: a browser's subscription is no device token.
    ///
    /// - Returns: the rows, the key after which the next page begins, and whether there is none.
    func exportRegistrations(
        of project: ProjectID, after key: RegistrationKey, limit: Int
    ) async throws(StoreError) -> (rows: [ImportedRegistration], last: RegistrationKey, isLast: Bool)

    /// How many active registrations a project has with keys after `key`.
    func activeRegistrations(of project: ProjectID, after key: RegistrationKey) async throws(StoreError) -> Int

    /// How many active registrations of a web app subscribed with each application key, by its point of 65 bytes; an empty
    /// one: the page did not say. Reads all of them, for an operator who wants to know whether a former key is still needed.
    func applicationKeys(of app: AppID, in project: ProjectID) async throws(StoreError) -> [[UInt8]: Int]

    /// Changes what a second gateway is told about this one, once more is known.
    func note(_ holder: GatewayHolder)

    /// Finishes running work and closes the store. Idempotent.
    func close() throws(StoreError)
}

extension StoreAdministration {
    /// As ``check(progress:)``, without saying how far it is.
    package func check() async throws(StoreError) -> [String] {
        try await check { _, _ in }
    }
}
