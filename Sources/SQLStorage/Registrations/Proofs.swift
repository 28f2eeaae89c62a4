import PushModel
import Store

/// Acceptances that prove addresses, gathered for two statements where each statement goes to a server.
struct Proofs {
    private struct Proof {
        let key: Int64
        let address: [UInt8]
        /// The channel that it was sent by.
        let sent: Int
        let proven: Int
        let time: Int64
    }

    private var proofs: [Proof] = []
    private var keys: Set<Int64> = []

    /// As ``RegistrationTable/proveFirst``, of those that were sent by the channel that they prove; for PostgreSQL. The
    /// values of a registration are found by halving.
    static let first = """
        UPDATE registration SET proven_at = (?4::bigint[])[width_bucket(key, ?1::bigint[])]
        WHERE key = ANY (?1::bigint[]) AND address = (?2::bytea[])[width_bucket(key, ?1::bigint[])]
            AND channel = (?3::bigint[])[width_bucket(key, ?1::bigint[])]
            AND proven_at IS NULL AND quarantined_at IS NULL
        """
    /// As ``RegistrationTable/prove``.
    static let others = """
        UPDATE registration SET proven_at = (?4::bigint[])[width_bucket(key, ?1::bigint[])],
            channel = (?5::bigint[])[width_bucket(key, ?1::bigint[])], quarantined_at = NULL, quarantine_reason = NULL
        WHERE key = ANY (?1::bigint[]) AND address = (?2::bytea[])[width_bucket(key, ?1::bigint[])]
            AND channel = (?3::bigint[])[width_bucket(key, ?1::bigint[])]
            AND (proven_at IS NULL OR channel <> (?5::bigint[])[width_bucket(key, ?1::bigint[])])
        """

    /// Takes one; of a registration of which there is one already after that is written.
    mutating func add(
        _ sent: DeliveryRegistration, in channel: Channel, at time: Timestamp, to db: any Database
    ) throws {
        let key = sent.key.rawValue
        if keys.contains(key) { try write(to: db) }
        keys.insert(key)
        proofs.append(
            Proof(
                key: key, address: sent.address.identity, sent: sent.channel.code, proven: channel.code,
                time: time.milliseconds))
    }

    /// Writes those that were taken.
    mutating func write(to db: any Database) throws {
        guard !proofs.isEmpty else { return }
        proofs.sort { $0.key < $1.key }
        let first = try Self.bound(Self.first, proofs.filter { $0.sent == $0.proven }, in: db)
        try first.post()
        // Nearly always it finds nothing left: what is proven is passed by.
        let others = try Self.bound(Self.others, proofs, in: db)
        others.bind(numbers: proofs.map { Int64($0.proven) })
        try others.post()
        proofs.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
    }

    private static func bound(_ sql: String, _ proofs: [Proof], in db: any Database) throws -> any PreparedStatement {
        let statement = try db.statement(sql)
        statement.bind(numbers: proofs.map(\.key))
        statement.bind(blobs: proofs.map(\.address))
        statement.bind(numbers: proofs.map { Int64($0.sent) })
        statement.bind(numbers: proofs.map(\.time))
        return statement
    }
}
