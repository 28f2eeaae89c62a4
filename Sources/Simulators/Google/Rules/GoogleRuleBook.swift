import Synchronization

/// The rules of a simulated Google: by token, by the beginning of tokens (`abc*`), for token requests (`/token`), and one
/// for all other messages (`default`). The longest name that fits counts.
package final class GoogleRuleBook: Sendable {
    /// The name of the rule for token requests.
    package static let tokenRequests = "/token"
    /// The name of the rule for all messages without one.
    package static let others = "default"

    private let state = Mutex<[String: GoogleRule]>([:])

    /// No rules: everything valid is accepted, but for tokens that begin with a ``GoogleFault``.
    package init() {}

    /// All rules as they stand now, `times` counted down.
    package var rules: [String: GoogleRule] { state.withLock { $0 } }

    /// Sets or removes a rule.
    package func set(_ rule: GoogleRule?, for name: String) {
        state.withLock { $0[name] = rule }
    }

    /// Removes all rules.
    package func clear() {
        state.withLock { $0 = [:] }
    }

    /// The rule for a message to `token`, which uses it up once.
    func take(for token: String) -> GoogleRule? {
        let own: GoogleRule? = state.withLock { rules in
            if rules.isEmpty { return nil }
            let prefixes = rules.keys.filter { $0.hasSuffix("*") && token.hasPrefix($0.dropLast()) }
            let longest = prefixes.max { $0.utf8.count < $1.utf8.count }
            return Self.take(rules[token] != nil ? token : longest ?? Self.others, from: &rules)
        }
        return own ?? GoogleFault(token: token).map { GoogleRule($0) }
    }

    /// The rule for a token request, which uses it up once.
    func takeForTokenRequest() -> GoogleRule? {
        state.withLock { Self.take(Self.tokenRequests, from: &$0) }
    }

    private static func take(_ name: String, from rules: inout [String: GoogleRule]) -> GoogleRule? {
        guard let rule = rules[name] else { return nil }
        if let times = rule.times {
            rules[name]?.times = times - 1
            if times <= 1 { rules[name] = nil }
        }
        return rule
    }
}
