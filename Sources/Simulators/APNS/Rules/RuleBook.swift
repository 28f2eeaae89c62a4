import Synchronization

/// The rules by device token (hex, lower case) and by channel, one for all others, and one for the management host.
package final class RuleBook: Sendable {
    private let state = Mutex(RuleSet())

    /// No rules: everything valid is accepted.
    package init() {}

    /// All rules as they stand now, `times` counted down.
    package var ruleSet: RuleSet { state.withLock { $0 } }

    /// Sets or removes the rule of a device token.
    package func set(_ rule: Rule?, for deviceToken: String) {
        state.withLock { $0.devices[deviceToken.lowercased()] = rule }
    }

    /// Sets or removes the rule of all device tokens that have none.
    package func setDefault(_ rule: Rule?) {
        state.withLock { $0.default = rule }
    }

    /// Sets or removes the rule of a channel.
    package func set(_ rule: Rule?, forChannel id: String) {
        state.withLock { $0.channels[id] = rule }
    }

    /// Sets or removes the rule of the management host of channels.
    package func setManagement(_ rule: Rule?) {
        state.withLock { $0.management = rule }
    }

    /// Adds all rules of `rules`; a rule that stands there for the same device token is replaced.
    package func merge(_ rules: RuleSet) {
        state.withLock { state in
            if let rule = rules.default { state.default = rule }
            state.devices.merge(rules.devices) { _, new in new }
            state.channels.merge(rules.channels) { _, new in new }
            if let rule = rules.management { state.management = rule }
        }
    }

    /// Removes all rules.
    package func clear() {
        state.withLock { $0 = RuleSet() }
    }

    /// The rule for a push to `deviceToken`, which uses it up once; a rule whose `times` are over is removed.
    func take(for deviceToken: String) -> Rule? {
        state.withLock { state in
            if let rule = state.devices[deviceToken] {
                state.devices[deviceToken] = rule.usedOnce()
                return rule
            }
            return state.takeDefault()
        }
    }

    /// The rule for a broadcast to a channel, which uses it up once.
    func take(forChannel id: String) -> Rule? {
        state.withLock { state in
            guard let rule = state.channels[id] else { return state.takeDefault() }
            state.channels[id] = rule.usedOnce()
            return rule
        }
    }

    /// The rule for a request to the management host, which uses it up once.
    func takeManagement() -> Rule? {
        state.withLock { state in
            guard let rule = state.management else { return nil }
            state.management = rule.usedOnce()
            return rule
        }
    }
}

extension RuleSet {
    fileprivate mutating func takeDefault() -> Rule? {
        guard let rule = self.default else { return nil }
        self.default = rule.usedOnce()
        return rule
    }
}

extension Rule {
    /// The rest of the rule after one push.
    fileprivate func usedOnce() -> Rule? {
        guard let times else { return self }
        guard times > 1 else { return nil }
        var rule = self
        rule.times = times - 1
        return rule
    }
}
