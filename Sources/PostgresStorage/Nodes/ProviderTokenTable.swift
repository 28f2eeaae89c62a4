import PushModel
import SQLStorage
import Store

/// The provider tokens that nodes share, within a transaction.
struct ProviderTokenTable {
    let db: any Database

    /// How long a token stays that no node replaces: Apple takes none that is older than an hour.
    private static let kept: Duration = .seconds(86_400)

    private static let byName = "SELECT issued_at, sealed FROM provider_token WHERE team = ? AND key_id = ?"
    private static let insertion = """
        INSERT INTO provider_token (issued_at, sealed, team, key_id) VALUES (?, ?, ?, ?)
        """
    private static let change = "UPDATE provider_token SET issued_at = ?, sealed = ? WHERE team = ? AND key_id = ?"

    func token(of key: ProviderKeyName) throws -> SealedProviderToken? {
        let row = try db.statement(Self.byName)
        row.bind(key.teamID)
        row.bind(key.keyID)
        guard try row.next() else { return nil }
        defer { row.reset() }
        return SealedProviderToken(issuedAt: Timestamp(milliseconds: row.number(0)), bytes: row.bytes(1))
    }

    /// Keeps a token unless another than `former` is there.
    ///
    /// - Returns: the one that is there now.
    func keep(
        _ token: SealedProviderToken, of key: ProviderKeyName, replacing former: SealedProviderToken?, at now: Timestamp
    ) throws -> SealedProviderToken {
        let found = try self.token(of: key)
        if let found, found != former { return found }
        let write = try db.statement(found == nil ? Self.insertion : Self.change)
        write.bind(token.issuedAt.milliseconds)
        write.bind(blob: token.bytes)
        write.bind(key.teamID)
        write.bind(key.keyID)
        try write.run()
        let removal = try db.statement("DELETE FROM provider_token WHERE issued_at < ?")
        removal.bind((now + (.zero - Self.kept)).milliseconds)
        try removal.run()
        return token
    }
}
