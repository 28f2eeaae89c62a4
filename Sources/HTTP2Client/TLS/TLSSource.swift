import Logging
import Synchronization

/// The TLS settings of a pool's next connections. A trust file that changed, or the system's, is read again when a connection
/// is dialed: certificate authorities are replaced while the program runs, and connections that stand stay as they are.
final class TLSSource: Sendable {
    private struct State {
        var context: TLSContext
        /// The files' when they were read last, whether that was of use or not.
        var files: TrustState?
    }

    private let trust: TLSTrust
    private let identity: TLSIdentity?
    private let keyLog: KeyLog?
    private let stores: TrustStores
    private let systemPaths: [String]
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameter systemPaths: what is looked at to see whether the system's authorities have changed.
    /// - Throws: when the trust file or the identity can't be used.
    init(
        trust: TLSTrust, identity: TLSIdentity? = nil, keyLog: KeyLog? = nil, stores: TrustStores = TrustStores(),
        systemPaths: [String] = TrustState.systemPaths, logger: Logger
    ) throws(TransportFailure) {
        self.stores = stores
        self.trust = trust
        self.identity = identity
        self.keyLog = keyLog
        self.systemPaths = systemPaths
        self.logger = logger
        // Before they are read: a change in between is noticed with the next dial.
        let files = TrustState(of: Self.paths(of: trust, systemPaths))
        let context = try TLSContext(
            sharing: stores.context(trusting: trust, in: files), identity: identity, keyLog: keyLog)
        state = Mutex(State(context: context, files: files))
    }

    /// The settings for a connection that is dialed now. Files that are gone, or that can't be used, leave the settings
    /// as they were; they are looked at again when they change.
    func context() -> TLSContext {
        let (context, attempt): (TLSContext, Result<Void, TransportFailure>?) = state.withLock { state in
            let found = TrustState(of: Self.paths(of: trust, systemPaths))
            guard let files = found, files != state.files else { return (state.context, nil) }
            state.files = files
            do throws(TransportFailure) {
                state.context = try TLSContext(
                    sharing: stores.context(trusting: trust, in: files), identity: identity, keyLog: keyLog)
                return (state.context, .success(()))
            } catch {
                return (state.context, .failure(error))
            }
        }
        switch attempt {
        case nil: break
        case .success: logger.info("the trust file has changed and was read again", metadata: ["file": "\(name)"])
        case .failure(let failure):
            logger.error(
                "the trust file has changed and can't be used; the certificate authorities stay as they were",
                metadata: ["file": "\(name)", "details": "\(failure.message)"])
        }
        return context
    }

    private var name: String { Self.paths(of: trust, systemPaths).joined(separator: ", ") }

    private static func paths(of trust: TLSTrust, _ systemPaths: [String]) -> [String] {
        switch trust {
        case .system: systemPaths
        case .file(let path): [path]
        }
    }
}
