package import PushModel

/// The broadcast channels of all projects. A channel has a registration that stands for it where messages are delivered:
/// a publication is a message to that one. No list of registrations shows it, none counts it, no topic has it.
package protocol ChannelStore: Sendable {
    /// Notes that a channel is to be made, before the service is asked: what a crash leaves behind is seen. A name whose
    /// channel is lost or still being made may be asked for again; the lost one is forgotten.
    ///
    /// - Parameter limit: the most channels of the app and environment, lost ones and those being made included.
    func noteChannel(
        _ name: ChannelName, in home: ChannelHome, _ policy: StoragePolicy, at time: Timestamp, limit: Int
    ) async throws(StoreError) -> ChannelIntent

    /// The service made a noted channel; makes the registration that stands for it. A channel that was lost with this id
    /// is forgotten: the service has it again.
    ///
    /// - Parameter audit: kept in the same transaction.
    func completeChannel(
        _ name: ChannelName, in home: ChannelHome, id: ChannelID, at time: Timestamp, audit: AuditEntry?
    ) async throws(StoreError) -> ChannelCompletion

    /// The service did not make a noted channel: forgets the note.
    func abandonChannel(_ name: ChannelName, in home: ChannelHome) async throws(StoreError)

    /// The channel of a name. By an index.
    func channel(_ name: ChannelName, in home: ChannelHome) async throws(StoreError) -> BroadcastChannel?

    /// The channel that a registration stands for. By an index.
    func channel(
        of registration: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> BroadcastChannel?

    /// The registration that stands for a channel, also of one that is lost; no other look-up finds it.
    func channelRegistration(
        _ id: RegistrationID, in project: ProjectID
    ) async throws(StoreError) -> Registration?

    /// Channels of an app and environment, in the order in which they were noted.
    ///
    /// - Throws: `.badCursor` for a cursor that no page had.
    func channels(
        in home: ChannelHome, after cursor: String?, limit: Int
    ) async throws(StoreError) -> ResultPage<BroadcastChannel>

    /// The apps and environments of a project that have channels.
    func channelHomes(of project: ProjectID) async throws(StoreError) -> [ChannelHome]

    /// How many channels an app has in an environment.
    func channelCount(in home: ChannelHome) async throws(StoreError) -> Int

    /// Holds the service's own list, as it was asked for at `time`, against the channels here.
    ///
    /// - Returns: the active channels that were made before and that it does not have, how many were active in all, and
    ///   the ids that no active channel has.
    func compareChannels(
        in home: ChannelHome, with ids: [ChannelID], at time: Timestamp
    ) async throws(StoreError) -> (missing: [BroadcastChannel], active: Int, unknown: [ChannelID])

    /// The service has these no more: they are lost from `time` on, where they still have the id.
    ///
    /// - Returns: the names of those that became lost by it.
    func loseChannels(
        _ channels: [BroadcastChannel], at time: Timestamp
    ) async throws(StoreError) -> [ChannelName]

    /// Forgets a channel and ends the registration that stands for it; `false`: there is none of this name and id.
    ///
    /// - Parameters:
    ///   - id: as the service has it; `nil`: it is being made.
    ///   - audit: kept in the same transaction.
    func removeChannel(
        _ name: ChannelName, in home: ChannelHome, id: ChannelID?, at time: Timestamp, audit: AuditEntry?
    ) async throws(StoreError) -> Bool
}
