import Foundation
import NIOCore
import Store

extension Failure {
    /// What ends a gateway that can't start or run: the line names what to change.
    init(starting configuration: GatewayConfiguration, _ error: any Error) {
        let listen = configuration.listen
        switch error {
        case let failure as Failure: self = failure
        case let error as ConfigurationError: self = error.failure
        case let error as StoreError: self.init(store: error)
        case let error as IOError:
            self.init(
                binding: "\(listen.host):\(listen.port)", error, portSetting: "listen.port (HERALD_LISTEN_PORT)",
                hostSetting: "listen.host (HERALD_LISTEN_HOST)")
        case is SocketAddressError, is SocketAddressError.UnknownHost:
            self.init(.configuration, "listen.host: \(listen.host) is not an address or name of this machine")
        default: self.init(.software, "\(error)")
        }
    }

    /// What ends a command whose store can't be opened or used.
    init(store error: StoreError) {
        switch error.code {
        case .inUse: self.init(.unavailable, "\(error.message) (data, HERALD_DATA)")
        case .newerSchema: self.init(.configuration, error.message)
        case .unavailable, .failed, .tooManyTopics, .badCursor: self.init(.inputOutput, error.message)
        }
    }

    /// A socket that can't listen.
    init(binding address: String, _ error: IOError, portSetting: String, hostSetting: String) {
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(
                .unavailable,
                "\(address): the port is in use; stop the program that listens there or change \(portSetting)")
        case EADDRNOTAVAIL:
            self.init(.configuration, "\(address): not an address of this machine; change \(hostSetting)")
        case EACCES:
            self.init(.configuration, "\(address): this user may not listen there; change \(portSetting)")
        default: self.init(.inputOutput, "\(address): \(error)")
        }
    }
}
