package import PushModel

/// How answers are judged that an address belongs to another credential than the one that sent. Either the address is at
/// fault, or the configuration: with the wrong key or account all addresses look like this, and none may be lost by it.
package struct MismatchLimits: Hashable, Sendable {
    /// The reason of such answers.
    package let reason: Reason
    /// So many answers an address gets, without an acceptance between them, before it is doubtful.
    package let confirmations: Int
    /// From so many within an hour on the credential is at fault, when nothing was accepted in that time.
    package let withoutAcceptance: Int
    /// Above this share of the acceptances and such answers of an hour the credential is at fault, too…
    package let share: Double
    /// …once there are so many of both.
    package let answers: Int

    /// Sets limits.
    package init(reason: Reason, confirmations: Int, withoutAcceptance: Int, share: Double, answers: Int = 20) {
        self.reason = reason
        self.confirmations = confirmations
        self.withoutAcceptance = withoutAcceptance
        self.share = share
        self.answers = answers
    }
}

/// What was answered of late to the pushes of one credential: acceptances, and that addresses belong to another one. A value
/// without clock or I/O.
struct MismatchedAddresses {
    /// Who is at fault.
    enum Verdict: Hashable {
        /// The address: it is doubtful.
        case address
        /// Not clear yet: the push ends, and nothing is held against the address.
        case push
        /// The credential: such pushes wait.
        case credential
    }

    /// How far back answers count.
    static let window: Duration = .seconds(3600)
    /// The most addresses that are remembered; of further ones each answer is the first.
    static let limit = 50_000
    /// The window moves in so many steps.
    private static let steps: Int64 = 12

    private struct Slice {
        let number: Int64
        var accepted = 0
        var mismatched = 0
    }

    private var slices: [Slice] = []
    /// How many such answers each address got since it was last accepted.
    private var counts: [Address: Int] = [:]

    /// Whether an acceptance has anything to be told of.
    var isEmpty: Bool { counts.isEmpty }

    /// Counts answers that came now.
    mutating func count(accepted: Int, mismatched: Int, at now: Duration) {
        let number = now.wholeMilliseconds / (Self.window.wholeMilliseconds / Self.steps)
        slices.removeAll { $0.number <= number - Self.steps }
        if accepted + mismatched == 0 { return }
        if slices.last?.number != number { slices.append(Slice(number: number)) }
        slices[slices.count - 1].accepted += accepted
        slices[slices.count - 1].mismatched += mismatched
    }

    /// The service took a push to the address.
    mutating func accepted(_ address: Address) { counts[address] = nil }

    /// Who is at fault for an answer about this address, which was counted.
    mutating func verdict(on address: Address, by limits: MismatchLimits) -> Verdict {
        let accepted = slices.reduce(0) { $0 + $1.accepted }
        let mismatched = slices.reduce(0) { $0 + $1.mismatched }
        if accepted == 0 { return mismatched >= limits.withoutAcceptance ? .credential : .push }
        let all = accepted + mismatched
        if all >= limits.answers, Double(mismatched) > limits.share * Double(all) { return .credential }
        let count = (counts[address] ?? 0) + 1
        guard count < limits.confirmations else {
            counts[address] = nil
            return .address
        }
        if counts[address] != nil || counts.count < Self.limit { counts[address] = count }
        return .push
    }
}
