import Foundation
import NIOCore
import Store

extension Failure {
    /// What ends a gateway that can't start or run: the line names what to change, and where.
    ///
    /// - Parameters:
    ///   - host: the setting of the host that could not be listened on.
    ///   - port: the setting of its port.
    init(
        starting configuration: GatewayConfiguration, _ error: any Error,
        host: GatewayConfiguration.Setting = .host, port: GatewayConfiguration.Setting = .port
    ) {
        switch error {
        case let failure as Failure: self = failure
        case let error as ConfigurationError: self = error.failure
        case let error as StoreError: self.init(store: error, in: configuration)
        case let error as IOError: self.init(binding: error, in: configuration, host: host, port: port)
        case is SocketAddressError, is SocketAddressError.UnknownHost:
            self.init(
                .configuration,
                configuration.problem(
                    host,
                    "\(configuration.address(of: port).host) is not an address or name of this machine; use 127.0.0.1, "
                        + "0.0.0.0 or an address that ip addr shows"))
        default: self.init(.software, "\(error)")
        }
    }

    /// What ends a command whose store can't be opened or used.
    init(store error: StoreError, in configuration: GatewayConfiguration) {
        let message = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        let setting = configuration.storeSetting
        switch error.code {
        case .inUse, .busy: self.init(.unavailable, configuration.problem(setting, message))
        case .newerSchema: self.init(.configuration, configuration.problem(setting, message))
        case .unavailable where configuration.database != nil:
            self.init(.unavailable, configuration.problem(setting, message))
        case .unavailable where error.mayPass:
            self.init(.inputOutput, configuration.problem(setting, message))
        case .unavailable:
            self.init(
                .inputOutput,
                configuration.problem(setting, message + "; name a directory that this user may make and write"))
        case .failed, .fenced, .tooManyTopics, .badCursor, .removed:
            self.init(.inputOutput, configuration.problem(setting, message))
        }
        mayPass = error.mayPass
    }

    /// What ends a gateway whose certificate or key can't be used; `error` names the file in its description.
    init(certificate error: any Error, in configuration: GatewayConfiguration) {
        let message = "\(error)".hasSuffix(".") ? String("\(error)".dropLast()) : "\(error)"
        let pairs = configuration.listen.certificateFiles
        let isCertificate = pairs.contains { message.contains($0.certificate) }
        let files = pairs.first { message.contains(isCertificate ? $0.certificate : $0.key) }
        let remedy = "; name a PEM \(isCertificate ? "certificate chain" : "key") that this user may read"
        self.init(
            .configuration,
            files.map { configuration.problem(ofKey: !isCertificate, $0, message + remedy) }
                ?? configuration.problem(.certificate, message + remedy))
    }

    private init(_ code: Code, _ problem: ConfigurationProblem) {
        self.init(code, problem.description)
    }

    /// A socket that can't listen.
    private init(
        binding error: IOError, in configuration: GatewayConfiguration, host: GatewayConfiguration.Setting,
        port: GatewayConfiguration.Setting
    ) {
        let (name, number) = configuration.address(of: port)
        let address = "\(name):\(number)"
        switch error.errnoCode {
        case EADDRINUSE:
            self.init(
                .unavailable,
                configuration.problem(
                    port, "\(address) is in use; stop the program that listens there or take another port"))
        case EADDRNOTAVAIL:
            self.init(
                .configuration,
                configuration.problem(
                    host, "\(address) is not an address of this machine; use one that ip addr shows"))
        case EACCES:
            self.init(
                .configuration,
                configuration.problem(port, "this user may not listen on \(address); take a port above 1023"))
        default: self.init(.inputOutput, configuration.problem(port, "can't listen on \(address): \(error)"))
        }
    }
}
