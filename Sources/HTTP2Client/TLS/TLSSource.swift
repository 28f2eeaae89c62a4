import Glibc
import Logging
import Synchronization

/// The TLS settings of a pool's next connections. A trust file that changed is read again when a connection is dialed:
/// certificate authorities are replaced while the program runs, and connections that stand stay as they are.
final class TLSSource: Sendable {
    private struct State {
        var context: TLSContext
        /// The file's when it was read last, whether that was of use or not.
        var file: TrustFileState?
    }

    private let trust: TLSTrust
    private let identity: TLSIdentity?
    private let keyLog: KeyLog?
    private let stores: TrustStores
    private let logger: Logger
    private let state: Mutex<State>

    /// - Throws: when the trust file or the identity can't be used.
    init(
        trust: TLSTrust, identity: TLSIdentity? = nil, keyLog: KeyLog? = nil, stores: TrustStores = TrustStores(),
        logger: Logger
    ) throws(TransportFailure) {
        self.stores = stores
        self.trust = trust
        self.identity = identity
        self.keyLog = keyLog
        self.logger = logger
        // Before it is read: a change in between is noticed with the next dial.
        let file = Self.state(of: trust)
        let context = try TLSContext(
            sharing: stores.context(trusting: trust, in: file), identity: identity, keyLog: keyLog)
        state = Mutex(State(context: context, file: file))
    }

    /// The settings for a connection that is dialed now. A file that is gone, or that can't be used, leaves the settings
    /// as they were; it is looked at again when it changes.
    func context() -> TLSContext {
        let (context, attempt): (TLSContext, Result<Void, TransportFailure>?) = state.withLock { state in
            guard let file = Self.state(of: trust), file != state.file else { return (state.context, nil) }
            state.file = file
            do throws(TransportFailure) {
                state.context = try TLSContext(
                    sharing: stores.context(trusting: trust, in: file), identity: identity, keyLog: keyLog)
                return (state.context, .success(()))
            } catch {
                return (state.context, .failure(error))
            }
        }
        switch attempt {
        case nil: break
        case .success: logger.info("the trust file has changed and was read again", metadata: ["file": "\(path)"])
        case .failure(let failure):
            logger.error(
                "the trust file has changed and can't be used; the certificate authorities stay as they were",
                metadata: ["file": "\(path)", "details": "\(failure.message)"])
        }
        return context
    }

    private var path: String {
        switch trust {
        case .system: ""
        case .file(let path): path
        }
    }

    private static func state(of trust: TLSTrust) -> TrustFileState? {
        switch trust {
        case .system: nil
        case .file(let path): TrustFileState(path)
        }
    }
}
