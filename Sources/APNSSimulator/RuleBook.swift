/// What the simulator does with pushes to one device token, or to all.
public struct Rule: Sendable, Codable, Hashable {
    /// What to answer.
    public enum Action: Sendable, Codable, Hashable {
        /// 200.
        case accept
        /// A status and a reason of Apple's.
        case reject(status: Int, reason: String)
        /// 410 Unregistered with this timestamp, milliseconds since 1970.
        case unregistered(since: Int64)
        /// No answer at all.
        case neverAnswer
    }

    /// What to answer.
    public var action: Action
    /// Milliseconds before the answer.
    public var delayMilliseconds: Int
    /// How many pushes the rule holds for; `nil`: all.
    public var times: Int?

    /// Puts a rule together.
    public init(_ action: Action, delayMilliseconds: Int = 0, times: Int? = nil) {
        self.action = action
        self.delayMilliseconds = delayMilliseconds
        self.times = times
    }
}

/// The rules by device token (hex, lower case), and one for all others.
public final class RuleBook: Sendable {
    /// No rules: everything valid is accepted.
    public init() {
        fatalError("pending")
    }

    /// Sets or removes the rule of a device token.
    public func set(_ rule: Rule?, for deviceToken: String) {
        fatalError("pending")
    }

    /// Sets or removes the rule of all device tokens that have none.
    public func setDefault(_ rule: Rule?) {
        fatalError("pending")
    }

    /// Removes all rules.
    public func clear() {
        fatalError("pending")
    }
}
