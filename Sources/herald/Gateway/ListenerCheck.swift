import HTTPListener
import Logging
import PushModel

/// What should be looked at about where a gateway listens: none of it keeps the gateway from starting.
struct ListenerCheck {
    let configuration: GatewayConfiguration

    /// How long before the end of the listener's certificate the warnings begin: tools that renew do so a month ahead, so
    /// by then something is wrong.
    static let notice: Duration = .seconds(14 * 86_400)

    /// What works and is not safe, or not as it was configured.
    var warnings: [ConfigurationProblem] { [openInterface, openKey, fewDescriptors].compactMap { $0 } }

    private var openInterface: ConfigurationProblem? {
        let listen = configuration.listen
        guard listen.isEveryInterface, listen.certificate == nil else { return nil }
        return configuration.problem(
            .host,
            "\(listen.host) without TLS: keys and tokens cross the network readable for all; set listen.certificate and "
                + "listen.key, or listen on 127.0.0.1 behind a proxy that speaks TLS")
    }

    private var openKey: ConfigurationProblem? {
        guard let key = configuration.listen.key, PrivateFile(path: key).isReadableByOthers else { return nil }
        return configuration.problem(.key, "\(key) can be read by every user of this machine; chmod 640 or 600 it")
    }

    private var fewDescriptors: ConfigurationProblem? {
        let (wanted, descriptors) = (configuration.limits.connections, DescriptorLimit.current)
        let possible = configuration.connectionLimits(descriptors: descriptors).total
        guard let descriptors, possible < wanted else { return nil }
        return configuration.problem(
            .connections,
            "with \(descriptors) descriptors (ulimit -n) \(possible) connections are taken, not \(wanted); raise "
                + "LimitNOFILE or ulimit -n, or lower limits.connections")
    }

    /// What `herald doctor` says.
    func findings(at now: Timestamp) -> [Finding] {
        let warnings = self.warnings.map { Finding(.warning, "listener", $0.description) }
        guard let certificate = configuration.listen.certificate, let key = configuration.listen.key else {
            return warnings
        }
        let subject = "listener certificate"
        let end: Timestamp
        do {
            end = try ListenerCertificate(certificateFile: certificate, keyFile: key).validUntil
        } catch {
            return warnings + [Finding(.bad, subject, "\(error)")]
        }
        if end <= now { return warnings + [Finding(.bad, subject, "ended at \(end.rfc3339); renew it")] }
        let isNear = end - now <= Self.notice
        let text = "valid until \(end.rfc3339)" + (isNear ? "; renew it soon" : "")
        return warnings + [Finding(isNear ? .warning : .good, subject, text)]
    }
}
