import APNS
import ArgumentParser
import Delivery
import Foundation
import PushModel
import Store
import WebPush

/// `herald doctor`: whether the gateway of a configuration could do its work, from this machine and as this user.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check configuration, store, credentials and the way to APNs.",
        discussion: """
            Reads the configuration as serve does, opens the store if there is one, and sends one push that no device can \
            receive to every APNs endpoint of every app: the answer shows whether address, TLS, credential and topic are \
            right, and how far this machine's clock is from APNs'. Push services that a web app names are asked in the same \
            way, and the public halves of its VAPID keys are shown, each with its registrations. Google is asked for an \
            access token for every Android app, and to check a message. A proxy of webhooks has to take a connection. Link hosts are asked for their association files, as \
            Apple and Google do. A gateway may run meanwhile.
            With --ledger it does something else: it recounts the whole store from its rows and compares the sums, the \
            law of every message and the pages of the file, each of these in one snapshot, also beside a running gateway.
            Exit codes: 0 all well or warnings only, 1 the ledger is off, 69 something failed, 74 disk, 78 configuration.
            """)

    @OptionGroup var file: ConfigurationOption
    @Option(help: "Seconds to wait for each endpoint.") var timeout = 10
    @Flag(help: "Recount the ledger from its rows, and check nothing else.") var ledger = false
    @Flag(help: "Take a database whose server does not sync what it commits (fsync) for good enough.")
    var allowUnsafe = false
    @Flag(help: "Print JSON, an object a line.") var json = false

    func validate() throws {
        guard (1...120).contains(timeout) else { throw ValidationError("--timeout takes 1 to 120 seconds.") }
    }

    func run() async throws {
        let configuration = try file.read()
        guard !ledger else { return try await recount(configuration) }
        let projects = try await configuration.readProjects()
        var findings: [Finding]
        do {
            findings = projects.warnings.map { Finding(.warning, "configuration", $0.description) }
            let apps = projects.projects.map(\.apps.count).reduce(0, +)
            findings.insert(
                Finding(.good, "configuration", "projects: \(projects.configurations.count), apps: \(apps)"), at: 0)
            findings += projects.certificates.map { Self.finding(of: $0, at: Timestamp.systemTime()) }
            findings += ListenerCheck(configuration: configuration).findings(at: Timestamp.systemTime())
            findings += PublicHostCheck(configuration: configuration, projects: projects.projects).warnings
                .map { Finding(.warning, "listener", $0.description) }
            findings += await store(configuration)
            if configuration.database == nil {
                findings += Self.disk(
                    configuration.limits.freeBytes, free: DiskSpace.freeBytes(of: configuration.dataDirectory))
            }
            findings += await LinkHostCheck(projects: projects.projects, limit: .seconds(timeout)).findings()
            findings += await WebhookProxyCheck(proxy: configuration.webhooks.proxy, limit: .seconds(timeout))
                .findings()
            findings += try await upstreams(projects)
            findings += await WebPushCheck(
                apps: projects.browsers, limit: .seconds(timeout), wallTime: Timestamp.systemTime,
                counts: { await Self.applicationKeys(of: $0, configuration) }
            ).findings()
            findings += try await android(projects)
        } catch {
            throw error.failure
        }
        print(findings)
        let failed = findings.filter { $0.grade == .bad }.count
        if failed > 0 { throw Failure(.unavailable, "\(failed) of \(findings.count) checks failed") }
    }

    private func upstreams(_ projects: ProjectSet) async throws(ConfigurationError) -> [Finding] {
        let check = UpstreamCheck(
            apps: projects.upstreams, limit: .seconds(timeout), wallTime: Timestamp.systemTime)
        do {
            return try await check.findings()
        } catch {
            throw ConfigurationError(problems: [projects.problem(of: error)])
        }
    }

    private func android(_ projects: ProjectSet) async throws(ConfigurationError) -> [Finding] {
        let check = AndroidCheck(
            apps: projects.androids, limit: .seconds(timeout), wallTime: Timestamp.systemTime)
        do {
            return try await check.findings()
        } catch {
            throw ConfigurationError(problems: [projects.problem(of: error)])
        }
    }

    private static func finding(of certificate: WatchedCertificate, at now: Timestamp) -> Finding {
        let subject = "\(certificate.app) certificate"
        let end = certificate.validUntil.rfc3339
        if certificate.validUntil <= now { return Finding(.bad, subject, "ended at \(end); renew it") }
        if certificate.validFrom > now {
            return Finding(.bad, subject, "not valid before \(certificate.validFrom.rfc3339)")
        }
        let isNear = certificate.validUntil - now < CertificateWatch.notice
        return Finding(isNear ? .warning : .good, subject, "valid until \(end)" + (isNear ? "; renew it soon" : ""))
    }

    /// Whether a gateway would take messages with so many free bytes; nothing when they can't be read.
    static func disk(_ limit: Int, free: Int?) -> [Finding] {
        guard let free else { return [] }
        let text = "\(DiskText.size(free)) free"
        guard free < limit else { return [Finding(.good, "disk", text)] }
        return [
            Finding(
                .warning, "disk",
                "\(text), less than limits.freeBytes (\(DiskText.size(limit))): new messages are refused; make room")
        ]
    }

    /// Looks at the store; makes none in a directory, while tables that a database lacks are made as by any command.
    private func store(_ configuration: GatewayConfiguration) async -> [Finding] {
        let directory = configuration.database?.name ?? configuration.dataDirectory
        guard configuration.hasStore else { return [Self.missingStore(directory)] }
        do {
            let opened = try await configuration.openStoreWithNodes(as: .command)
            let state = await opened.store.state()
            let others =
                configuration.database == nil
                ? [] : await SharedStore.findings(of: opened.store, isUnsafeAllowed: allowUnsafe)
            let nodes = try await opened.nodes?.nodes() ?? []
            try opened.store.close()
            return [Self.finding(of: state, in: directory)] + others + Self.findings(of: nodes)
        } catch {
            return [Finding(.bad, "store", Failure(store: error, in: configuration).message)]
        }
    }

    /// Nodes that have not the newest version of the stored projects in force.
    private static func findings(of nodes: [StoreNode]) -> [Finding] {
        nodes.filter(\.isLive).compactMap { node in
            guard let projects = node.projects, let problem = projects.problem else { return nil }
            let text = "\(node.name) keeps version \(projects.version) of the projects; it refuses \(problem)"
            return Finding(.warning, "node \(node.number)", text)
        }
    }

    private static func finding(of state: StoreState, in place: String) -> Finding {
        if let problem = state.problems.first { return Finding(.bad, "store", "\(place): \(problem)") }
        return state.isWritable
            ? Finding(.good, "store", "\(place) can be written")
            : Finding(.bad, "store", "\(place) can't be written; check owner, mode and free space")
    }

    /// How many registrations a web app has by application key; `nil`: there is no store, or it can't be read, which is a
    /// finding of its own.
    private static func applicationKeys(
        of app: WebPushAppConfiguration, _ configuration: GatewayConfiguration
    ) async -> [[UInt8]: Int]? {
        guard configuration.hasStore else { return nil }
        do {
            let store = try await configuration.openStore(as: .command)
            let counts = try await store.applicationKeys(of: app.app, in: app.project)
            try store.close()
            return counts
        } catch {
            return nil
        }
    }

    private static func missingStore(_ directory: String) -> Finding {
        var parent = URL(filePath: directory).standardizedFileURL
        while PathKind(of: parent.path) == .missing, parent.path != "/" { parent.deleteLastPathComponent() }
        guard PathKind(of: parent.path) == .directory, FileManager.default.isWritableFile(atPath: parent.path) else {
            return Finding(
                .bad, "store", "\(directory) can't be made; name a directory that this user may make and write")
        }
        return Finding(.good, "store", "none in \(directory) yet; the first start makes it")
    }

    private func recount(_ configuration: GatewayConfiguration) async throws {
        let findings = try await LedgerCheck(configuration: configuration).findings()
        print(findings)
        let failed = findings.filter { $0.grade == .bad }.count
        if failed > 0 { throw Failure(.refused, "the ledger is off: \(failed) findings") }
    }

    private func print(_ findings: [Finding]) {
        guard !json else { return Terminal.standard.print(findings.map(\.json)) }
        var table = Table(titles: ["STATUS", "CHECK", "FINDING"])
        table.rows = findings.map { [$0.grade.rawValue, $0.subject, $0.text] }
        Terminal.standard.print(table.lines.joined(separator: "\n"))
    }
}
