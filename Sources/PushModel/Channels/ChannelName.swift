/// What senders call a broadcast channel; unique among those of its app and environment.
package struct ChannelName: TextIdentifier {
    /// What a name is made of, for messages.
    package static let expectation = "1 to 255 of A-Z a-z 0-9 - _ . ~"

    /// The name.
    package let rawValue: String

    /// Takes 1 to 255 of `A-Za-z0-9-_.~`, which stand in URLs as they are.
    package init?(rawValue: String) {
        guard rawValue.isMade(of: "-_.~", upTo: 255) else { return nil }
        self.rawValue = rawValue
    }
}
