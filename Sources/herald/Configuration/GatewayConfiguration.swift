import Console
import Delivery
import GatewayAPI
import HTTPListener
import IPAddresses
import Logging
import PushModel
import Traces
import Upstream

/// What `Config/herald.yaml` and the environment say about a gateway.
struct GatewayConfiguration: Sendable {
    /// `listen`.
    var listen = Listen()
    /// `publicURL`: under which clients reach the gateway, without a slash at the end; `nil`: where it listens.
    var publicURL: String?
    /// `data`: the directory of the store.
    var dataDirectory = "data"
    /// `store`: the database that several gateways share; `nil`: the store is in ``dataDirectory``.
    var database: SharedDatabase?
    /// `projects`: the directory of the project files, or ``storedProjectsWord``.
    var projectsDirectory = "Config/projects"
    /// The keys for what is secret of stored projects.
    var secretsKeys = SecretsKeys(environment: [:])
    /// Where the values were written that can turn out wrong after reading.
    var places: [Setting: ConfigurationPlace] = [:]
    /// `operations`: a listener of their own for health, readiness and metrics; `nil`: they are on the API's.
    var operations: Operations?
    /// `console`: pages for operators.
    var console = ConsoleConfiguration()
    /// `limits`.
    var limits = Limits()
    /// `retention`.
    var retention = Retention()
    /// `apns.badDeviceTokens`: when a share of BadDeviceToken stops an app's pushes.
    var badDeviceTokens = BadDeviceTokens()
    /// `tracing`.
    var tracing = Tracing()
    /// `webhooks`.
    var webhooks = Webhooks()
    /// `log`.
    var log = Log()
    /// `https_proxy` and `no_proxy` of the environment: for apps whose project file names no proxy.
    var environmentProxy: EnvironmentProxy?
    /// `SSLKEYLOGFILE` of the environment: where the TLS secrets of the connections to APNs go.
    var keyLogFile: String?

    /// A value whose place is kept, so that a start that fails can point at it.
    enum Setting: String, CaseIterable, Sendable {
        case publicURL
        case data
        case storeURL = "store.url"
        case projects
        case host = "listen.host"
        case port = "listen.port"
        case certificate = "listen.certificate"
        case key = "listen.key"
        case operationsHost = "operations.host"
        case operationsPort = "operations.port"
        case connections = "limits.connections"
    }

    /// Where the gateway listens.
    struct Listen: Hashable, Sendable {
        /// `listen.host`: loopback unless the operator says otherwise.
        var host = "127.0.0.1"
        /// `listen.port`.
        var port = 8080
        /// `listen.certificate`: a PEM chain; with ``key`` the listener speaks TLS.
        var certificate: String?
        /// `listen.key`: the PEM key of the certificate.
        var key: String?
        /// `listen.certificates`: for other host names.
        var certificates: [CertificateFiles] = []

        /// All pairs; the first is also for clients that name no host, and for names that no certificate is for. None: the
        /// listener speaks no TLS.
        var certificateFiles: [CertificateFiles] {
            guard let certificate, let key else { return certificates }
            return [CertificateFiles(field: "listen", certificate: certificate, key: key)] + certificates
        }

        /// `http://host:port` with the port that was really bound.
        func url(port: Int) -> String {
            let name = host.contains(":") ? "[\(host)]" : host
            return "\(certificateFiles.isEmpty ? "http" : "https")://\(name):\(port)"
        }

        /// Whether every interface of the machine is meant.
        var isEveryInterface: Bool { ["0.0.0.0", "::", "[::]"].contains(host) }
    }

    /// A PEM chain and its key.
    struct CertificateFiles: Hashable, Sendable {
        /// The section that names them, such as `listen.certificates[0]`.
        var field: String
        /// The file of the chain.
        var certificate: String
        /// The file of the key.
        var key: String
        /// Where they stand; `nil`: at the settings of `listen` itself.
        var certificatePlace: ConfigurationPlace?
        var keyPlace: ConfigurationPlace?
    }

    /// A PostgreSQL database.
    struct SharedDatabase: Hashable, Sendable {
        /// `store.url`: `postgresql://…`; it may hold a password.
        var url: String
        /// `store.passwordFile`: a file with the password.
        var passwordFile: String?

        /// The URL without user and password and without parameters, for people.
        var name: String {
            let address = url.split(separator: "?", maxSplits: 1)[0]
            guard let scheme = address.firstRange(of: "://"), let at = address.lastIndex(of: "@"),
                at >= scheme.upperBound
            else { return String(address) }
            return String(address[..<scheme.upperBound] + address[address.index(after: at)...])
        }
    }

    /// Where health, readiness and metrics are asked for, without TLS.
    struct Operations: Hashable, Sendable {
        /// `operations.host`.
        var host = "127.0.0.1"
        /// `operations.port`.
        var port: Int
    }

