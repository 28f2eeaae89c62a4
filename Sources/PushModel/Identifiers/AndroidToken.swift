/// The registration token that Google's push service gave an Android app: 1 to 4096 bytes of printable ASCII without a
/// space. Not what senders hold, which is a ``RegistrationToken`` of this gateway. A secret: it never goes into a log.
package struct AndroidToken: TextIdentifier {
    /// The token.
    package let rawValue: String

    /// Takes `rawValue` when it has the form of such a token.
    package init?(rawValue: String) {
        guard (1...4096).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        self.rawValue = rawValue
    }

    /// The last six characters: tokens are secrets.
    package var description: String { "…" + String(rawValue.suffix(6)) }
}
