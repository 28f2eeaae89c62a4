/// Makes the finished bytes of messages for apps on their channel. A message is read once and composed once for each app.
package protocol PushComposer: Sendable {
    /// Reads a message's content from the store. What was accepted is not refused, whatever this version takes.
    func content(stored bytes: [UInt8]) throws(UnreadableContent) -> any MessageContent

    /// Composes what a message says to the devices of one app.
    ///
    /// - Throws: ``InvalidMessage`` that names the field which does not fit the app, for size both sizes.
    func compose(_ content: any MessageContent, in context: PushContext) throws(InvalidMessage) -> any ComposedPush
}

/// What one message says to the devices of one app: made once, shared by all pushes of a broadcast.
package protocol ComposedPush: AnyObject, Sendable {
    /// The body.
    var payload: [UInt8] { get }
    /// Whether the body of each device is one of its own, see ``payload(for:)``.
    var isPersonal: Bool { get }
    /// What the upstream knows the app by: pauses are for one.
    var topic: String { get }
    /// With regard to the device's power.
    var priority: PushPriority { get }
    /// Pushes of one id replace each other on the screen.
    var collapseID: String? { get }

    /// The body for one registration.
    func payload(for registration: RegistrationID) -> [UInt8]
}

/// Values of a push's priority, as numbers that reports and the store have.
package enum PushPriority: Int, Hashable, Sendable, CaseIterable {
    /// Never wakes the device.
    case low = 1
    /// With regard to the device's power.
    case conserving = 5
    /// At once.
    case immediate = 10
}

/// What the finished bytes depend on beside the message's content.
package struct PushContext: Sendable {
    /// The message's id.
    package var message: MessageID
    /// The sender's project number.
    package var projectNumber: Int64
    /// The topic of a broadcast.
    package var broadcastTopic: Topic?
    /// Whether it goes to more than one registration by its target: what names one device is refused then.
    package var isForMany: Bool
    /// Whether an alert without a collapse id gets the message's id as one, so that a repeat of the push replaces
    /// the first on the screen.
    package var collapsesRepeats: Bool
    /// What is stored of publications to the broadcast channel that it goes to; `nil`: it goes to devices.
    package var broadcast: StoragePolicy?
    /// The app of the devices.
    package var app: App
    /// When the message stops being worth delivering.
    package var expiresAt: Timestamp
    /// When it was accepted: what a platform's own time to live counts from; `nil`: no such time counts.
    package var acceptedAt: Timestamp?
    /// Whether the push service is to check the message and to deliver nothing, as far as it can.
    package var isDryRun = false

    /// Puts a context together.
    package init(
        message: MessageID, projectNumber: Int64, broadcastTopic: Topic?, isForMany: Bool = false,
        collapsesRepeats: Bool = false, broadcast: StoragePolicy? = nil, app: App, expiresAt: Timestamp,
        acceptedAt: Timestamp? = nil
    ) {
        self.message = message
        self.projectNumber = projectNumber
        self.broadcastTopic = broadcastTopic
        self.isForMany = isForMany || broadcastTopic != nil
        self.collapsesRepeats = collapsesRepeats
        self.broadcast = broadcast
        self.app = app
        self.expiresAt = expiresAt
        self.acceptedAt = acceptedAt
    }
}
