public import Foundation

/// The app's push messages: registers the app install, keeps it registered, joins topics and acknowledges messages. The names
/// are those of Firebase's SDK.
///
/// ``HeraldApp/configure()`` comes first. From then on one request after the other goes to the gateway, whenever there is
/// something to say and it can be reached; what the app asks for meanwhile is kept in a file. All of it may be called from
/// any thread.
public final class Messaging: Sendable {
    struct State: Sendable {
        /// `nil`: what is kept could not be read yet.
        var core: RegistrationState?
        /// What is in the storage.
        var kept: MessagingRecord?
        var waiters = MessagingWaiters()
        /// What the app asked for before what is kept could be read.
        var early: [@Sendable (inout RegistrationState) -> Void] = []
        var delegate = WeakDelegate()
        /// What the delegate heard last; `nil`: nothing in this launch.
        var announced: String?
        /// The token that the app had last, unless it has ended the registration.
        var lastToken: String?
        /// Whether the loop runs.
        var isRunning = false
        /// Whether something happened that the loop may have missed.
        var isWoken = false
        var timer: Task<Void, Never>?
        var lastError: MessagingError?
    }

    struct WeakDelegate: Sendable {
        weak var value: (any MessagingDelegate)?
    }

    /// `nil`: no app was configured.
    let options: HeraldOptions?
    let gateway: MessagingGateway?
    let storage: (any MessagingStorage)?
    let clock: MessagingClock
    let state = Locked(State())

    /// What ``messaging()`` gives before an app was configured: each call of it ends with an error.
    private static let unconfigured = Messaging()

    private init() {
        (options, gateway, storage, clock) = (nil, nil, nil, .system)
    }

    /// Makes one for an app; nothing happens before ``start()``.
    package init(
        options: HeraldOptions, transport: any MessagingTransport, storage: any MessagingStorage,
        clock: MessagingClock = .system
    ) {
        self.options = options
        gateway = MessagingGateway(options: options, transport: transport)
        self.storage = storage
        self.clock = clock
    }

    /// The one of the app that ``HeraldApp/configure(options:)`` made.
    public static func messaging() -> Messaging { HeraldApp.app()?.messaging ?? unconfigured }

    /// The one of a further app.
    public static func messaging(app: HeraldApp) -> Messaging { app.messaging }

    /// What a notification service extension uses.
    public static func serviceExtension() -> MessagingExtensionHelper {
        MessagingExtensionHelper(name: HeraldApp.defaultName, options: HeraldOptions.defaultOptions())
    }

    /// The same for a further app, with the name and the options that the app configures it with. Each app's own acknowledges
    /// the messages of its project, where the options say ``HeraldOptions/senderID``.
    public static func serviceExtension(name: String, options: HeraldOptions) -> MessagingExtensionHelper {
        MessagingExtensionHelper(name: name, options: options)
    }

    /// Begins to register, if the app shall be registered.
    package func start() {
        load()
        wake()
    }

    // MARK: Settings

    /// Hears of the registration; held weakly.
    public var delegate: (any MessagingDelegate)? {
        get { state.withLock { $0.delegate.value } }
        set {
            state.withLock { $0.delegate.value = newValue }
            wake()
        }
    }

    /// Whether the app registers by itself as soon as it has a device token. What is set here is kept; before, the options
    /// say it.
    public var isAutoInitEnabled: Bool {
        get { read { $0.isAutoInitEnabled } ?? options?.isAutoInitEnabled ?? false }
        set { change { $0.setAutoInit(newValue) } }
    }

    /// Whether the gateway hears of messages that came, were shown or opened. Without it ``appDidReceiveMessage(_:)`` and its
    /// like send nothing. What is set here is kept; before, the options say it.
    public var isReceiptReportingEnabled: Bool {
        get { read { $0.isReceiptReportingEnabled } ?? options?.isReceiptReportingEnabled ?? false }
        set { change { $0.setReceiptReporting(newValue) } }
    }

    /// Whether the delegate hears of installation ids instead of tokens. Senders may use either; unlike in Firebase's SDK
    /// the token is there too.
    public var isInstallationIdEnabled: Bool { options?.isInstallationIdEnabled ?? false }

    // MARK: What is known

    /// The device token of APNs. Set it in `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    public var apnsToken: Data? {
        get { read { $0.apnsToken } ?? nil }
        set { if let newValue { setAPNSToken(newValue, type: .unknown) } }
    }

    /// Sets the device token of APNs with its environment, where that can't be found out.
    ///
    /// - Parameter type: `.unknown`: what the options say, otherwise what the app's provisioning profile says, otherwise what
    ///   the gateway's project file says.
    public func setAPNSToken(_ apnsToken: Data, type: MessagingAPNSTokenType) {
        var environment = type == .unknown ? options?.environment ?? .unknown : type
        if environment == .unknown { environment = .detected }
        change { [environment] in $0.setAPNSToken(apnsToken, environment: environment) }
    }

    /// The registration token as of the last answer; `nil`: there is none yet.
    public var fcmToken: String? { read { $0.registration?.token } ?? nil }

    /// The installation id of the registration; `nil`: there is none yet.
    public var installationId: String? { read { $0.registration?.id } ?? nil }

    /// What waits for the gateway.
    public var queue: MessagingQueue {
        let record = read { $0.record }
        return MessagingQueue(
            topicChanges: record?.topics.count ?? 0, receipts: record?.receipts.count ?? 0,
            droppedReceipts: record?.droppedReceipts ?? 0)
    }

    /// Why the last request came to nothing; `nil`: none has, in this launch.
    public var lastError: MessagingError? { state.withLock { $0.lastError } }

    /// Where the registration stands.
    package var phase: String? { read { $0.phase.rawValue } }

    private func read<Value: Sendable>(_ body: @Sendable (RegistrationState) -> Value) -> Value? {
        state.withLock { $0.core.map(body) }
    }

    /// Applies an event of the app, now or once what is kept has been read.
    func change(_ body: @escaping @Sendable (inout RegistrationState) -> Void) {
        state.withLock { state in
            if state.core?.apply(body) == nil { state.early.append(body) }
        }
        wake()
    }
}
