import PushModel

/// What a file says about how long messages are kept: the same fields for the gateway and for a project, whose file
/// overrides the gateway's.
struct RetentionSection: Hashable, Sendable {
    /// A field of `retention`.
    enum Field: String, CaseIterable, Sendable {
        case ledgerDays
        case payloadDays
        case idempotencyHours
        case receiptsDays

        /// What it may be: up to ten years; keys up to a month.
        var range: ClosedRange<Int> {
            switch self {
            case .ledgerDays, .receiptsDays: 1...3650
            case .payloadDays: 0...3650
            case .idempotencyHours: 1...744
            }
        }
    }

    /// The names of the fields.
    static let keys = Field.allCases.map(\.rawValue)

    /// The fields that are given.
    var values: [Field: Int] = [:]

    /// Nothing is given.
    init() {}

    /// Reads the section of a project file.
    init(_ section: ConfigurationSection, problems: inout [ConfigurationProblem]) {
        section.refuseUnknownKeys(known: Self.keys, problems: &problems)
        for field in Field.allCases {
            values[field] = section.integer(field.rawValue, in: field.range, problems: &problems)
        }
    }

    /// The policy of these fields; one that is not given is as in `base`, or as long as the ledger if that is shorter.
    func policy(over base: RetentionPolicy) -> RetentionPolicy {
        RetentionPolicy(
            ledgerDays: values[.ledgerDays] ?? base.ledgerDays, payloadDays: values[.payloadDays] ?? base.payloadDays,
            idempotencyHours: values[.idempotencyHours] ?? base.idempotencyHours,
            receiptsDays: values[.receiptsDays] ?? base.receiptsDays)
    }

    /// The fields that say more than the ledger is kept, with the text of each problem.
    func conflicts(over base: RetentionPolicy) -> [(field: Field, text: String)] {
        let policy = policy(over: base)
        let most: [(Field, Int)] = [
            (.payloadDays, policy.payloadDays), (.idempotencyHours, policy.idempotencyHours),
            (.receiptsDays, policy.receiptsDays),
        ]
        return most.compactMap { field, most in
            guard let value = values[field], value > most else { return nil }
            return (
                field,
                "\(value) is longer than retention.ledgerDays (\(policy.ledgerDays)); nothing outlives the ledger"
            )
        }
    }
}
