/// Why a message was refused, in FCM's terms: violations in the order of the text, at least one.
package struct InvalidMessage: Error, Hashable, Sendable {
    /// As many violations are listed at most: a request full of mistakes must not get an answer larger than itself.
    package static let violationLimit = 20

    /// What is wrong, field by field.
    package let violations: [FieldViolation]
    /// Whether FCM answers with an FcmError detail (a rule of FCM's) or with a bare BadRequest (a rule of the JSON
    /// front end: unknown name, wrong type).
    package let isFrontEnd: Bool

    /// Describes a refusal; of more violations than ``violationLimit`` the first ones count.
    package init(_ violations: [FieldViolation], isFrontEnd: Bool = false) {
        self.violations = Array(violations.prefix(Self.violationLimit))
        self.isFrontEnd = isFrontEnd
    }
}

/// One wrong field (google.rpc.BadRequest.FieldViolation).
package struct FieldViolation: Hashable, Sendable {
    /// The path of the field, such as `message.apns.payload.aps.badge`.
    package let field: String
    /// What is wrong with it, a sentence for the sender.
    package let description: String
    /// What programs may want to tell from other violations; `nil`: the field says it.
    package let cause: Cause?

    /// What programs may want to tell from other violations.
    package enum Cause: Hashable, Sendable {
        /// The schema has no such name.
        case unknownField
        /// The value is of another type.
        case wrongType
        /// The finished payload, or the part for another platform, is over its limit.
        case payloadTooLarge
    }

    /// Describes a violation.
    package init(field: String, description: String, cause: Cause? = nil) {
        self.field = field
        self.description = description
        self.cause = cause
    }

    /// Whether both say the same of the same field; the cause is the same then.
    package static func == (lhs: FieldViolation, rhs: FieldViolation) -> Bool {
        lhs.field == rhs.field && lhs.description == rhs.description
    }

    /// Hashes what the two say.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(field)
        hasher.combine(description)
    }
}
