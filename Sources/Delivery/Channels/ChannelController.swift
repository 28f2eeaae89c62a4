package import Logging
package import PushModel
package import Store
import Synchronization

/// Makes and deletes broadcast channels, in the push service and in the store, and holds the two lists against each
/// other. Safe to share.
///
/// A channel is noted first, then made by the service, then completed with the service's id. A crash in between leaves
/// the note, which lists show, and perhaps a channel at the service that is called nothing here, which they show too: what
/// another system made there looks the same, so nothing is guessed and nothing is deleted.
package final class ChannelController: Sendable {
    /// The most channels of an app in one environment (Apple, "Sending channel management requests to APNs").
    package static let limit = 10_000

    /// From so many on operators are told, while there is time to delete those of what is over.
    package static let noticeLimit = 9000

    /// Up to so many channels that the service's list lacks are asked for one by one, in one comparison.
    static let askedAtOnce = 100
    /// More than so many, when they are more than half of all, look like a list of another service: nothing is lost by it.
    static let missingAtOnce = 3

    private let store: any ChannelStore
    private let service: any ChannelService
    private let wallTime: WallTime
    private let logger: Logger
    /// What this process is making.
    private let underWay = Mutex<Set<Place>>([])

    private struct Place: Hashable {
        let home: ChannelHome
        let name: ChannelName
    }

    /// Prepares a controller.
    package init(store: any ChannelStore, service: any ChannelService, wallTime: @escaping WallTime, logger: Logger) {
        self.store = store
        self.service = service
        self.wallTime = wallTime
        self.logger = logger
    }

    /// Makes a channel, or finds the one that has the name.
    ///
    /// - Parameters:
    ///   - adopted: an id that the service has already: it is taken over under the name instead of making one.
    ///   - audit: makes the entry that is kept of it.
    package func create(
        _ name: ChannelName, in home: ChannelHome, _ policy: StoragePolicy, adopting adopted: ChannelID? = nil,
        audit: @Sendable (ChannelID) -> AuditEntry?
    ) async throws(ChannelProblem) -> (channel: BroadcastChannel, isNew: Bool) {
        let place = Place(home: home, name: name)
        guard underWay.withLock({ $0.insert(place).inserted }) else { throw .busy }
        defer { _ = underWay.withLock { $0.remove(place) } }
        switch try await stored({ () throws(StoreError) in
            try await store.noteChannel(name, in: home, policy, at: wallTime(), limit: Self.limit)
        }) {
        case .noted: break
        case .full(let count): throw .full(count: count)
        case .exists(let channel):
            guard channel.storagePolicy == policy else { throw .otherPolicy(channel) }
            guard adopted == nil || adopted == channel.id else { throw .otherID(channel) }
            return (channel, false)
        }
        let id = try await made(name, in: home, policy, adopting: adopted)
        let entry = audit(id)
        switch try await stored({ () throws(StoreError) in
            try await store.completeChannel(name, in: home, id: id, at: wallTime(), audit: entry)
        }) {
        case .active(let made): return (made, true)
        case .notNoted:
            // Deleted meanwhile: what was made for nothing must not stay behind.
            if adopted == nil { await discard(id, in: home) }
            throw .busy
        case .idTaken(let other):
            try await abandon(name, in: home)
            throw .idTaken(id, by: other)
        }
    }

    /// Asks the service for a noted channel. What it certainly did not make is no longer noted.
    private func made(
        _ name: ChannelName, in home: ChannelHome, _ policy: StoragePolicy, adopting adopted: ChannelID?
    ) async throws(ChannelProblem) -> ChannelID {
        let failure: ChannelFailure
        if let adopted {
            switch await service.storagePolicy(of: adopted, in: home) {
            case .success(let found) where found == policy: return adopted
            case .success(let found):
                try await abandon(name, in: home)
                throw .policyAtService(found)
            case .failure(let reason):
                try await abandon(name, in: home)
                throw .service(reason)
            }
        } else {
            switch await service.create(policy, in: home) {
            case .success(let id): return id
            case .failure(let reason): failure = reason
            }
        }
        if failure.mayBeDone {
            // It may be there: the note stays, so that lists show it.
            logger.warning(
                "whether a channel was made is not known",
                metadata: ["project.id": "\(home.project)", "app": "\(home.app)", "channel": "\(name)"])
        } else {
            try await abandon(name, in: home)
        }
        throw .service(failure)
    }

    private func abandon(_ name: ChannelName, in home: ChannelHome) async throws(ChannelProblem) {
        try await stored { () throws(StoreError) in try await store.abandonChannel(name, in: home) }
    }

    private func discard(_ id: ChannelID, in home: ChannelHome) async {
        guard case .failure = await service.delete(id, in: home) else { return }
        logger.warning(
            "a channel that is not needed could not be deleted",
            metadata: ["project.id": "\(home.project)", "app": "\(home.app)"])
    }

    /// The channel of a name, as the service knows it now; `nil`: there is none.
    ///
    /// - Returns: also why the service could not be asked.
    package func channel(
        _ name: ChannelName, in home: ChannelHome
    ) async throws(ChannelProblem) -> (channel: BroadcastChannel, failure: ChannelFailure?)? {
        guard
            let channel = try await stored({ () throws(StoreError) in try await store.channel(name, in: home) })
        else { return nil }
        guard channel.state == .active, let id = channel.id else { return (channel, nil) }
        guard case .failure(let failure) = await service.storagePolicy(of: id, in: home) else { return (channel, nil) }
        guard failure.isUnknownChannel else { return (channel, failure) }
        // List and answer must agree: one of them may be a slip.
        _ = try await reconcile(home)
        return try await stored { () throws(StoreError) in try await store.channel(name, in: home) }.map { ($0, nil) }
    }

    /// Deletes a channel at the service and here; `false`: there is none. One that the service does not have (any more)
    /// is forgotten all the same.
    package func delete(
        _ name: ChannelName, in home: ChannelHome, audit: AuditEntry?
    ) async throws(ChannelProblem) -> Bool {
        guard
            let channel = try await stored({ () throws(StoreError) in try await store.channel(name, in: home) })
        else { return false }
        if let id = channel.id, case .failure(let failure) = await service.delete(id, in: home),
            !failure.isUnknownChannel
        {
            throw .service(failure)
        }
        // By its id too: another request may have deleted it meanwhile, and a third one made the name anew.
        return try await stored { () throws(StoreError) in
            try await store.removeChannel(name, in: home, id: channel.id, at: wallTime(), audit: audit)
        }
    }

    /// Holds the service's list against the store's. A channel that the list lacks, and of which the service says, asked
    /// for it alone, that it has none, is lost from now on.
    package func reconcile(_ home: ChannelHome) async throws(ChannelProblem) -> ChannelComparison {
        let time = wallTime()
        switch await service.channels(in: home) {
        case .failure(let failure): throw .service(failure)
        case .success(let ids):
            let (missing, active, unknown) = try await stored { () throws(StoreError) in
                try await store.compareChannels(in: home, with: ids, at: time)
            }
            var lost: [ChannelName] = []
            if missing.count > Self.missingAtOnce, missing.count * 2 > active {
                warn("the push service lists few channels, and all are kept: is it the right one?", missing, home)
            } else {
                let gone = await gone(missing.prefix(Self.askedAtOnce), in: home)
                lost = try await stored { () throws(StoreError) in
                    gone.isEmpty ? [] : try await store.loseChannels(gone, at: time)
                }
                if !lost.isEmpty { warn("channels are lost: the push service has them no more", gone, home) }
            }
            if ids.count >= Self.noticeLimit { warn(ofCount: ids.count, home) }
            return ChannelComparison(time: time, count: ids.count, lost: lost, unknown: unknown)
        }
    }

    /// Those of which the service says that it does not have them.
    private func gone(_ channels: some Sequence<BroadcastChannel>, in home: ChannelHome) async -> [BroadcastChannel] {
        var gone: [BroadcastChannel] = []
        for channel in channels {
            guard let id = channel.id, case .failure(let failure) = await service.storagePolicy(of: id, in: home)
            else { continue }
            if failure.isUnknownChannel { gone.append(channel) }
        }
        return gone
    }

    private func warn(_ text: Logger.Message, _ channels: [BroadcastChannel], _ home: ChannelHome) {
        logger.warning(
            text,
            metadata: [
                "project.id": "\(home.project)", "app": "\(home.app)", "environment": "\(home.environment)",
                "channels": "\(channels.prefix(20).map(\.name.rawValue).joined(separator: ", "))",
                "count": "\(channels.count)",
            ])
    }

    private func warn(ofCount count: Int, _ home: ChannelHome) {
        logger.warning(
            "the app has nearly as many channels as it may have: delete those of what is over",
            metadata: [
                "project.id": "\(home.project)", "app": "\(home.app)", "environment": "\(home.environment)",
                "count": "\(count)", "limit": "\(Self.limit)",
            ])
    }

    private func stored<Value>(
        _ body: () async throws(StoreError) -> Value
    ) async throws(ChannelProblem) -> Value {
        do throws(StoreError) {
            return try await body()
        } catch {
            throw .store(error)
        }
    }
}

/// What the service's list and the store's say of each other.
package struct ChannelComparison: Hashable, Sendable {
    /// When the service was asked.
    package var time: Timestamp
    /// How many channels the service has.
    package var count: Int
    /// Channels that became lost by it.
    package var lost: [ChannelName]
    /// Channels of the service that have no name here.
    package var unknown: [ChannelID]
}

/// Why channels could not be made, read or deleted.
package enum ChannelProblem: Error, Sendable {
    /// The service said so, or could not be asked.
    case service(ChannelFailure)
    /// The name has a channel of another storage policy.
    case otherPolicy(BroadcastChannel)
    /// The name has a channel of another id.
    case otherID(BroadcastChannel)
    /// The channel that was to be taken over has this storage policy.
    case policyAtService(StoragePolicy)
    /// There are as many as there may be.
    case full(count: Int)
    /// The id is that of the channel of this name.
    case idTaken(ChannelID, by: ChannelName)
    /// Another request makes or deletes it at this moment.
    case busy
    /// The store.
    case store(StoreError)
}