    /// The limits of queues, batches and requests.
    struct Limits: Hashable, Sendable {
        /// `limits.messages`: messages that may wait; beyond it, and beyond the next three, new ones are refused with
        /// 429.
        var messages = 100_000
        /// `limits.bytes`: bytes of the messages that may wait.
        var bytes = 1 << 30
        /// `limits.projectMessages`: messages of one project that may wait; `nil`: as many as of all.
        var projectMessages: Int?
        /// `limits.projectBytes`: bytes of one project's messages that may wait; `nil`: as many as of all.
        var projectBytes: Int?
        /// `limits.pageSize`: recipients claimed in one step of a fan-out.
        var pageSize = 1000
        /// `limits.inFlight`: pushes handed to the upstream and not settled, for each lane.
        var inFlight = 20_000
        /// `limits.shutdownSeconds`: how long a stopping gateway waits for answers.
        var shutdownSeconds = 20
        /// `limits.bodyBytes`: the largest request body.
        var bodyBytes = 4_194_304
        /// `limits.batchBodyBytes`: the largest body of a batch of messages.
        var batchBodyBytes = 33_554_432
        /// `limits.clientAddressRate`: requests a second that one address may make with client keys; 0: any number.
        var clientAddressRate = 100
        /// `limits.clientRegistrationRate`: requests a second that one registration may make; 0: any number.
        var clientRegistrationRate = 5
        /// `limits.clientProjectRate`: requests a second with the client keys of one project; 0: any number.
        var clientProjectRate = 10_000
        /// `limits.newRegistrationAddressRate`: new registrations a second from one address, 200 at once; 0: any number.
        var newRegistrationAddressRate = 5
        /// `limits.newRegistrationProjectRate`: new registrations a second in one project; 0: any number.
        var newRegistrationProjectRate = 1000
        /// `limits.failedAuthenticationRate`: failed authentications a second from one address; 0: any number.
        var failedAuthenticationRate = 5
        /// `limits.newLinkAddressRate`: short links a second that one address may make with client keys; 0: any number.
        var newLinkAddressRate = 5
        /// `limits.newLinkProjectRate`: short links a second with the client keys of one project; 0: any number.
        var newLinkProjectRate = 1000
        /// `limits.linkMissRate`: requests a second from one address for short links that are not there; 0: any number.
        var linkMissRate = 1
        /// `limits.connections`: connections that may be open, as far as there are descriptors.
        var connections = 10_000
        /// `limits.addressConnections`: connections from one address; `nil`: half of all, and any number behind proxies,
        /// which all come from a few addresses.
        var addressConnections: Int?
        /// `limits.proxies`: proxies in front that add whom they ask for to X-Forwarded-For.
        var proxies = 0
        /// `limits.freeBytes`: below so many free bytes on the store's disk new messages are refused with 503; 0: never.
        var freeBytes = 1 << 29
        /// `limits.upstreamThreads`: threads that talk to push services, of each engine.
        var upstreamThreads = 2
        /// `limits.upstreamConnections`: connections to APNs for each key or certificate and environment.
        var upstreamConnections = 4
    }

    /// How long what happened is kept.
    struct Retention: Hashable, Sendable {
        /// What becomes of messages of projects whose files do not say.
        var messages = RetentionPolicy()
        /// `retention.eventHours`: how long events can be read, an hour to a year.
        var eventHours = 168
    }

    /// When a share of BadDeviceToken is taken for registrations in the wrong environment.
    struct BadDeviceTokens: Hashable, Sendable {
        /// `apns.badDeviceTokens.share`: of the answers in the window, above 0 up to 1.
        var share = 0.5
        /// `apns.badDeviceTokens.atLeast`: so many answers there must be.
        var atLeast = 100
        /// `apns.badDeviceTokens.windowSeconds`: how far back answers count.
        var windowSeconds = 60
    }

    /// Which messages are traced, and where their spans go.
    struct Tracing: Hashable, Sendable {
        /// A field of each request to the collector.
        struct Header: Hashable, Sendable {
            /// The name.
            var name: String
            /// The value, which may be a secret.
            var value: String
        }

        /// `tracing.endpoint` with the path of traces: where spans are sent; `nil`: nothing is traced.
        var url: String?
        /// `tracing.sample`, and whether callers that send a `traceparent` decide.
        var sampler = TraceSampler(share: 0.01)
        /// What the process is called in traces.
        var serviceName = "herald"
        /// Fields of each request to the collector.
        var headers: [Header] = []
    }

    /// Where webhooks may go beside https to the Internet.
    struct Webhooks: Hashable, Sendable {
        /// `webhooks.allowHTTP`: hosts that may be asked without TLS.
        var allowHTTP: [String] = []
        /// `webhooks.allowNetworks`: networks that hosts may lead to.
        var allowNetworks: [IPNetwork] = []
        /// `webhooks.proxy`, with what `webhooks.proxyCredentialsFile` holds; `nil`: requests go directly.
        var proxy: UpstreamProxy?
    }

    /// The level and the form of log lines.
    struct Log: Hashable, Sendable {
        /// `log.level`.
        var level = Logger.Level.info
        /// `log.format`.
        var format = LogFormat.text
    }
}

