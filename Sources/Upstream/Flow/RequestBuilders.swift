import HTTP2Client
import PushModel

/// Builds requests on threads of their own, ahead of the congestion window: for services whose bodies are made for each
/// device, as encrypted ones are.
///
/// A piece of a batch is built at a time. Interactive pushes have a thread that no others use. What waits is in hand at an
/// upstream, so the limits of ``UpstreamLoad`` are those of the queues.
final class RequestBuilders: Sendable {
    /// Pushes that are built and go on together: a few thousandths of a second of a processor.
    static let pieceSize = 64
    /// Pieces of one batch that are built, or wait for their places in the congestion window, at a time. What is built is
    /// thrown away when the service asks for a rest, so there are few.
    static let piecesAhead = 4

    private let urgent = WorkerThreads(named: "build-urgent", count: 1)
    private let bulk = WorkerThreads(named: "build-bulk", isBackground: true)

    /// Builds the requests of some pushes of a batch, behind those of the same lane that came before.
    ///
    /// - Parameter isWanted: asked when their turn has come; from any thread, must not block.
    /// - Returns: `nil` when they were not wanted.
    func build(
        _ indices: ArraySlice<Int>, of batch: [Push], for service: any PushService, isUrgent: Bool,
        isWanted: @escaping @Sendable () -> Bool
    ) async -> BuiltRequests? {
        await (isUrgent ? urgent : bulk).run {
            isWanted() ? BuiltRequests(indices, service.requests(for: Array(indices), of: batch)) : nil
        }
    }

    /// Ends the threads, once what they build is built. Idempotent.
    func shutdown() async {
        await urgent.shutdown()
        await bulk.shutdown()
    }
}

/// The requests of some pushes of a batch.
struct BuiltRequests: Sendable {
    private let indices: ArraySlice<Int>
    private let all: PushRequests

    /// - Parameter all: what a service made of the pushes at `indices`, in this order.
    init(_ indices: ArraySlice<Int>, _ all: PushRequests) {
        self.indices = indices
        self.all = all
    }

    /// Those of the pushes at `wanted`, which are some of them, in the same order.
    func requests(for wanted: [Int]) -> PushRequests {
        guard wanted.count < indices.count else { return all }
        var picked = PushRequests(capacity: wanted.count)
        var next = wanted[...]
        var place = 0
        for index in indices {
            let isWanted = index == next.first
            if isWanted { next = next.dropFirst() }
            if let refusal = all.refused[index] {
                if isWanted { picked.refuse(index, because: refusal) }
                continue
            }
            if isWanted { picked.append(all.requests[place]) }
            place += 1
        }
        return picked
    }
}
