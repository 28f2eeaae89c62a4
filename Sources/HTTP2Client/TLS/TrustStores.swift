import Synchronization

/// The certificate authorities that the pools of an engine trust, each source read once for each state of its files: a thousand origins would have a
/// thousand copies of the system's otherwise. Safe to share.
///
/// There are as many as trust files are configured, which is what bounds them; one whose files have changed is replaced.
final class TrustStores: Sendable {
    private struct Entry {
        let state: TrustState?
        /// No connection is made of it: it keeps what others share.
        let context: TLSContext
    }

    private let entries = Mutex<[TLSTrust: Entry]>([:])

    /// Settings with the authorities of a source in this state, to be shared; they are read if they are not there.
    func context(trusting trust: TLSTrust, in state: TrustState?) throws(TransportFailure) -> TLSContext {
        // Read under the lock: pools that are opened together read once.
        let result: Result<TLSContext, TransportFailure> = entries.withLock { entries in
            if let entry = entries[trust], entry.state == state { return .success(entry.context) }
            return Result { () throws(TransportFailure) in
                let context = try TLSContext(trust: trust)
                entries[trust] = Entry(state: state, context: context)
                return context
            }
        }
        return try result.get()
    }
}
