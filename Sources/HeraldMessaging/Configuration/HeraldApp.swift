import Foundation

/// An app of a project: options, and the ``Messaging`` that has them. Most apps have one; one that gets messages of several
/// projects has one for each.
public final class HeraldApp: Sendable {
    /// The name of the app that ``configure(options:)`` makes.
    public static let defaultName = "default"

    /// The name, which also names its files.
    public let name: String
    /// The options.
    public let options: HeraldOptions
    /// What registers and receives.
    let messaging: Messaging

    private static let apps = Locked<[String: HeraldApp]>([:])

    private init(name: String, options: HeraldOptions, messaging: Messaging) {
        self.name = name
        self.options = options
        self.messaging = messaging
    }

    /// Makes the app with the options of `Herald-Info.plist`, or of the dictionary `Herald` in the Info.plist. Call it first
    /// in `application(_:didFinishLaunchingWithOptions:)`.
    ///
    /// Without options nothing is made, and what is asked of ``Messaging`` ends with an error that says so.
    public static func configure() {
        guard let options = HeraldOptions.defaultOptions() else { return }
        configure(options: options)
    }

    /// Makes the app with these options.
    public static func configure(options: HeraldOptions) { configure(name: defaultName, options: options) }

    /// Makes a further app with a name of letters, digits, `-` and `_`. The first one of a name stays.
    public static func configure(name: String, options: HeraldOptions) {
        configure(
            name: name, options: options, transport: URLSessionMessagingTransport(),
            storage: FileMessagingStorage(name: name, options: options))
    }

    /// Makes an app that speaks by another transport or keeps its files elsewhere.
    public static func configure(
        name: String, options: HeraldOptions, transport: any MessagingTransport, storage: any MessagingStorage
    ) {
        precondition(isName(name), "the name of an app is of letters, digits, - and _: \(name)")
        let messaging = Messaging(options: options, transport: transport, storage: storage)
        let isNew = apps.withLock { apps in
            guard apps[name] == nil else { return false }
            apps[name] = HeraldApp(name: name, options: options, messaging: messaging)
            return true
        }
        if isNew { messaging.start() }
    }

    /// The app that ``configure(options:)`` made.
    public static func app() -> HeraldApp? { app(name: defaultName) }

    /// The app of a name.
    public static func app(name: String) -> HeraldApp? { apps.withLock { $0[name] } }

    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.unicodeScalars.allSatisfy {
                $0.isASCII
                    && ($0.properties.isAlphabetic || $0.properties.numericType != nil
                        || "-_".unicodeScalars.contains($0))
            }
    }
}