/// The form of log lines.
enum LogFormat: String, Hashable, Sendable, CaseIterable {
    /// Time, level, message, key=value.
    case text
    /// One JSON object a line.
    case json
}

extension GatewayConfiguration {
    /// Where a value was written: file and line, or the variable or option that gave it.
    func place(of setting: Setting) -> ConfigurationPlace {
        places[setting] ?? ConfigurationPlace(source: "Config/herald.yaml", line: nil)
    }

    /// The problem of a value that was read but can't be used.
    func problem(_ setting: Setting, _ text: String) -> ConfigurationProblem {
        let place = place(of: setting)
        // An option of the command line says itself what it sets.
        return ConfigurationProblem(place, field: place.source.hasPrefix("--") ? nil : setting.rawValue, text)
    }

    /// A problem with a certificate or with its key.
    func problem(ofKey isKey: Bool, _ files: CertificateFiles, _ text: String) -> ConfigurationProblem {
        guard let place = isKey ? files.keyPlace : files.certificatePlace else {
            return problem(isKey ? .key : .certificate, text)
        }
        return ConfigurationProblem(place, field: "\(files.field).\(isKey ? "key" : "certificate")", text)
    }

    /// The host and port of the listener that a port setting is of.
    func address(of port: Setting) -> (host: String, port: Int) {
        if port == .operationsPort, let operations { return (operations.host, operations.port) }
        return (listen.host, listen.port)
    }

    /// The listener as the API module takes it.
    var listener: GatewayListener {
        let pairs = listen.certificateFiles.map { (certificateFile: $0.certificate, keyFile: $0.key) }
        var http = ListenerConfiguration(
            host: listen.host, port: listen.port, tls: pairs.first, shutdownLimit: .seconds(limits.shutdownSeconds))
        http.otherCertificates = Array(pairs.dropFirst())
        http.connectionLimits = connectionLimits(descriptors: DescriptorLimit.current)
        return GatewayListener(
            http, bodyLimits: BodyLimits(standard: limits.bodyBytes, batch: limits.batchBodyBytes),
            routes: .api(withOperations: operations == nil))
    }

    /// The listener for operations; `nil`: there is none.
    var operationsListener: GatewayListener? {
        guard let operations else { return nil }
        var http = ListenerConfiguration(
            host: operations.host, port: operations.port, tls: nil, shutdownLimit: .seconds(limits.shutdownSeconds))
        http.connectionLimits = ConnectionLimits(total: Self.operationsConnections)
        return GatewayListener(http, routes: .operations)
    }

    /// As many topics as clients of one address make in an hour: at the usual `topics.clientLimit` they need four days.
    private static let hourlyNewTopics = 100

    /// As many connections as the listener for operations takes.
    private static let operationsConnections = 32

    /// How many connections the API takes: the configured number, as far as the process's descriptors go. Of these a
    /// quarter, at least 96 and at most half, stays for the store, for push services and for connections that are closing.
    ///
    /// - Parameter descriptors: `nil`: unknown.
    func connectionLimits(descriptors: Int?) -> ConnectionLimits {
        var total = limits.connections
        if let descriptors {
            let reserved = min(descriptors / 2, max(96, descriptors / 4))
            let others = operations == nil ? 0 : Self.operationsConnections
            total = max(8, min(total, descriptors - reserved - others))
        }
        let usual = limits.proxies > 0 ? nil : max(4, total / 2)
        return ConnectionLimits(total: total, perAddress: limits.addressConnections ?? usual)
    }

    /// How often clients may ask, as the API module takes it.
    var clientRates: ClientRateLimits.Rates {
        var rates = ClientRateLimits.Rates(
            address: limits.clientAddressRate, registration: limits.clientRegistrationRate,
            project: limits.clientProjectRate, newRegistrationAddress: limits.newRegistrationAddressRate,
            newRegistrationProject: limits.newRegistrationProjectRate, failures: limits.failedAuthenticationRate,
            proxies: limits.proxies)
        rates.newLinkAddress = limits.newLinkAddressRate
        rates.newLinkProject = limits.newLinkProjectRate
        rates.hourlyNewTopics = limits.clientAddressRate > 0 ? Self.hourlyNewTopics : 0
        return rates
    }

    /// The limits as the APNs module takes them.
    var badDeviceTokenLimits: DoubtfulAddressLimits {
        var limits = DoubtfulAddressLimits()
        limits.share = badDeviceTokens.share
        limits.atLeast = badDeviceTokens.atLeast
        limits.window = .seconds(badDeviceTokens.windowSeconds)
        return limits
    }

    /// The limits as the delivery module takes them.
    var deliveryLimits: DeliveryLimits {
        var values = DeliveryLimits()
        values.messagesWaiting = limits.messages
        values.bytesWaiting = limits.bytes
        values.projectMessagesWaiting = limits.projectMessages
        values.projectBytesWaiting = limits.projectBytes
        values.pageSize = limits.pageSize
        values.inFlight = limits.inFlight
        values.shutdown = .seconds(limits.shutdownSeconds)
        values.gathering = .milliseconds(5)
        values.noticeRest = .seconds(1)
        return values
    }
}
