import Foundation

/// What an install keeps between two launches.
struct MessagingRecord: Hashable, Sendable, Codable {
    /// What the gateway knows of the install.
    enum Stage: Hashable, Sendable, Codable {
        /// Nothing. Next: installed.
        case uninstalled
        /// It has tokens of its own. Next: registered; uninstalled when the gateway does not know it any more.
        case installed(Installation)
        /// Senders reach it. Next: registered otherwise; installed when the registration was ended; uninstalled.
        case registered(Installation, AppRegistration)
    }

    /// As many topic changes wait at most; a further one is refused.
    static let topicLimit = 1000
    /// As many receipts wait at most; the oldest go.
    static let receiptLimit = 1000
    /// As many messages are remembered, to know one that comes again.
    static let seenLimit = 100

    /// Whose it is: of another gateway, project or app nothing is of use.
    struct Place: Hashable, Sendable, Codable {
        let baseURL: URL
        let project: String
        let appID: String

        init(_ options: HeraldOptions) {
            (baseURL, project, appID) = (options.baseURL, options.project, options.appID)
        }
    }

    var stage = Stage.uninstalled
    /// `nil`: nothing was kept yet.
    var place: Place?
    /// In the order in which they were asked for.
    var topics: [TopicChange] = []
    var nextTopicID: UInt64 = 0
    var receipts: [MessagingReceipt] = []
    /// The receipts that went for others.
    var droppedReceipts = 0
    /// The ids of the last messages.
    var seen: [String] = []
    var user: UserChange?
    /// Topic changes from this id on were asked for after ``user``, and are not those of the user before.
    var userTopicID: UInt64 = 0
    /// Whether the app has asked to be registered, and not to be forgotten since: another launch goes on with it.
    var isWanted = false
    /// The gateway's clock less the device's, in seconds, as of the last answer.
    var clockOffset: TimeInterval = 0
    /// What the app has set; `nil`: what its options say.
    var isAutoInitEnabled: Bool?
    var isReceiptReportingEnabled: Bool?

    /// What an app at a place has of it: all, or no more than what the app itself has set.
    func taken(to place: Place) -> MessagingRecord {
        guard self.place != place else { return self }
        var record = MessagingRecord()
        record.place = place
        record.isAutoInitEnabled = isAutoInitEnabled
        record.isReceiptReportingEnabled = isReceiptReportingEnabled
        return record
    }
}
