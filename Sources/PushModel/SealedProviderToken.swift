/// A key of Apple's that signs provider tokens, by the names that Apple gives.
package struct ProviderKeyName: Hashable, Sendable {
    /// The 10-character id of the team.
    package var teamID: String
    /// The 10-character id of the key.
    package var keyID: String

    /// Names a key.
    package init(teamID: String, keyID: String) {
        self.teamID = teamID
        self.keyID = keyID
    }
}

/// A provider token that only who has the key itself can read.
package struct SealedProviderToken: Hashable, Sendable {
    /// When it was issued (`iat`), to the second.
    package var issuedAt: Timestamp
    /// What was sealed.
    package var bytes: [UInt8]

    /// Puts one together.
    package init(issuedAt: Timestamp, bytes: [UInt8]) {
        self.issuedAt = issuedAt
        self.bytes = bytes
    }
}
