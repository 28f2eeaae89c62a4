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
    var warnings: [ConfigurationProblem] {
        [openInterface].compactMap { $0 } + openKeys + [fewDescriptors].compactMap { $0 }
    }

    private var openInterface: ConfigurationProblem? {
        let listen = configuration.listen
        guard listen.isEveryInterface, listen.certificateFiles.isEmpty else { return nil }
        return configuration.problem(
            .host,
            "\(listen.host) without TLS: keys and tokens cross the network readable for all; set listen.certificate and "
                + "listen.key, or listen on 127.0.0.1 behind a proxy that speaks TLS")
    }

    private var openKeys: [ConfigurationProblem] {
        configuration.listen.certificateFiles.filter { PrivateFile(path: $0.key).isReadableByOthers }.map { files in
            configuration.problem(
                ofKey: true, files, "\(files.key) can be read by every user of this machine; chmod 640 or 600 it")
        }
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
        return warnings + configuration.listen.certificateFiles.map { Self.finding(of: $0, at: now) }
    }

    private static func finding(of files: GatewayConfiguration.CertificateFiles, at now: Timestamp) -> Finding {
        let subject = "listener certificate"
        let end: Timestamp
        do {
            end = try ListenerCertificate(certificateFile: files.certificate, keyFile: files.key).validUntil
        } catch {
            return Finding(.bad, subject, "\(error)")
        }
        let file = files.certificatePlace == nil ? "" : "\(files.certificate): "
        if end <= now { return Finding(.bad, subject, "\(file)ended at \(end.rfc3339); renew it") }
        let isNear = end - now <= Self.notice
        let text = "\(file)valid until \(end.rfc3339)" + (isNear ? "; renew it soon" : "")
        return Finding(isNear ? .warning : .good, subject, text)
    }
}
