import Foundation

/// The app's links: makes them short, resolves those that open the app, and asks after an install for the one that led to
/// it. The names are those of Firebase's SDK.
///
/// ``configure(options:transport:)`` comes first, in `application(_:didFinishLaunchingWithOptions:)`, unless the Info.plist
/// has a dictionary `HeraldLinks` (see ``HeraldLinksOptions/init(infoDictionary:bundleID:)``). A server that makes links
/// may have one instance for each project, by ``init(options:transport:record:)``.
public final class DynamicLinks: Sendable {
    /// What requests say of themselves.
    static let sdkVersion = "HeraldLinks 1"

    /// The settings; `nil`: there are none.
    let options: HeraldLinksOptions?
    private let transport: any LinkTransport
    let record: any FirstLaunchRecord
    /// Whether a retrieval is under way.
    let isRetrieving = Locked(false)

    private static let shared = Locked<DynamicLinks?>(nil)

    /// Makes an instance of one's own beside ``dynamicLinks()``.
    public init(
        options: HeraldLinksOptions, transport: any LinkTransport = URLSessionTransport(),
        record: any FirstLaunchRecord = UserDefaultsRecord()
    ) {
        self.options = options
        self.transport = transport
        self.record = record
    }

    private init(infoDictionary: [String: Any]?) {
        options = HeraldLinksOptions(infoDictionary: infoDictionary)
        transport = URLSessionTransport()
        record = UserDefaultsRecord()
    }

    /// Sets the gateway that ``dynamicLinks()`` and ``DynamicLinkComponents`` speak to.
    public static func configure(
        options: HeraldLinksOptions, transport: any LinkTransport = URLSessionTransport()
    ) {
        let links = DynamicLinks(options: options, transport: transport)
        shared.withLock { $0 = links }
    }

    /// The shared instance: the configured one, or one with the Info.plist's settings.
    public static func dynamicLinks() -> DynamicLinks {
        shared.withLock { links in
            if let links { return links }
            let made = DynamicLinks(infoDictionary: Bundle.main.infoDictionary)
            links = made
            return made
        }
    }

    /// The gateway of the settings.
    func gateway() throws(DynamicLinksError) -> LinkGateway {
        guard let options else {
            throw DynamicLinksError(
                .notConfigured,
                "Call DynamicLinks.configure(options:), or give the Info.plist a dictionary HeraldLinks with Host and APIKey."
            )
        }
        return LinkGateway(options: options, transport: transport)
    }
}
